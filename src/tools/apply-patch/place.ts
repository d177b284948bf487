/**
 * Lines to positions. Each hunk gets every place where its old lines stand (lowest tier with a hit, anchors and the
 * end-of-file marker narrowing them); then all hunks of the file are placed together. The true placement lies
 * between the leftmost and the rightmost one in order, so where the two agree there is no doubt left.
 */
import { AnchorIndex } from "./anchors.ts";
import { editsAt, findCandidates, toNewLines } from "./candidates.ts";
import type { Edit, TextDocument } from "./document.ts";
import { chooseStarts, NO_PLACES, placesOf, type HunkFailure } from "./order.ts";
import type { Hunk, Repair } from "./patch.ts";
import type { MatchTier } from "./tiers.ts";

export type { HunkFailure } from "./order.ts";

export interface PlacedHunk {
  hunk: Hunk;
  start: number;
  tier: MatchTier;
}

export interface Placement {
  edits: Edit[];
  placed: PlacedHunk[];
  warnings: string[];
  repairs: Repair[];
}

export function placeHunks(document: TextDocument, hunks: readonly Hunk[]): Placement | HunkFailure[] {
  const index = new AnchorIndex(
    document.lines,
    hunks.flatMap((hunk) => hunk.anchors),
  );
  const withOld = hunks.filter((hunk) => hunk.lines.some((line) => line.kind !== "+"));
  const candidates = findCandidates(document, withOld, index);
  const failures: HunkFailure[] = [];
  const warnings: string[] = [];
  const insertions: { hunk: Hunk; edit: Edit }[] = [];
  const losesPrefixes = hunks.some(({ lines }) => lines.some((line) => line.unprefixed === true));
  for (const hunk of hunks) {
    if (hunk.lines.some((line) => line.kind !== "+")) continue;
    const at = insertionPoint(document, hunk, index, losesPrefixes);
    if (typeof at !== "number") {
      failures.push(at);
      continue;
    }
    insertions.push({ hunk, edit: { at, remove: 0, add: toNewLines(hunk.lines), hunk: hunk.number } });
    if (at > 0 && hunk.anchors.length === 0 && !hunk.endOfFile) {
      warnings.push(`hunk ${hunk.number} quotes no line of the file, so its lines were added at the end`);
    }
  }
  for (const candidate of candidates) {
    const { hunk, hits, anchorMissing, blockedHits } = candidate;
    if (hits.length === 0) {
      failures.push(
        blockedHits === undefined
          ? { hunk, reason: "not_found", places: NO_PLACES }
          : {
              hunk,
              reason: "beyond_anchor",
              places: placesOf(blockedHits),
              anchor: hunk.anchors.at(-1) ?? "",
            },
      );
    } else if (anchorMissing !== undefined) {
      if (hits.length > 1) {
        failures.push({ hunk, reason: "anchor_missing", places: placesOf(hits), anchor: anchorMissing });
      } else {
        warnings.push(
          `hunk ${hunk.number}: the anchor "${anchorMissing}" is not in the file; its lines are unique, so it was applied at line ${(hits[0] ?? 0) + 1}`,
        );
      }
    }
  }
  if (failures.length > 0) return failures;

  const starts = chooseStarts(document, candidates, warnings);
  if (!isStarts(starts)) return starts;
  const edits = insertions.map(({ edit }) => edit);
  const placed = insertions.map(({ hunk, edit }): PlacedHunk => ({ hunk, start: edit.at, tier: "exact" }));
  const repairs: Repair[] = [];
  for (const [i, candidate] of candidates.entries()) {
    const { hunk, tier, reading } = candidate;
    const start = starts[i] ?? 0;
    const own = editsAt(document, candidate, start);
    if (own === undefined) return [{ hunk, reason: "not_found", places: NO_PLACES }];
    for (const edit of own) edits.push(edit);
    placed.push({ hunk, start, tier });
    if (own.length === 0) warnings.push(`hunk ${hunk.number} changes nothing: it has only context lines`);
    if (own.some((edit) => isThereAlready(document, edit))) {
      warnings.push(
        `hunk ${hunk.number}: the lines it adds stood there already, so they are there twice now; was it applied before?`,
      );
    }
    if (reading.repair !== undefined) {
      repairs.push({
        ...reading.repair,
        patchLine: hunk.patchLine,
        message: `hunk ${hunk.number}: ${reading.repair.message}`,
      });
    }
  }
  edits.sort((a, b) => a.at - b.at || a.remove - b.remove || a.hunk - b.hunk);
  const saysWhere = new Set(hunks.filter(isPlacedByText).map(({ number }) => number));
  const clash = firstOverlap(edits, saysWhere);
  if (clash !== undefined) {
    const hunk = hunks.find((one) => one.number === clash[1].hunk);
    if (hunk !== undefined) {
      return [
        { hunk, reason: "overlap", places: { lines: [clash[1].at + 1], count: 1 }, other: clash[0].hunk },
      ];
    }
  }
  return { edits, placed, warnings, repairs };
}

