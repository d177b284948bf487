import { builtinTools } from "../tools/index.ts";
import type { Effect, Tier } from "../tools/tool.ts";
import { describeTool } from "./describe-tool.ts";

export interface PublicToolDef {
  name: string;
  tier: Tier;
  effect: Effect;
  /** Exactly what a host sees in tools/list. */
  public: Record<string, unknown>;
}

/** Every built-in tool as hosts see it; the tool reference and the schema snapshots are made from this. */
export function listToolDefs(): PublicToolDef[] {
  return builtinTools.map((tool) => ({
    name: tool.name,
    tier: tool.tier,
    effect: tool.effect,
    public: { ...describeTool(tool) },
  }));
}
