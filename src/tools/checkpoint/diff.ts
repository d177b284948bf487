/** The difference between a checkpoint and the disk, within limits of size and time. */
import { isUtf8 } from "node:buffer";
import { lstat, readFile } from "node:fs/promises";
import { relative } from "node:path";
import { formatPatch, structuredPatch } from "diff";
import { containedPath, displayPath } from "../../shared/paths.ts";
import { readBlob } from "../../stores/checkpoints/blobs.ts";
import { isMissing, sha256, type Stored } from "../../stores/checkpoints/journal.ts";
import type { CheckpointRecord, RecordEntry } from "../../stores/checkpoints/records.ts";

export interface Difference {
  /** As a diff from then to now has it: A is new since, D is gone since. */
  files: { path: string; status: "A" | "M" | "D" | "same" | "unknown"; changedSince: boolean }[];
  diff: string;
  isCut: boolean;
  notes: string[];
}

/** Larger files are compared by hash only: a line diff of them takes seconds and fits nowhere. */
const MAX_DIFF_BYTES = 1_000_000;
/** Larger ones not even that. */
const MAX_HASH_BYTES = 64_000_000;
const MAX_DIFF_CHARS = 5_000;
const MAX_LINE = 300;
/** The comparing itself holds everything else up, so it gets little time. */
const MAX_MS = 1_000;
const MAX_MS_A_FILE = 250;

export async function diffSince(
  home: string,
  record: CheckpointRecord,
  entries: readonly RecordEntry[],
  signal: AbortSignal,
): Promise<Difference> {
  const answer: Difference = { files: [], diff: "", isCut: false, notes: [] };
  const parts: string[] = [];
  let left = MAX_DIFF_CHARS;
  // Only to bound the work: what is found in the time is right whatever the clock says.
  const deadline = performance.now() + MAX_MS;
  for (const entry of entries) {
    signal.throwIfAborted();
    const shown = displayPath(record.root, entry.path);
    const now = await currentState(record.root, entry.path);
    if (now === "elsewhere") {
      answer.files.push({ path: shown, status: "unknown", changedSince: true });
      answer.notes.push(`${shown}: not a file in this folder any more`);
      continue;
    }
    const { before, after } = entry;
    const status = compare(before, now);
    answer.files.push({
      path: shown,
      status,
      changedSince: status !== "same" && compare(after, now) !== "same",
    });
    if (before?.mode !== undefined && now !== undefined && before.mode !== now.mode)
      answer.notes.push(`${shown}: mode ${before.mode.toString(8)} then, ${now.mode.toString(8)} now`);
    if (status === "same") continue;
    if (status === "unknown" || (now?.size ?? 0) > MAX_DIFF_BYTES || (before?.size ?? 0) > MAX_DIFF_BYTES) {
      answer.notes.push(
        `${shown}: too large to compare line by line (${before?.size ?? 0} bytes then, ${now?.size ?? 0} now)`,
      );
      continue;
    }
    const milliseconds = Math.min(MAX_MS_A_FILE, deadline - performance.now());
    if (left <= 0 || milliseconds <= 0) {
      answer.isCut = true;
      continue;
    }
    const then = before === undefined ? Buffer.alloc(0) : await readBlob(home, before);
    const text = fileDiff(shown, status, then, now?.bytes ?? Buffer.alloc(0), milliseconds);
    if (text === undefined) answer.notes.push(`${shown}: binary, or too different to compare`);
    else {
      const cut = cutAtLine(text, left);
      answer.isCut ||= cut.length < text.length;
      parts.push(cut);
      left -= cut.length;
    }
  }
  answer.diff = parts.join("\n");
  return answer;
}

/** From then to now, by content alone. */
function compare(
  then: Stored | undefined,
  now: CurrentState | undefined,
): Difference["files"][number]["status"] {
  if (now === undefined) return then === undefined ? "same" : "D";
  if (then === undefined) return "A";
  if (then.size !== now.size) return "M";
  return now.sha256 === undefined ? "unknown" : now.sha256 === then.sha256 ? "same" : "M";
}

interface CurrentState {
  size: number;
  mode: number;
  /** Undefined: too large to tell. */
  sha256: string | undefined;
  bytes: Buffer | undefined;
}

async function currentState(root: string, path: string): Promise<CurrentState | "elsewhere" | undefined> {
  const real = await containedPath(root, relative(root, path), { rootName: "the folder" }).catch(
    () => undefined,
  );
  if (real !== path) return "elsewhere";
  try {
    const found = await lstat(path);
    if (!found.isFile()) return "elsewhere";
    const mode = found.mode & 0o7777;
    if (found.size > MAX_HASH_BYTES) return { size: found.size, mode, sha256: undefined, bytes: undefined };
    const bytes = await readFile(path);
    return { size: bytes.length, mode, sha256: sha256(bytes), bytes };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Undefined where there are no lines to compare, or not enough time. */
function fileDiff(
  shown: string,
  status: "A" | "M" | "D",
  then: Buffer,
  now: Buffer,
  timeout: number,
): string | undefined {
  if (isBinary(then) || isBinary(now)) return undefined;
  const patch = structuredPatch(
    status === "A" ? "/dev/null" : `then/${shown}`,
    status === "D" ? "/dev/null" : `now/${shown}`,
    then.toString("utf8"),
    now.toString("utf8"),
    undefined,
    undefined,
    { context: 3, timeout },
  );
  if (patch === undefined) return undefined;
  for (const hunk of patch.hunks)
    hunk.lines = hunk.lines.map((line) =>
      line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 3)}...` : line,
    );
  return formatPatch(patch).replace(/^=+\n/, "").trimEnd();
}

function isBinary(bytes: Buffer): boolean {
  return bytes.includes(0) || !isUtf8(bytes);
}

function cutAtLine(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, Math.max(0, text.lastIndexOf("\n", length)));
}