function insertionPoint(
  document: TextDocument,
  hunk: Hunk,
  index: AnchorIndex,
  losesPrefixes: boolean,
): number | HunkFailure {
  const end = document.lines.length;
  if (hunk.endOfFile) return end;
  if (hunk.anchors.length > 0 && !hunk.advisoryAnchors) {
    const anchor = index.match(hunk.anchors);
    const text = anchor.missing ?? hunk.anchors.at(-1) ?? "";
    if (anchor.after === undefined)
      return { hunk, reason: "anchor_missing", places: NO_PLACES, anchor: text };
    if (anchor.unique !== undefined) return anchor.unique + 1;
    if (anchor.lines.length === 1) return anchor.after + 1;
    return { hunk, reason: "anchor_ambiguous", places: placesOf(anchor.lines), anchor: text };
  }
  // A line number alone is no proof of a place; only "at the end" can be checked.
  if (hunk.oldStart !== undefined && hunk.oldStart !== end)
    return { hunk, reason: "no_context", places: NO_PLACES };
  // Where other context lost its prefix, a "+" may be the file's own, as in a list.
  if (losesPrefixes && end > 0) return { hunk, reason: "no_context", places: NO_PLACES };
  // Blank context, or only spacing before the next marker? Harmless where the file has no blank line at all.
  if (hunk.trailingBlanks > 0 && document.lines.some((line) => line.trim() === "")) {
    return { hunk, reason: "no_context", places: NO_PLACES };
  }
  return end;
}

/** An insertion that repeats the lines right above or below it, as one that is sent a second time does. */
function isThereAlready({ lines }: TextDocument, { at, remove, add }: Edit): boolean {
  if (remove > 0 || !add.some(({ text }) => /[\p{L}\p{N}]/u.test(text))) return false;
  const standsAt = (start: number): boolean => add.every(({ text }, i) => lines[start + i] === text);
  return standsAt(at) || standsAt(at - add.length);
}

function isStarts(value: number[] | HunkFailure[]): value is number[] {
  return value.length === 0 || typeof value[0] === "number";
}

/** Not one that is just appended: the same line may well be meant twice there. */
function isPlacedByText({ lines, anchors }: Hunk): boolean {
  return anchors.length > 0 || lines.some(({ kind }) => kind !== "+");
}

/** `saysWhere`: the hunks that name their place. */
function firstOverlap(edits: readonly Edit[], saysWhere: ReadonlySet<number>): [Edit, Edit] | undefined {
  for (let i = 1; i < edits.length; i++) {
    const before = edits[i - 1];
    const own = edits[i];
    if (before === undefined || own === undefined) continue;
    if (before.at + before.remove > own.at || (saysWhere.has(own.hunk) && isSameInsertion(before, own)))
      return [before, own];
  }
  return undefined;
}

/** Two hunks that add the same lines at one place: one of them was meant for another. */
function isSameInsertion(a: Edit, b: Edit): boolean {
  if (a.hunk === b.hunk || a.at !== b.at || a.remove > 0 || b.remove > 0) return false;
  return a.add.length === b.add.length && a.add.every(({ text }, i) => text === b.add[i]?.text);
}
