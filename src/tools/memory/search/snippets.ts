import type { Candidate, Ranking } from "./rank.ts";
import { fileOfUnit, type Segment } from "./segment.ts";
import { UNIT_CONTINUES, UNIT_HEADING, UNIT_NAME, UNIT_TEXT } from "./units.ts";

/** A stretch of units to show: all of one file, in reading order. */
export interface Passage {
  segment: number;
  file: number;
  firstUnit: number;
  lastUnit: number;
  score: number;
}

/** Longest passage by its place in the answer: the first one most likely holds what is looked for. */
const LONGEST = [700, 650, 600, 560, 540, 520, 500, 460];
/** A passage longer than this grows only into units that score at least this share of its best one. */
const LONG_ENOUGH = 250;
const WORTH_SHOWING = 0.45;

/** Grows the best units with their better neighbours into passages that don't overlap, best first. */
export function choosePassages(segments: readonly Segment[], ranking: Ranking, limit: number): Passage[] {
  const passages: Passage[] = [];
  for (const best of ranking.best) {
    if (passages.length >= limit) break;
    const segment = segments[best.segment];
    // A file found by its name is shown from its first text.
    const isName = segment?.unitKind[best.unit] === UNIT_NAME;
    const candidate = isName ? { ...best, unit: best.unit + 1 } : best;
    if (isName && (segment.unitKind[candidate.unit] ?? UNIT_NAME) === UNIT_NAME) continue;
    if (ranking.scoreOf(candidate.segment, candidate.unit) < 0) continue;
    const isShown = passages.some(
      (passage) =>
        passage.segment === candidate.segment &&
        // A heading right above a passage adds nothing to it.
        passage.firstUnit <= candidate.unit + (segment?.unitKind[candidate.unit] === UNIT_HEADING ? 1 : 0) &&
        candidate.unit <= passage.lastUnit,
    );
    const longest = LONGEST[Math.min(passages.length, LONGEST.length - 1)] ?? 0;
    if (segment && !isShown) passages.push(grow(segment, candidate, passages, ranking, longest));
  }
  return passages;
}

function grow(
  segment: Segment,
  candidate: Candidate,
  passages: readonly Passage[],
  ranking: Ranking,
  longest: number,
): Passage {
  const file = fileOfUnit(segment, candidate.unit);
  let low = segment.fileUnits[file] ?? 0;
  let high = (segment.fileUnits[file + 1] ?? 0) - 1;
  for (const { segment: number, firstUnit, lastUnit } of passages) {
    if (number !== candidate.segment) continue;
    if (lastUnit < candidate.unit) low = Math.max(low, lastUnit + 1);
    else high = Math.min(high, firstUnit - 1);
  }
  let first = candidate.unit;
  let last = candidate.unit;
  const score = (unit: number): number => ranking.scoreOf(candidate.segment, unit);
  const size = (from: number, to: number): number =>
    (segment.unitEnd[to] ?? 0) - (segment.unitStart[from] ?? 0);
  // A line begun is finished first: half a list item or half of what somebody said misleads.
  const continues = (unit: number): number =>
    ((segment.unitFlags[unit] ?? 0) & UNIT_CONTINUES) !== 0 ? Number.MAX_SAFE_INTEGER : 0;
  // A heading is shown only where it matched: the answer names it anyway.
  const mayShow = (unit: number): boolean =>
    (segment.unitKind[unit] === UNIT_TEXT && score(unit) >= 0) ||
    (segment.unitKind[unit] === UNIT_HEADING && unit < first && score(unit) > candidate.score * 0.6);
  for (;;) {
    const up = first > low && mayShow(first - 1) && size(first - 1, last) <= longest;
    const down = last < high && mayShow(last + 1) && size(first, last + 1) <= longest;
    if (!up && !down) break;
    const above = up ? score(first - 1) + continues(first) : -1;
    const below = down ? score(last + 1) + continues(last + 1) : -1;
    const isWeak = Math.max(above, below) < candidate.score * WORTH_SHOWING;
    if (isWeak && size(first, last) > LONG_ENOUGH) break;
    if (above > below) first -= 1;
    else last += 1;
  }
  return { segment: candidate.segment, file, firstUnit: first, lastUnit: last, score: candidate.score };
}
