/** Patch text to operations: finds the patch in what was sent, and hands it to the grammar it is written in. */
import { isAbsolute, join } from "node:path";
import type { CamelError } from "../../shared/errors.ts";
import { invalid } from "./parse-hunk.ts";
import type { ParsedPatch } from "./patch.ts";
import { parseUnified } from "./parse-unified.ts";
import { parseV4a } from "./parse-v4a.ts";
import { hasTabsAsText } from "./repair.ts";
import { unwrap } from "./unwrap.ts";

const FORMATS =
  'Send "*** Begin Patch", then "*** Update File: path", "*** Add File: path" or "*** Delete File: path" sections, then "*** End Patch"; or a unified diff.';

export function parsePatch(text: string): ParsedPatch {
  const broken = /\p{Surrogate}/u.exec(text);
  if (broken !== null) {
    throw invalid(
      "half of a character (a lone surrogate), which no file can hold.",
      text.slice(0, broken.index).split("\n").length,
      "Send the line again with the whole character.",
    );
  }
  const wrapping = unwrap(text);
  if (wrapping.format === "none") throw noPatch(text);
  const parsed = wrapping.format === "unified" ? parseUnified(wrapping) : parseV4a(wrapping);
  if (parsed.ops.length === 0) {
    throw invalid(
      "The patch names no file.",
      wrapping.first + 1,
      'Add a "*** Update File: path", "*** Add File: path" or "*** Delete File: path" section.',
    );
  }
  const hunks = parsed.ops.flatMap((op) => (op.kind === "update" ? op.hunks : []));
  const old = hunks.flatMap(({ lines }) => lines.filter(({ kind }) => kind !== "+"));
  if (hasTabsAsText(old.map((line) => line.text))) for (const hunk of hunks) hunk.tabsAsText = true;
  parsed.repairs.unshift(...wrapping.repairs);
  if (wrapping.folder !== undefined) goBelow(parsed, wrapping.folder, wrapping.first);
  return parsed;
}

/** The paths as the shell would have seen them after its `cd`. */
function goBelow({ ops, repairs }: ParsedPatch, folder: string, first: number): void {
  if (/[$`*?~]/.test(folder)) {
    throw invalid(
      `the shell would go to ${folder} first, and that is not known here.`,
      first + 1,
      "Send the patch alone, with paths relative to the workspace.",
    );
  }
  const below = (path: string): string => (isAbsolute(path) ? path : join(folder, path));
  for (const op of ops) {
    op.path = below(op.path);
    if (op.kind === "update" && op.moveTo !== undefined) op.moveTo = below(op.moveTo);
  }
  const message = `the command goes to ${folder} first, so the paths were read below it`;
  repairs.push({ kind: "folder", patchLine: 1, message });
}

function noPatch(text: string): CamelError {
  if (text.trim() === "") return invalid("The patch is empty.", 1, FORMATS);
  if (/\*\*\* ?Begin Patch\\n|^(?:diff --git|---) [^\n]*\\n/m.test(text)) {
    return invalid(
      'the line breaks are written as "\\n", so it is all one line.',
      1,
      "Send it with real line breaks.",
    );
  }
  const hunk = text.split("\n").findIndex((line) => /^\s*@@/.test(line));
  if (hunk !== -1) {
    return invalid(
      "a hunk, but no file that it belongs to.",
      hunk + 1,
      'Put "*** Update File: path" (or the --- and +++ lines of a diff) before the first "@@".',
    );
  }
  return invalid("No patch was found in the text.", 1, FORMATS);
}
