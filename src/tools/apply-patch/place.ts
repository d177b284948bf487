/**
 * Lines to positions. Each hunk gets every place where its old lines stand (lowest tier with a hit, anchors and the
 * end-of-file marker narrowing them); then all hunks of the file are placed together. The true placement lies
 * between the leftmost and the rightmost one in order, so where the two agree there is no doubt left.
 */
import { AnchorIndex } from "./anchors.ts";
import { applyEdits, type Edit, type NewLine, type TextDocument } from "./document.ts";
import type { Hunk, HunkLine, Repair } from "./patch.ts";
import { readingsOf, type Reading } from "./repair.ts";
import { findAll } from "./search.ts";
import { normalize, reindent, TIERS, type MatchTier } from "./tiers.ts";

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
  /** 1-based lines where the hunk (or its anchor) could go. */
  places: number[];
  anchor?: string;
  other?: number;
}

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

interface Candidate {
  hunk: Hunk;
  reading: Reading;
  /** Old lines, in order. */
  old: HunkLine[];
  hits: number[];
  tier: MatchTier;
  /** Offsets within `old` of the first and past the last changed line: what may not overlap. */
  core: [number, number];
  anchorMissing?: string;
  blockedHits?: number[];
}

/** Checking indentation costs a hunk's length a hit; past this much work only the chosen place is checked. */
const INDENT_CHECK_BUDGET = 2_000_000;

