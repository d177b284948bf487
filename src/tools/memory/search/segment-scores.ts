import { POSTING_LABEL } from "./posting-lists.ts";
import type { QueryTerm } from "./query.ts";
import type { RankTuning } from "./rank.ts";
import { readPostings, type Postings, type Segment } from "./segment.ts";
import type { TermHash } from "./term-hash.ts";
import { UNIT_ASKS, UNIT_HEADING, UNIT_NAME, UNIT_TEXT } from "./units.ts";

export interface ScaledTerm {
  id: number;
  /** 1 for the word itself, less for its relatives. */
  scale: number;
}

/** Another word that counts for a word of the query. */
export interface Relative extends TermHash {
  scale: number;
}

/** A word of the query as the index knows it. */
export interface AskedTerm {
  /** By segment: the word and its relatives. */
  ids: ScaledTerm[][];
  weight: number;
  /** How many units away it still counts. */
  reach: number;
}

interface Hits extends Postings {
  scale: number;
}

interface TermHits {
  hits: Hits[];
  weight: number;
  reach: number;
}

/** The score of a unit with a word the query excludes: never shown, not even around another unit. */
const EXCLUDED = -1;
const MOST_RELATIVES = 64;

/** The word itself, its family (words with the same first letters) and its relatives, as far as the segment has them. */
export function termIds(
  segment: Segment,
  term: QueryTerm,
  family: number,
  relatives: readonly Relative[],
): ScaledTerm[] {
  const own = segment.terms.get(term.low, term.high);
  const ids = own < 0 ? [] : [{ id: own, scale: 1 }];
  const head = term.group ? segment.groups.get(term.group.low, term.group.high) : -1;
  if (head >= 0) {
    let id = head;
    do {
      if (id !== own) ids.push({ id, scale: family });
      id = segment.termNext[id] ?? head;
    } while (id !== head && ids.length < MOST_RELATIVES);
  }
  for (const { low, high, scale } of relatives) {
    const id = segment.terms.get(low, high);
    if (id >= 0) ids.push({ id, scale });
  }
  return ids;
}

/** Scores of a segment's units for one query, file by file as they are asked for. */
export class SegmentScores {
  /** By file: no unit of it scores more. 0 where none can be shown. */
  readonly bounds: Float64Array;
  readonly #segment: Segment;
  readonly #terms: readonly TermHits[];
  readonly #excluded: ReadonlySet<number>;
  readonly #required: readonly ReadonlySet<number>[];
  readonly #average: number;
  readonly #tuning: RankTuning;
  readonly #boost: (file: number) => number;
  /** By length: what a word that stands once in a unit gives it. */
  readonly #once: Float64Array;
  #total = new Float64Array(0);
  /** What one word gives; all zero between two words. */
  #own = new Float64Array(0);

