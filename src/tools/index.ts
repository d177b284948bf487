import { getToolResponse } from "./get-tool-response.ts";
import { memoryGet } from "./memory/memory-get.ts";
import type { Tier, ToolDef } from "./tool.ts";

/** THE list. To add a tool, write it as one object and name it here. */
export const builtinTools: readonly ToolDef[] = [memoryGet, getToolResponse];

const TIERS: readonly Tier[] = ["core", "extended", "full"];

export function toolsOfTier(tier: Tier): ToolDef[] {
  return builtinTools.filter((tool) => TIERS.indexOf(tool.tier) <= TIERS.indexOf(tier));
}
