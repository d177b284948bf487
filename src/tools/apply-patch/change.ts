/** What a patch does to one file: found in its text, and told in the answer. */
import { hasLoneCr, parseDocument, type Edit, type TextDocument } from "./document.ts";
import type { Hunk } from "./patch.ts";
import { placeHunks, type HunkFailure, type Placement } from "./place.ts";
import type { MatchTier } from "./tiers.ts";

export interface FileChange {
  status: "A" | "M" | "D" | "R";
  path: string;
  from?: string;
  added: number;
  removed: number;
  /** Changed lines in the new file, 1-based, inclusive. */
  ranges: [number, number][];
  tiers: { hunk: number; line: number; tier: MatchTier }[];
  document?: TextDocument;
  edits?: Edit[];
}

/** A lone CR ends lines only where the usual reading finds no place. */
export function placeInText(
  source: string,
  hunks: readonly Hunk[],
): { document: TextDocument; placement: Placement | HunkFailure[] } {
  const document = parseDocument(source);
  const placement = placeHunks(document, hunks);
  if (!Array.isArray(placement) || !hasLoneCr(source)) return { document, placement };
  const other = parseDocument(source, true);
  const again = placeHunks(other, hunks);
  return Array.isArray(again) ? { document, placement } : { document: other, placement: again };
}

export function describeEdits(change: FileChange, document: TextDocument, placement: Placement): void {
  let shift = 0;
  for (const edit of placement.edits) {
    change.added += edit.add.length;
    change.removed += edit.remove;
    const from = edit.at + shift + 1;
    change.ranges.push([from, from + Math.max(0, edit.add.length - 1)]);
    shift += edit.add.length - edit.remove;
  }
  for (const { hunk, start, tier } of placement.placed) {
    if (tier !== "exact") change.tiers.push({ hunk: hunk.number, line: start + 1, tier });
  }
  change.document = document;
  change.edits = placement.edits;
}
