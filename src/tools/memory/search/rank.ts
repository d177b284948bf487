import { dateFit } from "./dates.ts";
import type { Query, QueryTerm } from "./query.ts";
import { POSTING_LABEL } from "./posting-lists.ts";
import { releaseScores, scratchOf } from "./scratch.ts";
import { readPostings, type Segment } from "./segment.ts";
import type { TermHash } from "./term-hash.ts";
import { UNIT_HEADING, UNIT_NAME, UNIT_TEXT } from "./units.ts";

/** Few, and each does something one can name; see docs/memory.md. */
export interface RankTuning {
  k1: number;
  b: number;
  /** What a unit gets of a term that stands 1, 2, ... units away. */
  spread: readonly number[];
  /** A term in more than this share of all units is too common to spread. */
  spreadLimit: number;
  /** A term in a line's `Name:` label, relative to one in the text. */
  label: number;
  /** What a unit gets of a term in a heading above it. */
  heading: number;
  /** Another word with the same first letters, relative to the word itself. */
  family: number;
  /** Up to this share more for a file whose date is the question's. */
  date: number;
  /** What a unit before the term gets, relative to one after it: an answer follows its question. */
  back: number;
  /** A word of much the same meaning, relative to the word itself. */
  synonym: number;
  /** A thing of the kind that the word names, relative to the word itself. */
  thing: number;
}

export const DEFAULT_TUNING: RankTuning = {
  k1: 0.9,
  b: 0.1,
  spread: [0.7, 0.6, 0.5, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1],
  back: 0.8,
  spreadLimit: 0.1,
  label: 2.5,
  heading: 0.3,
  family: 0.5,
  synonym: 0.3,
  thing: 0.4,
  date: 3,
};

/** A unit that may be shown, with its score. */
export interface Candidate {
  segment: number;
  unit: number;
  score: number;
}

export interface Corpus {
  segments: readonly Segment[];
  /** Whether a file of a segment may be shown: not replaced by a newer segment, and inside the filter. */
  isLive(segment: number, file: number): boolean;
}

export interface Ranking {
  best: Candidate[];
  /** Score of any unit, for growing snippets. */
  scoreOf(segment: number, unit: number): number;
  /** To be called when no score is needed any more. */
  release(): void;
}

interface Hits {
  units: Uint32Array;
  marks: Uint8Array;
  scale: number;
}

/** The same in all segments: a word is as rare as it is in the whole memory. */
interface TermWeight {
  weight: number;
  /** How many units away it still counts. */
  reach: number;
}

const NO_WEIGHT: TermWeight = { weight: 0, reach: 0 };
/** A word in more units than this only raises what rarer words found: alone it would rank half of a large memory. */
const REFINING = 30_000;
/** A word in more units than this spreads to its nearest neighbours only: it tells little, and costs most of the time. */
const FREQUENT = 20_000;
const FREQUENT_REACH = 3;
const CANDIDATES = 200;
/** The score of a unit with a word the query excludes: never shown, not even around another unit. */
const EXCLUDED = -1;

export function rank(corpus: Corpus, query: Query, tuning: RankTuning = DEFAULT_TUNING): Ranking {
  // A phrase is checked in the text afterwards and may throw most candidates out.
  const limit = query.phrases.length > 0 ? CANDIDATES * 10 : CANDIDATES;
  let units = 0;
  let tokens = 0;
  for (const segment of corpus.segments) {
    units += segment.unitStart.length;
    tokens += segment.tokenCount;
  }
  const average = units === 0 ? 1 : Math.max(1, tokens / units);
  const weights = query.terms.map((term): TermWeight => {
    let holding = 0;
    let occurrences = 0;
    for (const segment of corpus.segments) {
      for (const { id, scale } of termIds(segment, term, tuning)) {
        const count = segment.termUnits[id] ?? 0;
        occurrences += count;
        if (scale === 1) holding += count;
      }
    }
    const isCommon = occurrences > 50 && occurrences > units * tuning.spreadLimit;
    // A word that stands nowhere itself is judged by its family, as a rare word.
    const idf = Math.log(1 + (units - holding + 0.5) / (holding + 0.5));
    const reach = isCommon ? 0 : occurrences > FREQUENT ? FREQUENT_REACH : tuning.spread.length;
    return { weight: term.weight * idf, reach };
  });
  const scores: Float32Array[] = [];
  const releases: (() => void)[] = [];
  const best: Candidate[] = [];
  corpus.segments.forEach((segment, number) => {
    const touched = new Uint8Array(segment.files.length);
    const excluded = excludedUnits(segment, query);
    const score = scoreSegment(segment, query, weights, average, tuning, touched, excluded);
    scores.push(score);
    for (const unit of excluded) score[unit] = EXCLUDED;
    releases.push(() => releaseScores(segment, score, touched, excluded));
    const dated = query.dates.length > 0;
    let floor = 0;
    for (let file = 0; file < segment.files.length; file += 1) {
      if (touched[file] !== 1) continue;
      const from = segment.fileUnits[file] ?? 0;
      const to = segment.fileUnits[file + 1] ?? from;
      let boost = -1;
      for (let unit = from; unit < to; unit += 1) {
        const value = score[unit] ?? 0;
        if (value <= 0) continue;
        if (boost < 0)
          boost = corpus.isLive(number, file) ? (dated ? dateBoost(query, segment, file, tuning) : 1) : 0;
        const final = value * boost;
        score[unit] = final;
        if (final > floor) {
          best.push({ segment: number, unit, score: final });
          if (best.length >= limit * 4) floor = cut(best, limit);
        }
      }
    }
  });
  cut(best, limit);
  return {
    best,
    scoreOf: (segment, unit) => scores[segment]?.[unit] ?? 0,
    release() {
      scores.length = 0;
      for (const giveBack of releases.splice(0)) giveBack();
    },
  };
}

