/** list, show and restore: what the checkpoint tool does and says. */
import { resolve } from "node:path";
import { counted } from "../../shared/counted.ts";
import { displayPath, isInside } from "../../shared/paths.ts";
import { listRecords, type CheckpointRecord, type RecordEntry } from "../../stores/checkpoints/records.ts";
import {
  chosenEntries,
  planRestore,
  restoreFiles,
  type RestoreStep,
} from "../../stores/checkpoints/restore.ts";
import type { ToolContext } from "../context.ts";
import type { ToolOutput } from "../tool.ts";
import { writeOptions } from "../write-options.ts";
import { diffSince } from "./diff.ts";
import { visibility, visibleRecord } from "./visible.ts";

const DEFAULT_LIMIT = 20;
const MOST_LISTED = 100;
/** Named in a list; show names them all. */
const FILES_A_CHECKPOINT = 5;
const FILES_AN_ANSWER = 60;

export async function list(
  { path, limit = DEFAULT_LIMIT }: { path?: string | undefined; limit?: number | undefined },
  context: ToolContext,
): Promise<ToolOutput> {
  const isVisible = await visibility(context);
  const wanted = (record: CheckpointRecord): boolean =>
    isVisible(record) &&
    (path === undefined || record.entries.some((entry) => isInside(resolve(record.root, path), entry.path)));
  const most = Math.min(MOST_LISTED, Math.max(1, Math.floor(limit)));
  const records = await listRecords(context.home, wanted, most);
  const checkpoints = records.map((record) => ({
    id: record.id,
    time: record.createdAt,
    tool: record.tool,
    agent: record.agent,
    callId: record.callId,
    root: record.root,
    fileCount: record.entries.length,
    files: record.entries.slice(0, FILES_A_CHECKPOINT).map((entry) => ({
      path: displayPath(record.root, entry.path),
      status: statusOf(entry),
    })),
  }));
  const lines = checkpoints.map(({ id, time, tool, agent, fileCount, files }) => {
    const names = files.map((file) => `${file.status} ${file.path}`).join(", ");
    const more = fileCount > files.length ? `, and ${fileCount - files.length} more` : "";
    return `${id}  ${time}  ${tool} by ${agent}: ${names}${more}`;
  });
  return {
    text: lines.length === 0 ? "No checkpoints." : lines.join("\n"),
    structured: { action: "list", checkpoints },
  };
}

export async function show(
  id: string,
  paths: readonly string[] | undefined,
  context: ToolContext,
): Promise<ToolOutput> {
  const record = await visibleRecord(context, id);
  const entries = chosenEntries(record, paths);
  const { files, diff, isCut, notes } = await diffSince(context.home, record, entries, context.signal);
  const changed = files.filter(({ status }) => status !== "same");
  const lines = [
    `${record.id}: before ${record.tool} by ${record.agent} at ${record.createdAt}, call ${record.callId}`,
    ...within(
      changed.map((file) => `${file.status} ${file.path}${file.changedSince ? " (edited since)" : ""}`),
    ),
    `${changed.length} of ${counted(files.length, "file")} differ; restore takes the + lines away and brings the - lines back`,
    ...notes,
  ];
  if (diff !== "") lines.push("", diff);
  if (isCut) lines.push("(diff cut; name files in paths to see theirs)");
  return {
    text: lines.join("\n"),
    structured: {
      action: "show",
      id: record.id,
      fileCount: files.length,
      files: files.slice(0, FILES_AN_ANSWER),
      diff,
      diffCut: isCut,
      notes,
    },
  };
}

export interface RestoreRequest {
  id: string;
  paths: readonly string[] | undefined;
  force: boolean;
  dryRun: boolean;
}

export async function restore(request: RestoreRequest, context: ToolContext): Promise<ToolOutput> {
  const record = await visibleRecord(context, request.id);
  const entries = chosenEntries(record, request.paths);
  if (request.dryRun)
    return answer(record, await planRestore(context.home, record, entries), undefined, true);
  const { steps, checkpoint, recovered } = await restoreFiles(record, entries, {
    ...writeOptions("checkpoint", record.root, context),
    force: request.force,
    progress: (done, total) => {
      if (done % 50 === 0) context.progress({ progress: done, total, message: "writing files" });
    },
  });
  for (const note of recovered) context.log.warn(note);
  return answer(record, steps, checkpoint, false);
}

/** What a person is asked before a restore. */
export async function describeRestore(
  id: string,
  paths: readonly string[] | undefined,
  context: ToolContext,
): Promise<string> {
  const record = await visibleRecord(context, id);
  const entries = chosenEntries(record, paths);
  const names = entries.map(
    ({ path, before }) =>
      `${before === undefined ? "delete" : "bring back"} ${displayPath(record.root, path)}`,
  );
  return [
    `Undo ${record.tool} by ${record.agent} of ${record.createdAt} in ${record.root}:`,
    ...within(names),
  ].join("\n");
}

function answer(
  record: CheckpointRecord,
  steps: readonly RestoreStep[],
  checkpoint: string | undefined,
  dryRun: boolean,
): ToolOutput {
  const files = steps.map(({ shown, action, isChangedSince }) => ({
    path: shown,
    status: action,
    changedSince: isChangedSince,
  }));
  const isSame = files.every(({ status }) => status === "same");
  const head = isSame
    ? `Nothing to do: everything is as it was before ${record.id}.`
    : dryRun
      ? "Dry run: nothing was written. It would:"
      : `Restored to before ${record.tool} at ${record.createdAt}:`;
  const edited = dryRun ? " (edited since; needs force)" : " (the edit since is kept in the new checkpoint)";
  const lines = [
    head,
    ...within(
      files
        .filter(({ status }) => status !== "same")
        .map((file) => `${file.status} ${file.path}${file.changedSince ? edited : ""}`),
    ),
  ];
  if (checkpoint !== undefined) lines.push(`checkpoint: ${checkpoint} (restore it to undo this)`);
  return {
    text: lines.join("\n"),
    structured: {
      action: "restore",
      id: record.id,
      checkpoint: checkpoint ?? null,
      dryRun,
      fileCount: files.length,
      files: files.slice(0, FILES_AN_ANSWER),
    },
  };
}

function statusOf({ before, after }: RecordEntry): string {
  return before === undefined ? "A" : after === undefined ? "D" : "M";
}

function within(lines: readonly string[]): string[] {
  const shown = lines.slice(0, FILES_AN_ANSWER);
  return shown.length === lines.length ? shown : [...shown, `and ${lines.length - shown.length} more`];
}
