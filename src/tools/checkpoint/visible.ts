import { realpath } from "node:fs/promises";
import { CamelError } from "../../shared/errors.ts";
import { findRecord, type CheckpointRecord } from "../../stores/checkpoints/records.ts";
import type { ToolContext } from "../context.ts";

/** The main agent sees what every agent changed in its folders; the others see their own. */
const MAIN_AGENT = "main";

/** Which checkpoints the caller may know of: of its workspace and its memory, so never of another project. */
export async function visibility(context: ToolContext): Promise<(record: CheckpointRecord) => boolean> {
  const { agentId } = context.caller;
  const folders = await Promise.all([
    context.workspace("read").catch(() => ""),
    context
      .memoryRoot()
      .then(realpath)
      .catch(() => ""),
  ]);
  return ({ agent, root }) => folders.includes(root) && (agentId === MAIN_AGENT || agent === agentId);
}

export async function visibleRecord(context: ToolContext, id: string): Promise<CheckpointRecord> {
  const [record, isVisible] = await Promise.all([findRecord(context.home, id), visibility(context)]);
  if (record !== undefined && isVisible(record)) return record;
  throw new CamelError(
    "not_found",
    `There is no checkpoint "${id.slice(0, 80)}" of this workspace or memory.`,
    {
      next: "See action list. Old ones are removed in time; those of another workspace are seen from there.",
    },
  );
}