/** Keeps the best `limit`, best first, ties by place so that the order never depends on the engine's sort. */
function cut(best: Candidate[], limit: number): number {
  best.sort((a, b) => b.score - a.score || a.segment - b.segment || a.unit - b.unit);
  if (best.length > limit) best.length = limit;
  return best.length < limit ? 0 : (best.at(-1)?.score ?? 0);
}

function dateBoost(query: Query, segment: Segment, file: number, tuning: RankTuning): number {
  const day = segment.files[file]?.day ?? 0;
  return 1 + tuning.date * Math.max(...query.dates.map((hint) => dateFit(hint, day)));
}

function termIds(segment: Segment, term: QueryTerm, tuning: RankTuning): { id: number; scale: number }[] {
  const own = segment.terms.get(term.low, term.high);
  const ids = own < 0 ? [] : [{ id: own, scale: 1 }];
  if (tuning.family > 0 && term.group) {
    const head = segment.groups.get(term.group.low, term.group.high);
    if (head >= 0) {
      let id = head;
      do {
        if (id !== own) ids.push({ id, scale: tuning.family });
        id = segment.termNext[id] ?? head;
      } while (id !== head && ids.length < 64);
    }
  }
  const add = (others: readonly TermHash[], scale: number): void => {
    for (const { low, high } of others) {
      const id = segment.terms.get(low, high);
      if (id >= 0) ids.push({ id, scale });
    }
  };
  add(term.synonyms, tuning.synonym);
  add(term.things, tuning.thing);
  return ids;
}

function scoreSegment(
  segment: Segment,
  query: Query,
  weights: readonly TermWeight[],
  average: number,
  tuning: RankTuning,
  touched: Uint8Array,
  excluded: ReadonlySet<number>,
): Float32Array {
  const scratch = scratchOf(segment);
  const total = scratch.total ?? new Float32Array(segment.unitStart.length);
  scratch.total = undefined;
  const { own } = scratch;
  // Rare words first: they decide which files the very common ones need to be looked up in.
  const order = query.terms.map((term, at) => ({ term, weight: weights[at] ?? NO_WEIGHT }));
  order.sort((one, other) => other.weight.weight - one.weight.weight);
  for (const { term, weight } of order) {
    const hits: Hits[] = termIds(segment, term, tuning).map(({ id, scale }) => ({
      ...readPostings(segment, id),
      scale,
    }));
    addTerm(segment, hits, weight, average, tuning, own, total, touched, excluded);
  }
  return total;
}

function excludedUnits(segment: Segment, query: Query): Set<number> {
  const units = new Set<number>();
  for (const { low, high } of query.excluded) {
    const id = segment.terms.get(low, high);
    if (id >= 0) for (const unit of readPostings(segment, id).units) units.add(unit);
  }
  return units;
}

/** Adds to each unit the most that one occurrence of the term, here or nearby, gives it. */
function addTerm(
  segment: Segment,
  hits: readonly Hits[],
  { weight, reach }: TermWeight,
  average: number,
  tuning: RankTuning,
  own: Float32Array,
  total: Float32Array,
  touched: Uint8Array,
  excluded: ReadonlySet<number>,
): void {
  const give = (unit: number, value: number): void => {
    const had = own[unit] ?? 0;
    if (value <= had) return;
    own[unit] = value;
    total[unit] = (total[unit] ?? 0) + value - had;
  };
  const hasRarer = touched.includes(1);
  for (const { units, marks, scale } of hits) {
    const onlyRefines = hasRarer && units.length > REFINING;
    let file = 0;
    for (let at = 0; at < units.length; at += 1) {
      const unit = units[at] ?? 0;
      if (onlyRefines && total[unit] === 0) continue;
      // What must not be shown doesn't recommend its neighbours either.
      if (excluded.size > 0 && excluded.has(unit)) continue;
      while ((segment.fileUnits[file + 1] ?? 0) <= unit) file += 1;
      touched[file] = 1;
      const mark = marks[at] ?? 1;
      const times = mark & 0x7f;
      const length = segment.unitLength[unit] ?? 1;
      const saturated =
        (times * (tuning.k1 + 1)) / (times + tuning.k1 * (1 - tuning.b + (tuning.b * length) / average));
      const isLabel = (mark & POSTING_LABEL) !== 0;
      const kind = segment.unitKind[unit];
      const plain = weight * saturated * scale * (kind === UNIT_NAME ? tuning.heading : 1);
      give(unit, isLabel ? plain * tuning.label : plain);
      // A heading begins another subject: no text spreads past it, only the file's name and the headings above.
      const from = segment.fileUnits[file] ?? 0;
      const to = segment.fileUnits[file + 1] ?? 0;
      let back = kind === UNIT_HEADING ? 0 : reach;
      for (let distance = 1; distance <= back && unit - distance >= from; distance += 1) {
        give(unit - distance, plain * (tuning.spread[distance - 1] ?? 0) * tuning.back);
        if (segment.unitKind[unit - distance] === UNIT_HEADING) back = 0;
      }
      for (let distance = 1; distance <= reach && unit + distance < to; distance += 1) {
        if (segment.unitKind[unit + distance] === UNIT_HEADING && kind === UNIT_TEXT) break;
        give(unit + distance, plain * (tuning.spread[distance - 1] ?? 0));
      }
    }
  }
  // Clears only what was touched: the scratch array is as long as the index.
  for (const { units } of hits) {
    let cleared = 0;
    for (const unit of units) {
      const to = Math.min(unit + reach + 1, own.length);
      for (let at = Math.max(cleared, unit - reach); at < to; at += 1) own[at] = 0;
      cleared = to;
    }
  }
}