  constructor(
    segment: Segment,
    number: number,
    asked: readonly AskedTerm[],
    { excluded, required }: { excluded: readonly TermHash[][]; required: readonly TermHash[][] },
    average: number,
    tuning: RankTuning,
    /** What all scores of a file are multiplied with; 0 where it must not be shown. */
    boost: (file: number) => number,
  ) {
    this.#segment = segment;
    this.#average = average;
    this.#tuning = tuning;
    this.#boost = boost;
    this.#terms = asked.map(({ ids, weight, reach }) => ({
      hits: (ids[number] ?? []).map(({ id, scale }) => ({ ...readPostings(segment, id), scale })),
      weight,
      reach,
    }));
    this.#excluded = new Set(excluded.flatMap((terms) => [...unitsWithAll(segment, terms, 0)]));
    this.#required = required.map((terms) => unitsWithAll(segment, terms, 1));
    this.#once = Float64Array.from({ length: 256 }, (_, length) => this.#saturated(1, length));
    this.bounds = this.#boundsOfFiles();
  }

  /** Whether the words of every phrase stand in the unit or right beside it. */
  mayHoldPhrases(unit: number): boolean {
    return this.#required.every((units) => units.has(unit));
  }

  /** By unit of the file. The array is used again by the next call. */
  scoresOfFile(file: number): Float64Array {
    const { fileUnits } = this.#segment;
    const from = fileUnits[file] ?? 0;
    const to = fileUnits[file + 1] ?? from;
    if (this.#own.length < to - from) this.#own = new Float64Array(2 * (to - from));
    if (this.#total.length !== to - from) this.#total = new Float64Array(to - from);
    const own = this.#own;
    const total = this.#total.fill(0);
    for (const term of this.#terms) {
      if (!this.#scoreTerm(term, from, to)) continue;
      for (let at = 0; at < total.length; at += 1) {
        total[at] = (total[at] ?? 0) + (own[at] ?? 0);
        own[at] = 0;
      }
    }
    const boost = this.#boost(file);
    for (let at = 0; at < total.length; at += 1) {
      const isExcluded = this.#excluded.size > 0 && this.#excluded.has(from + at);
      total[at] = isExcluded ? EXCLUDED : (total[at] ?? 0) * boost;
    }
    return total;
  }

  /** The sum of what each word gives where it gives most, as if that were one and the same unit. */
  #boundsOfFiles(): Float64Array {
    const { fileUnits, files, unitLength } = this.#segment;
    const { heading, label } = this.#tuning;
    const bounds = new Float64Array(files.length);
    const most = new Float64Array(files.length);
    for (const { hits, weight } of this.#terms) {
      for (const { units, marks, scale } of hits) {
        let file = -1;
        let from = 0;
        let to = 0;
        for (let at = 0; at < units.length; at += 1) {
          const unit = units[at] ?? 0;
          if (unit >= to) {
            file = fileAfter(fileUnits, file, unit);
            from = fileUnits[file] ?? 0;
            to = fileUnits[file + 1] ?? 0;
          }
          const mark = marks[at] ?? 1;
          const length = unitLength[unit] ?? 1;
          let value =
            weight * scale * (mark === 1 ? (this.#once[length] ?? 0) : this.#saturated(mark & 0x7f, length));
          // A file's first unit is its name.
          if (unit === from) value *= heading;
          if ((mark & POSTING_LABEL) !== 0) value *= label;
          if (value > (most[file] ?? 0)) most[file] = value;
        }
      }
      for (let file = 0; file < most.length; file += 1) {
        bounds[file] = (bounds[file] ?? 0) + (most[file] ?? 0);
        most[file] = 0;
      }
    }
    for (let file = 0; file < bounds.length; file += 1) {
      const bound = bounds[file] ?? 0;
      if (bound > 0) bounds[file] = bound * this.#boost(file);
    }
    return bounds;
  }

  /** BM25 without the word's weight. */
  #saturated(times: number, length: number): number {
    const { k1, b } = this.#tuning;
    return (times * (k1 + 1)) / (times + k1 * (1 - b + (b * length) / this.#average));
  }

  /** Gives each unit the most that one occurrence of the term, here or nearby, gives it. False where there's none. */
  #scoreTerm({ hits, weight, reach }: TermHits, from: number, to: number): boolean {
    const { unitKind, unitFlags, unitLength } = this.#segment;
    const { spread, back, asked, label, heading } = this.#tuning;
    const own = this.#own;
    let isThere = false;
    for (const { units, marks, scale } of hits) {
      for (let at = firstAtLeast(units, from); at < units.length; at += 1) {
        const unit = units[at] ?? 0;
        if (unit >= to) break;
        // What must not be shown doesn't recommend its neighbours either.
        if (this.#excluded.size > 0 && this.#excluded.has(unit)) continue;
        isThere = true;
        const mark = marks[at] ?? 1;
        const kind = unitKind[unit];
        const saturated = this.#saturated(mark & 0x7f, unitLength[unit] ?? 1);
        const plain = weight * scale * saturated * (kind === UNIT_NAME ? heading : 1);
        raise(own, unit - from, (mark & POSTING_LABEL) === 0 ? plain : plain * label);
        // A heading begins another subject: no text spreads past it, only the file's name and the headings above.
        let up = kind === UNIT_HEADING ? 0 : reach;
        for (let distance = 1; distance <= up && unit - distance >= from; distance += 1) {
          raise(own, unit - distance - from, plain * (spread[distance - 1] ?? 0) * back);
          if (unitKind[unit - distance] === UNIT_HEADING) up = 0;
        }
        const after = ((unitFlags[unit] ?? 0) & UNIT_ASKS) === 0 ? plain : plain * asked;
        for (let distance = 1; distance <= reach && unit + distance < to; distance += 1) {
          if (unitKind[unit + distance] === UNIT_HEADING && kind === UNIT_TEXT) break;
          raise(own, unit + distance - from, after * (spread[distance - 1] ?? 0));
        }
      }
    }
    return isThere;
  }
}

/** Units that hold every term, in themselves or at most `reach` units away. */
function unitsWithAll(segment: Segment, terms: readonly TermHash[], reach: number): Set<number> {
  let common: Set<number> | undefined;
  for (const { low, high } of terms) {
    const id = segment.terms.get(low, high);
    const near = new Set<number>();
    for (const unit of id < 0 ? [] : readPostings(segment, id).units) {
      for (let at = unit - reach; at <= unit + reach; at += 1)
        if (common === undefined || common.has(at)) near.add(at);
    }
    common = near;
  }
  return common ?? new Set();
}

function raise(values: Float64Array, at: number, value: number): void {
  if (value > (values[at] ?? 0)) values[at] = value;
}

/** The file of `unit`, which lies after `file`. In growing steps: postings may be dense or far apart. */
function fileAfter(fileUnits: Uint32Array, file: number, unit: number): number {
  let step = 1;
  let low = file + 1;
  while (low + step < fileUnits.length - 1 && (fileUnits[low + step] ?? 0) <= unit) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, fileUnits.length - 2);
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((fileUnits[middle] ?? 0) <= unit) low = middle;
    else high = middle - 1;
  }
  return low;
}

function firstAtLeast(units: Uint32Array, unit: number): number {
  let low = 0;
  let high = units.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((units[middle] ?? 0) < unit) low = middle + 1;
    else high = middle;
  }
  return low;
}
