import type { Config } from "../config/schema.ts";
import { matchesName } from "../shared/glob.ts";
import type { ToolDef, ToolLimits } from "../tools/tool.ts";

const known = new WeakMap<Config, WeakMap<ToolDef, ToolLimits>>();

/** What holds for a tool: its own limits, then each matching entry of `limits.tools`, the later one on top. */
export function limitsFor(tool: ToolDef, settings: Config): ToolLimits {
  if (settings.limits.tools.length === 0) return tool.limits ?? NONE;
  // Asked by every middleware of a call; neither the settings in force nor a tool's definition ever change.
  const byTool = known.get(settings) ?? new WeakMap<ToolDef, ToolLimits>();
  known.set(settings, byTool);
  let limits = byTool.get(tool);
  if (limits === undefined) byTool.set(tool, (limits = mergedLimits(tool, settings)));
  return limits;
}

function mergedLimits(tool: ToolDef, settings: Config): ToolLimits {
  let merged: ToolLimits = tool.limits ?? NONE;
  for (const { tool: pattern, ...limits } of settings.limits.tools) {
    if (matchesName(pattern, tool.name)) merged = { ...merged, ...limits };
  }
  return merged;
}

const NONE: ToolLimits = {};
