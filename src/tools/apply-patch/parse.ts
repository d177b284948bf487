/** Patch text to operations: finds the patch in what was sent, and hands it to the grammar it is written in. */
import { invalid } from "./parse-hunk.ts";
import type { ParsedPatch } from "./patch.ts";
import { parseUnified } from "./parse-unified.ts";
import { parseV4a } from "./parse-v4a.ts";
import { unwrap } from "./unwrap.ts";

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
  if (wrapping.format === "none") {
    throw invalid(
      text.trim() === "" ? "The patch is empty." : "No patch was found in the text.",
      1,
      'Send "*** Begin Patch", then "*** Update File: path", "*** Add File: path" or "*** Delete File: path" sections, then "*** End Patch"; or a unified diff.',
    );
  }
  const parsed = wrapping.format === "unified" ? parseUnified(wrapping) : parseV4a(wrapping);
  if (parsed.ops.length === 0) {
    throw invalid(
      "The patch names no file.",
      wrapping.first + 1,
      'Add a "*** Update File: path", "*** Add File: path" or "*** Delete File: path" section.',
    );
  }
  if (wrapping.proseLines > 0) {
    parsed.repairs.unshift({
      kind: "prose",
      patchLine: 1,
      message: `${wrapping.proseLines} line(s) of text before the patch were not read as part of it`,
    });
  }
  return parsed;
}