export function placeHunks(document: TextDocument, hunks: readonly Hunk[]): Placement | HunkFailure[] {
  const index = new AnchorIndex(
    document.lines,
    hunks.flatMap((hunk) => hunk.anchors),
  );
  const withOld = hunks.filter((hunk) => hunk.lines.some((line) => line.kind !== "+"));
  const candidates = findCandidates(document, withOld, index);
  const failures: HunkFailure[] = [];
  const warnings: string[] = [];
  const insertions: Edit[] = [];
  for (const hunk of hunks) {
    if (hunk.lines.some((line) => line.kind !== "+")) continue;
    const at = insertionPoint(document, hunk, index);
    if (typeof at !== "number") failures.push(at);
    else insertions.push({ at, remove: 0, add: toNewLines(hunk.lines), hunk: hunk.number });
  }
  for (const candidate of candidates) {
    const { hunk, hits, anchorMissing, blockedHits } = candidate;
    if (hits.length === 0) {
      failures.push(
        blockedHits === undefined
          ? { hunk, reason: "not_found", places: [] }
          : {
              hunk,
              reason: "beyond_anchor",
              places: oneBased(blockedHits),
              anchor: hunk.anchors.at(-1) ?? "",
            },
      );
    } else if (anchorMissing !== undefined) {
      if (hits.length > 1) {
        failures.push({ hunk, reason: "anchor_missing", places: oneBased(hits), anchor: anchorMissing });
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
  const edits = [...insertions];
  const placed: PlacedHunk[] = [];
  const repairs: Repair[] = [];
  for (const [i, candidate] of candidates.entries()) {
    const { hunk, tier, reading } = candidate;
    const start = starts[i] ?? 0;
    const own = editsAt(document, candidate, start);
    if (own === undefined) return [{ hunk, reason: "not_found", places: [] }];
    edits.push(...own);
    placed.push({ hunk, start, tier });
    if (own.length === 0) warnings.push(`hunk ${hunk.number} changes nothing: it has only context lines`);
    if (reading.repair !== undefined) {
      repairs.push({
        ...reading.repair,
        patchLine: hunk.patchLine,
        message: `hunk ${hunk.number}: ${reading.repair.message}`,
      });
    }
  }
  for (const edit of insertions) {
    const hunk = hunks.find((one) => one.number === edit.hunk);
    if (hunk !== undefined) placed.push({ hunk, start: edit.at, tier: "exact" });
  }
  edits.sort((a, b) => a.at - b.at || a.remove - b.remove || a.hunk - b.hunk);
  const clash = firstOverlap(edits);
  if (clash !== undefined) {
    const hunk = hunks.find((one) => one.number === clash[1].hunk);
    if (hunk !== undefined) {
      return [{ hunk, reason: "overlap", places: [clash[1].at + 1], other: clash[0].hunk }];
    }
  }
  return { edits, placed, warnings, repairs };
}

function oneBased(lines: readonly number[]): number[] {
  return lines.map((line) => line + 1);
}

function toNewLines(lines: readonly HunkLine[]): NewLine[] {
  return lines.map(({ text, noNewline }) => (noNewline === true ? { text, noNewline } : { text }));
}

function findCandidates(document: TextDocument, hunks: readonly Hunk[], index: AnchorIndex): Candidate[] {
  const readings = hunks.map(readingsOf);
  const candidates = hunks.map((hunk, i) => toCandidate(hunk, readings[i]?.[0] ?? { lines: hunk.lines }));
  const rounds = Math.max(0, ...readings.map((list) => list.length));
  const normalized = new Map<MatchTier, string[]>();
  for (let round = 0; round < rounds; round++) {
    for (const tier of TIERS) {
      const pending: number[] = [];
      for (const [i, candidate] of candidates.entries()) {
        const reading = readings[i]?.[round];
        if (candidate.hits.length > 0 || reading === undefined) continue;
        if (candidate.reading !== reading) {
          const { blockedHits } = candidate;
          candidates[i] = {
            ...toCandidate(candidate.hunk, reading),
            ...(blockedHits ? { blockedHits } : {}),
          };
        }
        pending.push(i);
      }
      if (pending.length === 0) continue;
      let lines = normalized.get(tier);
      if (lines === undefined) {
        lines = tier === "exact" ? document.lines : document.lines.map((line) => normalize(line, tier));
        normalized.set(tier, lines);
      }
      const patterns = pending.map((i) =>
        (candidates[i]?.old ?? []).map((line) => normalize(line.text, tier)),
      );
      const found = findAll(lines, patterns);
      for (const [k, i] of pending.entries()) {
        const candidate = candidates[i];
        if (candidate !== undefined) takeHits(document, candidate, found[k] ?? [], tier, index);
      }
    }
  }
  return candidates;
}

function toCandidate(hunk: Hunk, reading: Reading): Candidate {
  const old: HunkLine[] = [];
  let from = -1;
  let to = 0;
  for (const line of reading.lines) {
    if (line.kind !== " " && from === -1) from = old.length;
    if (line.kind !== "+") old.push({ ...line, text: line.text.replace(/^\uFEFF/, "") });
    if (line.kind !== " ") to = old.length;
  }
  return { hunk, reading, old, hits: [], tier: "exact", core: from === -1 ? [0, 0] : [from, to] };
}

function takeHits(
  document: TextDocument,
  candidate: Candidate,
  raw: number[],
  tier: MatchTier,
  index: AnchorIndex,
): void {
  const { hunk, old } = candidate;
  const length = old.length;
  let hits = raw;
  candidate.tier = tier;
  if ((tier === "indentation" || tier === "punctuation") && hits.length * length <= INDENT_CHECK_BUDGET) {
    hits = hits.filter((hit) => editsAt(document, { ...candidate, tier }, hit) !== undefined);
  }
  if (hits.length === 0) return;
  if (hunk.anchors.length > 0) {
    const anchor = index.match(hunk.anchors);
    if (anchor.after === undefined) {
      if (!hunk.advisoryAnchors) candidate.anchorMissing = anchor.missing ?? "";
    } else {
      const after = anchor.after;
      const below = hits.filter((hit) => hit + length > after);
      if (below.length === 0 && !hunk.advisoryAnchors) {
        candidate.blockedHits ??= hits;
        return;
      }
      if (below.length > 0) hits = below;
      if (hits.length > 1 && anchor.unique !== undefined) hits = index.narrow(hits, length, anchor.unique);
    }
  }
  if (hunk.endOfFile) {
    const atEnd = hits.filter((hit) => hit + length === document.lines.length);
    if (atEnd.length > 0) hits = atEnd;
  }
  candidate.hits = hits;
}

function insertionPoint(document: TextDocument, hunk: Hunk, index: AnchorIndex): number | HunkFailure {
  const end = document.lines.length;
  if (hunk.endOfFile) return end;
  if (hunk.anchors.length > 0 && !hunk.advisoryAnchors) {
    const anchor = index.match(hunk.anchors);
    const text = anchor.missing ?? hunk.anchors.at(-1) ?? "";
    if (anchor.after === undefined) return { hunk, reason: "anchor_missing", places: [], anchor: text };
    if (anchor.unique !== undefined) return anchor.unique + 1;
    if (anchor.lines.length === 1) return anchor.after + 1;
    return { hunk, reason: "anchor_ambiguous", places: oneBased(anchor.lines), anchor: text };
  }
  // A line number alone is no proof of a place; only "at the end" can be checked.
  if (hunk.oldStart !== undefined && hunk.oldStart !== end) return { hunk, reason: "no_context", places: [] };
  // Blank context, or only spacing before the next marker? Harmless where the file has no blank line at all.
  if (hunk.trailingBlanks > 0 && document.lines.some((line) => line.trim() === "")) {
    return { hunk, reason: "no_context", places: [] };
  }
  return end;
}

/** The edits of one hunk at one place; undefined where added lines can't be indented like the file. */
function editsAt(document: TextDocument, candidate: Candidate, start: number): Edit[] | undefined {
  const { reading, tier, hunk, old } = candidate;
  let added: NewLine[] = toNewLines(reading.lines.filter((line) => line.kind === "+"));
  if (tier === "indentation" || tier === "punctuation") {
    const pairs = old.map((line, i) => ({
      kind: line.kind === "-" ? ("-" as const) : (" " as const),
      patch: line.text,
      file: document.lines[start + i] ?? "",
    }));
    const texts = reindent(
      pairs,
      added.map((line) => line.text),
    );
    if (texts === undefined) return undefined;
    added = added.map((line, i) => ({ ...line, text: texts[i] ?? line.text }));
  }
  const edits: Edit[] = [];
  let current: Edit | undefined;
  let at = start;
  let nextAdded = 0;
  for (const line of reading.lines) {
    if (line.kind === " ") {
      current = undefined;
      at++;
      continue;
    }
    if (current === undefined) {
      current = { at, remove: 0, add: [], hunk: hunk.number };
      edits.push(current);
    }
    if (line.kind === "-") {
      current.remove++;
      at++;
      continue;
    }
    const entry = added[nextAdded++];
    if (entry === undefined) continue;
    const isFirst = document.bom && current.at === 0 && current.add.length === 0;
    current.add.push(isFirst ? { ...entry, text: entry.text.replace(/^\uFEFF/, "") } : entry);
  }
  return edits;
}

function chooseStarts(
  document: TextDocument,
  candidates: readonly Candidate[],
  warnings: string[],
): number[] | HunkFailure[] {
  if (candidates.length === 0) return [];
  let pool = candidates.map((candidate) => candidate.hits);
  let spans = candidates.map(({ old }): [number, number] => [0, old.length]);
  let left = leftmost(pool, spans);
  if (left === undefined) {
    // Neighbouring hunks may quote the same context; only what they change must be apart.
    spans = candidates.map(({ core }) => core);
    left = leftmost(pool, spans);
  }
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
    const places = (pool[i] ?? []).filter((hit) => hit >= low && hit <= high);
    failures.push({ hunk: candidate.hunk, reason: "ambiguous", places: oneBased(places) });
  }
  return failures;
}

function isStarts(value: number[] | HunkFailure[]): value is number[] {
  return value.length === 0 || typeof value[0] === "number";
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.every((value, i) => value === b[i]);
}

function leftmost(pool: readonly number[][], spans: readonly [number, number][]): number[] | undefined {
  const starts: number[] = [];
  let limit = 0;
  for (const [i, hits] of pool.entries()) {
    const [from, to] = spans[i] ?? [0, 0];
    let low = 0;
    let high = hits.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((hits[middle] ?? 0) + from < limit) low = middle + 1;
      else high = middle;
    }
    const hit = hits[low];
    if (hit === undefined) return undefined;
    starts.push(hit);
    limit = hit + to;
  }
  return starts;
}

function rightmost(pool: readonly number[][], spans: readonly [number, number][]): number[] | undefined {
  const starts: number[] = [];
  let limit = Number.MAX_SAFE_INTEGER;
  for (let i = pool.length - 1; i >= 0; i--) {
    const hits = pool[i] ?? [];
    const [from, to] = spans[i] ?? [0, 0];
    let low = 0;
    let high = hits.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((hits[middle] ?? 0) + to <= limit) low = middle + 1;
      else high = middle;
    }
    const hit = hits[low - 1];
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
): number[][] | undefined {
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
    return hits.includes(wanted) ? [wanted] : hits;
  });
}

function outOfOrder(candidates: readonly Candidate[], warnings: string[]): number[] | HunkFailure[] {
  const unclear = candidates.filter(({ hits }) => hits.length > 1);
  if (unclear.length > 0) {
    return unclear.map(({ hunk, hits }): HunkFailure => ({
      hunk,
      reason: "ambiguous",
      places: oneBased(hits),
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
          places: [own.start + 1],
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
  for (const [i, candidate] of candidates.entries())
    edits.push(...(editsAt(document, candidate, starts[i] ?? 0) ?? []));
  edits.sort((a, b) => a.at - b.at || a.remove - b.remove || a.hunk - b.hunk);
  return applyEdits(document, edits);
}

function firstOverlap(edits: readonly Edit[]): [Edit, Edit] | undefined {
  for (let i = 1; i < edits.length; i++) {
    const before = edits[i - 1];
    const own = edits[i];
    if (before !== undefined && own !== undefined && before.at + before.remove > own.at) return [before, own];
  }
  return undefined;
}
