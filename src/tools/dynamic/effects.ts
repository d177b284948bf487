import type { Effect, ToolDef } from "../tool.ts";
import type { Definition } from "./definition.ts";

const STRENGTH: readonly Effect[] = ["read", "network", "write", "schedule", "exec", "extend"];

export interface Claims {
  effect: Effect;
  destructive: boolean;
  idempotent: boolean;
  openWorld: boolean;
}

const READS: Claims = { effect: "read", destructive: false, idempotent: false, openWorld: false };
const UNKNOWN: Claims = { effect: "extend", destructive: true, idempotent: false, openWorld: true };

/** What a tool may say about itself: never more safety than what it calls has. */
export function claimsOf(definition: Definition, toolOf: (name: string) => ToolDef | undefined): Claims {
  const { strategy } = definition;
  switch (strategy.type) {
    case "shell":
      return { effect: "exec", destructive: true, idempotent: false, openWorld: true };
    case "http": {
      const reads = strategy.method === "GET" || strategy.method === "HEAD";
      return { effect: "network", destructive: !reads, idempotent: reads, openWorld: true };
    }
    case "llm":
      return { effect: "network", destructive: false, idempotent: false, openWorld: true };
    case "composite":
      return strongest(
        strategy.steps.map((step) => step.tool_name),
        toolOf,
      );
    case "js":
      return strongest(strategy.tools, toolOf);
  }
}

function strongest(names: readonly string[], toolOf: (name: string) => ToolDef | undefined): Claims {
  return names
    .map((name) => claimsOfTool(toolOf(name)))
    .reduce(
      (all, one) => ({
        effect: STRENGTH.indexOf(one.effect) > STRENGTH.indexOf(all.effect) ? one.effect : all.effect,
        destructive: all.destructive || one.destructive,
        idempotent: false,
        openWorld: all.openWorld || one.openWorld,
      }),
      READS,
    );
}

function claimsOfTool(tool: ToolDef | undefined): Claims {
  if (tool === undefined) return UNKNOWN;
  return {
    effect: tool.effect,
    destructive: tool.destructive ?? tool.effect !== "read",
    idempotent: tool.idempotent ?? false,
    openWorld: tool.openWorld ?? (tool.effect === "network" || tool.effect === "exec"),
  };
}
