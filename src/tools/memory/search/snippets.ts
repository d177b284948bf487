import type { Ranking } from "./rank.ts";
import { fileOfUnit, type Segment } from "./segment.ts";
import { UNIT_HEADING, UNIT_NAME } from "./units.ts";

/** A stretch of units to show: all of one file, in reading order. */
export interface Passage {
  segment: number;
  file: number;
  firstUnit: number;
  lastUnit: number;
  score: number;
}

export const SNIPPET_LENGTH = 500;

/** Grows the best units with their better neighbours into passages that don't overlap, best first. */
export function choosePassages(
  segments: readonly Segment[],
  ranking: Ranking,
  limit: number,
  length: number = SNIPPET_LENGTH,
): Passage[] {
  const passages: Passage[] = [];
  for (const candidate of ranking.best) {
    if (passages.length >= limit) break;
    const segment = segments[candidate.segment];
    if (!segment) continue;
    const taken = passages.filter((passage) => passage.segment === candidate.segment);
    if (taken.some((passage) => passage.firstUnit <= candidate.unit && candidate.unit <= passage.lastUnit)) continue;
    const file = fileOfUnit(segment, candidate.unit);
    const low = Math.max(segment.fileUnits[file] ?? 0, ...taken.filter((p) => p.lastUnit < candidate.unit).map((p) => p.lastUnit + 1));
    const high = Math.min((segment.fileUnits[file + 1] ?? 0) - 1, ...taken.filter((p) => p.firstUnit > candidate.unit).map((p) => p.firstUnit - 1));
    let first = candidate.unit;
    let last = candidate.unit;
    const size = (from: number, to: number): number => (segment.unitEnd[to] ?? 0) - (segment.unitStart[from] ?? 0);
    for (;;) {
      const up = first > low && segment.unitKind[first - 1] !== UNIT_NAME && size(first - 1, last) <= length;
      const down = last < high && segment.unitKind[last + 1] !== UNIT_HEADING && size(first, last + 1) <= length;
      if (!up && !down) break;
      const above = up ? ranking.scoreOf(candidate.segment, first - 1) : -1;
      const below = down ? ranking.scoreOf(candidate.segment, last + 1) : -1;
      if (above > below) first -= 1;
      else last += 1;
    }
    passages.push({ segment: candidate.segment, file, firstUnit: first, lastUnit: last, score: candidate.score });
  }
  return passages;
}
