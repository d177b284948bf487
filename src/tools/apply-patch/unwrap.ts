import type { SourceLine } from "./patch.ts";

/**
 * What may stand around a patch: prose before it, a code fence, a shell heredoc. Each opener found before the
 * patch names the only line that may close it afterwards; a closer without its opener is text like any other.
 */
export interface Wrapping {
  lines: SourceLine[];
  /** Index of the first line of the patch proper; `lines.length` where there is none. */
  first: number;
  format: "v4a" | "unified" | "none";
  closers: ReadonlySet<string>;
  /** Lines before the patch that are neither blank nor an opener. */
  proseLines: number;
}

const V4A_START = /^\*\*\* ?(?:Begin Patch\s*$|(?:Add|Update|Delete|Move) File:)/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEREDOC = /<<-?[ \t]*(?:'([A-Za-z_]\w*)'|"([A-Za-z_]\w*)"|([A-Za-z_]\w*))[ \t]*$/;

function splitPatchText(text: string): SourceLine[] {
  const body = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const lines = body
    .split("\n")
    .map((line) => (line.endsWith("\r") ? { text: line.slice(0, -1), cr: true } : { text: line, cr: false }));
  if (lines.at(-1)?.text === "") lines.pop();
  return lines;
}

export function unwrap(text: string): Wrapping {
  const lines = splitPatchText(text);
  const closers = new Set<string>();
  let proseLines = 0;
  let openFence: string | undefined;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]?.text ?? "";
    const format = startsPatch(lines, i);
    if (format !== "none") {
      if (openFence !== undefined) closers.add(openFence);
      return { lines, first: i, format, closers, proseLines };
    }
    const fence = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      openFence = openFence === undefined ? fence : undefined;
      continue;
    }
    // Only the end of the line matters, and a bounded tail keeps a hostile line cheap.
    const heredoc = HEREDOC.exec(line.slice(-200));
    const delimiter = heredoc?.[1] ?? heredoc?.[2] ?? heredoc?.[3];
    if (delimiter !== undefined) closers.add(delimiter);
    else if (line.trim() !== "") proseLines++;
  }
  return { lines, first: lines.length, format: "none", closers, proseLines };
}

function startsPatch(lines: readonly SourceLine[], at: number): "v4a" | "unified" | "none" {
  const line = lines[at]?.text ?? "";
  if (line.startsWith("***") && V4A_START.test(line)) {
    // Some models put a unified diff into the V4A envelope; the envelope is then only a wrapper.
    if (/^\*\*\* ?Begin Patch/.test(line)) {
      let next = at + 1;
      while (next < lines.length && lines[next]?.text.trim() === "") next++;
      if (startsUnified(lines, next)) return "unified";
    }
    return "v4a";
  }
  return startsUnified(lines, at) ? "unified" : "none";
}

export function startsUnified(lines: readonly SourceLine[], at: number): boolean {
  const line = lines[at]?.text ?? "";
  if (line.startsWith("diff --git ")) return true;
  return line.startsWith("--- ") && (lines[at + 1]?.text.startsWith("+++ ") ?? false);
}
