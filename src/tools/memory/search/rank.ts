import { dateFit } from "./dates.ts";
import type { Query, QueryTerm } from "./query.ts";
import { SegmentScores, termIds, type AskedTerm, type Relative } from "./segment-scores.ts";
import { fileOfUnit, type Segment } from "./segment.ts";
import { meantTerms } from "./spelling.ts";
import { hashTerm, type TermHash } from "./term-hash.ts";

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
  /** Another word with the same first letters or nearly the same spelling, relative to the word itself. */
  family: number;
  /** Up to this share more for a file whose date is the question's. */
  date: number;
  /** What a unit before the term gets, relative to one after it: an answer follows its question. */
  back: number;
  /** What a question gives to what follows it, relative to other text. */
  asked: number;
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
  asked: 1.3,
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
  /** Score of any unit, for growing snippets. Below zero where it holds a word that the query excludes. */
  scoreOf(segment: number, unit: number): number;
}

/** Files scored before the others are measured against them. */
const FIRST_FILES = 64;

/**
 * The best `limit` units. What a file's best unit can get at most is known from the postings alone, so only files that may
 * still hold one of the best units are scored.
 */
export function rank(
  corpus: Corpus,
  query: Query,
  limit: number,
  tuning: RankTuning = DEFAULT_TUNING,
): Ranking {
  const scores = scoresOf(corpus, query, tuning);
  const isWanted = (segment: number, unit: number): boolean => scores[segment]?.mayHoldPhrases(unit) ?? false;
  const best: Candidate[] = [];
  let floor = 0;
  const score = ({ segment, file }: BoundedFile): void => {
    const from = corpus.segments[segment]?.fileUnits[file] ?? 0;
    const values = scores[segment]?.scoresOfFile(file) ?? [];
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at] ?? 0;
      if (value > floor && isWanted(segment, from + at))
        best.push({ segment, unit: from + at, score: value });
    }
    if (best.length >= limit * 2) floor = cut(best, limit);
  };
  const first = boundedFiles(scores, 0, FIRST_FILES);
  for (const file of first) score(file);
  floor = cut(best, limit);
  const done = new Set(first.map(({ segment, file }) => `${segment}:${file}`));
  for (const file of boundedFiles(scores, floor)) {
    if (file.bound <= floor) break;
    if (!done.has(`${file.segment}:${file.file}`)) score(file);
  }
  cut(best, limit);
  const shown = new Map<string, Float64Array>();
  return {
    best,
    scoreOf(number, unit) {
      const segment = corpus.segments[number];
      if (!segment) return 0;
      const file = fileOfUnit(segment, unit);
      const key = `${number}:${file}`;
      const values = shown.get(key) ?? scores[number]?.scoresOfFile(file).slice() ?? new Float64Array(0);
      shown.set(key, values);
      return values[unit - (segment.fileUnits[file] ?? 0)] ?? 0;
    },
  };
}

function scoresOf(corpus: Corpus, query: Query, tuning: RankTuning): SegmentScores[] {
  let units = 0;
  let tokens = 0;
  for (const segment of corpus.segments) {
    units += segment.unitStart.length;
    tokens += segment.tokenCount;
  }
  const average = units === 0 ? 1 : Math.max(1, tokens / units);
  // Counted in all segments: a word is as rare as it is in the whole memory.
  const countOf = ({ low, high }: TermHash): number => {
    let count = 0;
    for (const segment of corpus.segments) {
      const id = segment.terms.get(low, high);
      if (id >= 0) count += segment.termUnits[id] ?? 0;
    }
    return count;
  };
  const rarity = (holding: number): number => Math.log(1 + (units - holding + 0.5) / (holding + 0.5));
  const asked = query.terms.map((term): AskedTerm => {
    const holding = countOf(term);
    // A word that stands nowhere itself is judged by its relatives, as a rare word.
    const idf = rarity(holding);
    const relatives = relativesOf(term, tuning, (other) => countOf(hashTerm(other)) > 0, holding === 0).map(
      // A common word doesn't become a rare one by being meant for it.
      (other) => ({ ...other, scale: other.scale * Math.min(1, rarity(countOf(other)) / idf) }),
    );
    const ids = corpus.segments.map((segment) => termIds(segment, term, tuning.family, relatives));
    let occurrences = 0;
    corpus.segments.forEach((segment, number) => {
      for (const { id } of ids[number] ?? []) occurrences += segment.termUnits[id] ?? 0;
    });
    const isCommon = occurrences > 50 && occurrences > units * tuning.spreadLimit;
    return { ids, weight: term.weight * idf, reach: isCommon ? 0 : tuning.spread.length };
  });
  return corpus.segments.map((segment, number) => {
    const boost = (file: number): number => {
      if (!corpus.isLive(number, file)) return 0;
      if (query.dates.length === 0) return 1;
      const day = segment.files[file]?.day ?? 0;
      return 1 + tuning.date * Math.max(...query.dates.map((hint) => dateFit(hint, day)));
    };
    return new SegmentScores(
      segment,
      number,
      asked,
      { excluded: query.excluded, required: query.phraseTerms },
      average,
      tuning,
      boost,
    );
  });
}

function relativesOf(
  term: QueryTerm,
  tuning: RankTuning,
  isKnown: (term: string) => boolean,
  isUnknown: boolean,
): Relative[] {
  const scaled = (others: readonly TermHash[], scale: number): Relative[] =>
    others.map(({ low, high }) => ({ low, high, scale }));
  return [
    ...scaled(term.synonyms, tuning.synonym),
    ...scaled(term.things, tuning.thing),
    ...scaled(term.joined, tuning.family),
    ...(isUnknown ? scaled(meantTerms(term, isKnown).map(hashTerm), tuning.family) : []),
  ];
}

interface BoundedFile {
  segment: number;
  file: number;
  /** No unit of the file scores more. */
  bound: number;
}

/** Files that may hold a unit above `floor`, the most promising first. */
function boundedFiles(scores: readonly SegmentScores[], floor: number, limit = Infinity): BoundedFile[] {
  const files: BoundedFile[] = [];
  const order = (one: BoundedFile, other: BoundedFile): number => other.bound - one.bound;
  let least = floor;
  scores.forEach(({ bounds }, segment) => {
    for (let file = 0; file < bounds.length; file += 1) {
      const bound = bounds[file] ?? 0;
      if (bound <= least) continue;
      files.push({ segment, file, bound });
      if (files.length < limit * 4) continue;
      files.sort(order).length = limit;
      least = files.at(-1)?.bound ?? 0;
    }
  });
  files.sort(order);
  if (files.length > limit) files.length = limit;
  return files;
}

/** Keeps the best `limit`, best first, ties by place so that the order never depends on the engine's sort. */
function cut(best: Candidate[], limit: number): number {
  best.sort((a, b) => b.score - a.score || a.segment - b.segment || a.unit - b.unit);
  if (best.length > limit) best.length = limit;
  return best.length < limit ? 0 : (best.at(-1)?.score ?? 0);
}
