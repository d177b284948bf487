import type { ToolContext } from "../../context.ts";
import type { ToolOutput } from "../../tool.ts";
import type { Action, ToolCreateInput } from "../tool.ts";
import {
  exportTools,
  listTools,
  removeTool,
  rollBack,
  searchTools,
  showTool,
  showVersions,
} from "./catalogue.ts";
import { createTool, importTools, proposeVariant, updateTool } from "./make.ts";
import { runTool, testTool } from "./run.ts";

export type Perform = (input: ToolCreateInput, context: ToolContext) => Promise<ToolOutput>;

const PERFORM: Record<Action, Perform> = {
  create: createTool,
  update: updateTool,
  import: importTools,
  propose: proposeVariant,
  run: runTool,
  test: testTool,
  list: listTools,
  search: searchTools,
  show: showTool,
  versions: showVersions,
  rollback: rollBack,
  export: exportTools,
  delete: removeTool,
};

export const perform: Perform = async (input, context) => {
  await context.dynamicTools.refresh();
  return PERFORM[input.action](input, context);
};
