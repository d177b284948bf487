import type { Config } from "../config.ts";
import { matchesName } from "../shared/glob.ts";
import type { ToolDef, ToolLimits } from "../tools/tool.ts";

/** What holds for a tool: its own limits, then each matching entry of `limits.tools`, the later one on top. */
export function limitsFor(tool: ToolDef, settings: Config): ToolLimits {
  const entries = settings.limits.tools;
  if (entries.length === 0) return tool.limits ?? NONE;
  let merged: ToolLimits = tool.limits ?? NONE;
  for (const { tool: pattern, ...limits } of entries) {
    if (matchesName(pattern, tool.name)) merged = { ...merged, ...limits };
  }
  return merged;
}

const NONE: ToolLimits = {};
