/** All hunks of a file together: one place each, or why there is none. */
import { editsAt, type Candidate } from "./candidates.ts";
import { applyEdits, type Edit, type TextDocument } from "./document.ts";
import type { Hunk } from "./patch.ts";
import { countBelow, type Hits } from "./search.ts";

export type FailureReason =
  | "not_found"
  | "ambiguous"
  | "anchor_missing"
  | "anchor_ambiguous"
  | "beyond_anchor"
  | "overlap"
  | "no_context";

export interface HunkFailure {
  hunk: Hunk;
  reason: FailureReason;
  places: Places;
  anchor?: string;
  other?: number;
}

/** Where a hunk or its anchor could go. */
export interface Places {
  /** 1-based, the first ones. */
  lines: number[];
  count: number;
}

export const NO_PLACES: Places = { lines: [], count: 0 };
const MAX_PLACES = 200;

/** A copy of a bounded part: many hunks may share one long list. */
export function placesOf(hits: Hits): Places {
  return { lines: Array.from(hits.subarray(0, MAX_PLACES), (line) => line + 1), count: hits.length };
}

export function chooseStarts(
  document: TextDocument,
  candidates: readonly Candidate[],
  warnings: string[],
): number[] | HunkFailure[] {
  if (candidates.length === 0) return [];
  let pool = candidates.map((candidate) => candidate.hits);
  // Neighbouring hunks may quote the same context; only what they change must be apart.
  const spans = candidates.map(({ core }) => core);
  let left = leftmost(pool, spans);
  if (left === undefined) return outOfOrder(candidates, warnings);
  let right = rightmost(pool, spans) ?? left;
  if (same(left, right)) return left;

  const hinted = useLineNumbers(candidates, left, right);
  if (hinted !== undefined) {
    const hintedLeft = leftmost(hinted, spans);
    if (hintedLeft !== undefined) {
      pool = hinted;
      left = hintedLeft;
      right = rightmost(pool, spans) ?? left;
      if (same(left, right)) return left;
    }
  }
  if (textAt(document, candidates, left) === textAt(document, candidates, right)) return left;
  const failures: HunkFailure[] = [];
  for (const [i, candidate] of candidates.entries()) {
    const low = left[i] ?? 0;
    const high = right[i] ?? 0;
    if (low === high) continue;
    const hits = pool[i] ?? candidate.hits;
    const between = hits.subarray(countBelow(hits, low), countBelow(hits, high + 1));
    failures.push({ hunk: candidate.hunk, reason: "ambiguous", places: placesOf(between) });
  }
  return failures;
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.every((value, i) => value === b[i]);
}

function leftmost(pool: readonly Hits[], spans: readonly [number, number][]): number[] | undefined {
  const starts: number[] = [];
  let limit = 0;
  for (const [i, hits] of pool.entries()) {
    const [from, to] = spans[i] ?? [0, 0];
    const hit = hits[countBelow(hits, limit - from)];
    if (hit === undefined) return undefined;
    starts.push(hit);
    limit = hit + to;
  }
  return starts;
}

function rightmost(pool: readonly Hits[], spans: readonly [number, number][]): number[] | undefined {
  const starts: number[] = [];
  let limit = Number.MAX_SAFE_INTEGER;
  for (const [i, hits] of [...pool.entries()].reverse()) {
    const [from, to] = spans[i] ?? [0, 0];
    const hit = hits[countBelow(hits, limit - to + 1) - 1];
    if (hit === undefined) return undefined;
    starts.push(hit);
    limit = hit + from;
  }
  return starts.reverse();
}

/**
 * Line numbers break a tie only when they are exact, after the shift that all hunks with one place agree on:
 * models write wrong numbers, and the nearest of several equal places would be a guess.
 */
function useLineNumbers(
  candidates: readonly Candidate[],
  left: readonly number[],
  right: readonly number[],
): Hits[] | undefined {
  let shift: number | undefined;
  for (const [i, { hunk }] of candidates.entries()) {
    if (hunk.oldStart === undefined || left[i] !== right[i]) continue;
    const own = (left[i] ?? 0) - (hunk.oldStart - 1);
    if (shift !== undefined && shift !== own) return undefined;
    shift = own;
  }
  return candidates.map(({ hunk, hits }) => {
    if (hunk.oldStart === undefined) return hits;
    const wanted = hunk.oldStart - 1 + (shift ?? 0);
    const at = countBelow(hits, wanted);
    return hits[at] === wanted ? hits.subarray(at, at + 1) : hits;
  });
}

function outOfOrder(candidates: readonly Candidate[], warnings: string[]): number[] | HunkFailure[] {
  const unclear = candidates.filter(({ hits }) => hits.length > 1);
  if (unclear.length > 0) {
    return unclear.map(({ hunk, hits }): HunkFailure => ({
      hunk,
      reason: "ambiguous",
      places: placesOf(hits),
    }));
  }
  const sorted = candidates
    .map((candidate) => ({ candidate, start: candidate.hits[0] ?? 0 }))
    .sort((a, b) => a.start + a.candidate.core[0] - (b.start + b.candidate.core[0]));
  for (let i = 1; i < sorted.length; i++) {
    const before = sorted[i - 1];
    const own = sorted[i];
    if (before === undefined || own === undefined) continue;
    if (before.start + before.candidate.core[1] > own.start + own.candidate.core[0]) {
      return [
        {
          hunk: own.candidate.hunk,
          reason: "overlap",
          places: { lines: [own.start + 1], count: 1 },
          other: before.candidate.hunk.number,
        },
      ];
    }
  }
  warnings.push(
    "the hunks stand in another order than in the file; each has one place, so they were applied there",
  );
  return candidates.map(({ hits }) => hits[0] ?? 0);
}

function textAt(
  document: TextDocument,
  candidates: readonly Candidate[],
  starts: readonly number[],
): string | undefined {
  const edits: Edit[] = [];
  for (const [i, candidate] of candidates.entries()) {
    for (const edit of editsAt(document, candidate, starts[i] ?? 0) ?? []) edits.push(edit);
  }
  edits.sort((a, b) => a.at - b.at || a.remove - b.remove || a.hunk - b.hunk);
  return applyEdits(document, edits);
}
