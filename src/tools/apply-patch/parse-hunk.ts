/** What both patch formats have in common: the lines of a hunk, its header, and how a wrong patch is refused. */
import { counted } from "../../shared/counted.ts";
import { CamelError } from "../../shared/errors.ts";
import type { Hunk, Repair } from "./patch.ts";

const RANGE = /^@@ -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})?(?: @@(.*))?$/;
const NO_NEWLINE = /^\\ ?No newline/i;

export function invalid(message: string, patchLine: number, next: string): CamelError {
  return new CamelError("patch_invalid", `Patch line ${patchLine}: ${message} Nothing was written.`, {
    next,
    details: { patchLine },
  });
}

/** Range headers carry a line hint and, after the second `@@`, what the diff tool thought the enclosing function. */
export function parseHunkHeader(line: string): { anchor: string; oldStart?: number } {
  const range = RANGE.exec(line.trimEnd());
  if (range !== null) return { anchor: (range[2] ?? "").trim(), oldStart: Number(range[1]) };
  let anchor = line.slice(2);
  if (anchor.startsWith(" ")) anchor = anchor.slice(1);
  anchor = anchor.trimEnd();
  if (anchor.endsWith(" @@")) anchor = anchor.slice(0, -3).trimEnd();
  const bare = anchor.trim();
  return { anchor: bare === "@@" || bare === "..." || bare === "…" ? "" : anchor };
}

export function emptyHunk(number: number, patchLine: number): Hunk {
  return {
    number,
    patchLine,
    anchors: [],
    advisoryAnchors: false,
    endOfFile: false,
    lines: [],
    trailingBlanks: 0,
  };
}

/** Moves bare empty lines off the hunk's end: before the next marker they are mostly just spacing. */
export function closeHunk(hunk: Hunk): void {
  while (hunk.lines.at(-1)?.bare === true) {
    hunk.lines.pop();
    hunk.trailingBlanks++;
  }
}

/** One repair a kind and hunk, however many lines it concerned. */
export function reportHunkRepairs(path: string, hunk: Hunk, repairs: Repair[]): void {
  const unprefixed = hunk.lines.filter((line) => line.unprefixed === true);
  const bare = hunk.lines.filter((line) => line.bare === true);
  const first = (lines: typeof bare): number => lines[0]?.patchLine ?? hunk.patchLine;
  if (unprefixed.length > 0) {
    repairs.push({
      kind: "unprefixed_context",
      patchLine: first(unprefixed),
      message: `${path} hunk ${hunk.number}: ${counted(unprefixed.length, "line")} without a prefix, read as context`,
    });
  }
  if (bare.length > 0) {
    repairs.push({
      kind: "blank_prefix",
      patchLine: first(bare),
      message: `${path} hunk ${hunk.number}: ${counted(bare.length, "empty line")} without the blank prefix, read as blank context`,
    });
  }
}

export function saysNoNewline(line: string): boolean {
  return NO_NEWLINE.test(line);
}

export function pushHunkLine(hunk: Hunk, line: string, patchLine: number, cr: boolean): void {
  const first = line[0];
  if (first === undefined) hunk.lines.push({ kind: " ", text: "", patchLine, bare: true });
  else if (first === " " || first === "+" || first === "-") {
    hunk.lines.push({ kind: first, text: line.slice(1), patchLine, ...(cr ? { cr } : {}) });
  } else if (saysNoNewline(line)) {
    const last = hunk.lines.at(-1);
    if (last !== undefined) last.noNewline = true;
  } else hunk.lines.push({ kind: " ", text: line, patchLine, unprefixed: true });
}
