/** What a successful patch says, as text and as data; each is complete without the other. */
import { formatPatch, type StructuredPatchHunk } from "diff";
import { counted } from "../../shared/counted.ts";
import type { ToolOutput } from "../tool.ts";
import type { ApplyResult } from "./apply.ts";
import type { FileChange } from "./change.ts";

/** Together under 8,000 characters, where the strictest host cuts. */
const FILES_CHARS = 2_400;
const MAX_LINES = 40;
const NOTES_CHARS = 1_200;
const DIFF_CHARS = 3_400;
const MAX_RANGES = 12;
const CONTEXT = 2;
const MAX_LINE = 300;

export function renderAnswer(result: ApplyResult): ToolOutput {
  const { plan, dryRun, checkpoint, recovered } = result;
  const { changes } = plan;
  const diff = renderDiff(changes, DIFF_CHARS);
  const added = sum(changes, "added");
  const removed = sum(changes, "removed");
  const allNotes = [
    ...recovered.map((one) => `recovered: ${one}`),
    ...plan.warnings.map((one) => `warning: ${one}`),
    ...plan.repairs.map((one) => `repaired: ${one.message} (patch line ${one.patchLine})`),
    ...changes.flatMap((change) =>
      change.tiers.map(
        ({ hunk, line, tier }) =>
          `matched: ${change.path} hunk ${hunk} at line ${line} ignoring ${IGNORED[tier]}`,
      ),
    ),
  ];
  const notes = within(allNotes, NOTES_CHARS, "notes");
  const statuses = within(changes.map(statusLine), FILES_CHARS, "files");
  const shown = changes.slice(0, statuses.count);
  const state = dryRun
    ? "Dry run: nothing was written. It would give:"
    : checkpoint === undefined
      ? "Nothing to do."
      : "Applied:";
  const lines = [state, ...statuses.lines, `${counted(changes.length, "file")}, +${added} -${removed}`];
  if (checkpoint !== undefined) lines.push(`checkpoint: ${checkpoint}`);
  lines.push(...notes.lines);
  if (diff.text !== "") lines.push("", diff.text);
  if (diff.cut) lines.push("(diff cut; the files hold the rest)");
  return {
    text: lines.join("\n"),
    structured: {
      applied: !dryRun && checkpoint !== undefined,
      dryRun,
      checkpoint: checkpoint ?? null,
      added,
      removed,
      fileCount: changes.length,
      files: shown.map((change) => ({
        status: change.status,
        path: change.path,
        ...(change.from === undefined ? {} : { from: change.from }),
        added: change.added,
        removed: change.removed,
        ranges: change.ranges.slice(0, MAX_RANGES).map(([from, to]) => `${from}-${to}`),
      })),
      notes: notes.lines,
      diff: diff.text,
      diffCut: diff.cut,
    },
  };
}

/** As many as fit, at least one, and how many are left out. */
function within(all: readonly string[], budget: number, what: string): { lines: string[]; count: number } {
  const lines: string[] = [];
  let left = budget;
  for (const line of all) {
    left -= line.length + 1;
    if ((left < 0 && lines.length > 0) || lines.length === MAX_LINES) break;
    lines.push(line.slice(0, budget));
  }
  const count = lines.length;
  if (count < all.length) lines.push(`... and ${all.length - count} more ${what}`);
  return { lines, count };
}

const IGNORED = {
  exact: "nothing",
  "trailing-blanks": "trailing blanks",
  indentation: "indentation; added lines were re-indented",
  punctuation: "indentation and punctuation variants; added lines were re-indented",
} as const;

function sum(changes: readonly FileChange[], key: "added" | "removed"): number {
  return changes.reduce((total, change) => total + change[key], 0);
}

function statusLine(change: FileChange): string {
  const name = change.from === undefined ? change.path : `${change.from} -> ${change.path}`;
  const ranges = change.ranges
    .slice(0, MAX_RANGES)
    .map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
  if (change.ranges.length > MAX_RANGES) ranges.push("...");
  const where =
    change.status === "M" || change.status === "R"
      ? ranges.length > 0
        ? ` lines ${ranges.join(", ")}`
        : ""
      : "";
  return `${change.status} ${name} (+${change.added} -${change.removed})${where}`;
}

/** From the known edits; two versions of a whole file are never compared, which takes seconds on a large one. */
function renderDiff(changes: readonly FileChange[], budget: number): { text: string; cut: boolean } {
  let left = budget;
  let cut = false;
  const parts: string[] = [];
  for (const change of changes) {
    if (left <= 0) {
      cut = true;
      break;
    }
    const built = hunksOf(change, left);
    cut ||= built.cut;
    const text = formatPatch({
      oldFileName: change.status === "A" ? "/dev/null" : `a/${change.from ?? change.path}`,
      newFileName: change.status === "D" ? "/dev/null" : `b/${change.path}`,
      oldHeader: undefined,
      newHeader: undefined,
      hunks: built.hunks,
    })
      .split("\n")
      .filter((line, i) => !(i === 0 && line.startsWith("====")))
      .join("\n")
      .trimEnd();
    parts.push(text);
    left -= text.length;
  }
  return { text: parts.join("\n"), cut };
}

function hunksOf(change: FileChange, budget: number): { hunks: StructuredPatchHunk[]; cut: boolean } {
  const { document, edits } = change;
  const hunks: StructuredPatchHunk[] = [];
  if (document === undefined || edits === undefined) return { hunks, cut: false };
  const total = document.lines.length;
  let size = 0;
  let shift = 0;
  let current: StructuredPatchHunk | undefined;
  let reached = 0;
  const push = (hunk: StructuredPatchHunk, sign: string, text: string): void => {
    const line = sign + (text.length > MAX_LINE ? `${text.slice(0, MAX_LINE - 3)}...` : text);
    hunk.lines.push(line);
    size += line.length + 1;
    if (sign !== "+") hunk.oldLines++;
    if (sign !== "-") hunk.newLines++;
  };
  const context = (hunk: StructuredPatchHunk, from: number, to: number): void => {
    for (let i = from; i < to; i++) push(hunk, " ", document.lines[i] ?? "");
  };
  for (const edit of edits) {
    if (size > budget) return { hunks, cut: true };
    if (current !== undefined && edit.at - reached <= 2 * CONTEXT) context(current, reached, edit.at);
    else {
      if (current !== undefined) context(current, reached, Math.min(total, reached + CONTEXT));
      const start = Math.max(0, edit.at - CONTEXT);
      current = { oldStart: start + 1, newStart: start + shift + 1, oldLines: 0, newLines: 0, lines: [] };
      hunks.push(current);
      context(current, start, edit.at);
    }
    for (let i = 0; i < edit.remove; i++) {
      if (size > budget) return { hunks, cut: true };
      push(current, "-", document.lines[edit.at + i] ?? "");
    }
    for (const line of edit.add) {
      if (size > budget) return { hunks, cut: true };
      push(current, "+", line.text);
    }
    reached = edit.at + edit.remove;
    shift += edit.add.length - edit.remove;
  }
  if (current !== undefined) context(current, reached, Math.min(total, reached + CONTEXT));
  return { hunks, cut: false };
}
