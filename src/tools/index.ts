import { getToolResponse } from "./get-tool-response.ts";
import { toolCreate } from "./dynamic/tool.ts";
import { cron } from "./cron/cron.ts";
import { applyPatch } from "./apply-patch/tool.ts";
import { checkpoint } from "./checkpoint/tool.ts";
import { insightsReport } from "./insights/insights-report.ts";
import { manageTodoList } from "./manage-todo-list.ts";
import { memoryGet } from "./memory/memory-get.ts";
import { memorySearch } from "./memory/memory-search.ts";
import { memoryWrite } from "./memory/memory-write.ts";
import type { Tier, ToolDef } from "./tool.ts";

/** THE list. To add a tool, write it as one object and name it here. */
export const builtinTools: readonly ToolDef[] = [
  applyPatch,
  memorySearch,
  memoryGet,
  memoryWrite,
  cron,
  getToolResponse,
  checkpoint,
  toolCreate,
  manageTodoList,
  insightsReport,
];

const TIERS: readonly Tier[] = ["core", "extended", "full"];

export function toolsOfTier(tier: Tier): ToolDef[] {
  return builtinTools.filter((tool) => TIERS.indexOf(tool.tier) <= TIERS.indexOf(tier));
}
