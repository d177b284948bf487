import { counted } from "../../shared/counted.ts";
import type { Repair, SourceLine } from "./patch.ts";

/**
 * What may stand around a patch: prose before it, code fences, a shell heredoc. Each opener found before the
 * patch names the only line that may close it afterwards; a closer without its opener is text like any other.
 */
export interface Wrapping {
  lines: SourceLine[];
  /** Index of the first line of the patch proper; `lines.length` where there is none. */
  first: number;
  format: "v4a" | "unified" | "none";
  closers: ReadonlySet<string>;
  repairs: Repair[];
  /** A shell command around the patch goes there first: `cd FOLDER && apply_patch <<EOF`. */
  folder?: string;
}

const END = /^\*\*\*[ \t]*End Patch\s*$/i;
const BEGIN = /^\*\*\*[ \t]*Begin Patch\s*$/i;
const FILE_HEADER = /^\*\*\*[ \t]*(?:Add|Update|Delete|Move) File:/i;
const FENCE = /^[ \t]*(`{3,}|~{3,})(.*)$/;
const HEREDOC = /<<-?[ \t]*(?:'([A-Za-z_]\w*)'|"([A-Za-z_]\w*)"|([A-Za-z_]\w*))[ \t]*(?:$|[|>;)]|&&)/;
const CHANGES_FOLDER = /\bcd[ \t]+(?:'([^']+)'|"([^"]+)"|([^\s'"&;]+))[ \t]*(?:&&|;)/;

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
  const wrapping = withinWrapping(lines);
  return wrapping.format === "none" ? behindBlanks(lines) : wrapping;
}

function withinWrapping(lines: SourceLine[]): Wrapping {
  const heredocs: string[] = [];
  const fences: string[] = [];
  let folder: string | undefined;
  let prose = 0;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]?.text ?? "";
    const format = startsPatch(lines, i);
    if (format !== "none") {
      const first = paddedBegin(lines, i);
      if (first < i) prose--;
      const message = `${counted(prose, "line")} of text before the patch, not read as part of it`;
      const repairs = prose === 0 ? [] : [{ kind: "prose", patchLine: 1, message }];
      const end = endOfFence(lines, fences.at(-1));
      if (end < lines.length) repairs.push(textBehind(lines, end));
      const closers = new Set([...heredocs, ...fences]);
      const own = lines.slice(0, end);
      return { lines: own, first, format, closers, repairs, ...(folder === undefined ? {} : { folder }) };
    }
    const fence = FENCE.exec(line);
    if (fence?.[1] !== undefined) {
      // Only a fence without a word behind it closes; one with a word opens another inside.
      if (fences.at(-1) === fence[1] && fence[2]?.trim() === "") fences.pop();
      else fences.push(fence[1]);
      continue;
    }
    // Only the end of the line matters, and a bounded tail keeps a hostile line cheap.
    const tail = line.slice(-400);
    const heredoc = HEREDOC.exec(tail);
    const delimiter = heredoc?.[1] ?? heredoc?.[2] ?? heredoc?.[3];
    if (heredoc !== null && delimiter !== undefined) {
      const command = tail.slice(0, heredoc.index);
      heredocs.push(...heredocEnds(delimiter, command));
      folder = CHANGES_FOLDER.exec(command)?.slice(1).find(Boolean) ?? folder;
    } else if (line.trim() !== "") prose++;
  }
  return { lines, first: lines.length, format: "none", closers: new Set(), repairs: [] };
}

/** Index of the "*** Begin Patch" behind blanks that stands just above the first header; else of that header. */
function paddedBegin(lines: readonly SourceLine[], header: number): number {
  let at = header - 1;
  while (at >= 0 && lines[at]?.text.trim() === "") at--;
  return BEGIN.test((lines[at]?.text ?? "").trimStart()) ? at : header;
}

/** `bash -lc "apply_patch <<'EOF'` is closed by its quote as well, behind the delimiter or on a line of its own. */
function heredocEnds(delimiter: string, command: string): string[] {
  const open = ['"', "'"].find((quote) => command.split(quote).length % 2 === 0);
  return open === undefined ? [delimiter] : [delimiter, open, delimiter + open];
}

/** Index behind the fence's last line, where only prose follows a patch that says its own end. */
function endOfFence(lines: readonly SourceLine[], fence: string | undefined): number {
  if (fence === undefined) return lines.length;
  let at = lines.length - 1;
  while (
    at > 0 &&
    lines[at]?.text.trimEnd() !== fence &&
    !/^(?:[-+ @*]|diff |\\)/.test(lines[at]?.text ?? "")
  )
    at--;
  const isEnd = lines[at]?.text.trimEnd() === fence && END.test(lines[at - 1]?.text ?? "");
  return isEnd ? at + 1 : lines.length;
}

function textBehind(lines: readonly SourceLine[], end: number): Repair {
  const count = lines.slice(end).filter(({ text }) => text.trim() !== "").length;
  const message = `${count} line(s) of text after the patch were not read as part of it`;
  return { kind: "prose", patchLine: end + 1, message };
}

/** No line begins a patch: blanks may stand before its first marker, or before every line of it. */
function behindBlanks(lines: SourceLine[]): Wrapping {
  const trimmed = lines.map((line) => ({ ...line, text: line.text.trimStart() }));
  const { first, format } = withinWrapping(trimmed);
  const opening = lines[first];
  if (opening === undefined || format === "none") return withinWrapping(lines);
  const depth = opening.text.length - opening.text.trimStart().length;
  const indent = opening.text.slice(0, depth);
  const isWhole = lines.slice(first).every(({ text }) => text.startsWith(indent) || text.trim() === "");
  const unindented = lines.map((line, i) =>
    i === first || (i > first && isWhole) ? { ...line, text: line.text.slice(depth) } : line,
  );
  const wrapping = withinWrapping(unindented);
  wrapping.repairs.push({
    kind: "indented",
    patchLine: first + 1,
    message: `the blanks before ${isWhole ? "every line of the patch" : "its first line"} were not read as part of it`,
  });
  return wrapping;
}

function startsPatch(lines: readonly SourceLine[], at: number): "v4a" | "unified" | "none" {
  const line = lines[at]?.text ?? "";
  if (FILE_HEADER.test(line)) return "v4a";
  if (!BEGIN.test(line)) return startsUnified(lines, at) ? "unified" : "none";
  // Some models put a unified diff into the V4A envelope; the envelope is then only a wrapper.
  let next = at + 1;
  while (next < lines.length && lines[next]?.text.trim() === "") next++;
  return startsUnified(lines, next) ? "unified" : "v4a";
}

export function startsUnified(lines: readonly SourceLine[], at: number): boolean {
  const line = lines[at]?.text ?? "";
  if (line.startsWith("diff --git ")) return true;
  return line.startsWith("--- ") && (lines[at + 1]?.text.startsWith("+++ ") ?? false);
}
