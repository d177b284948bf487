import { dateHints, dateTerms, type DateHint } from "./dates.ts";
import { thingsOf } from "./kinds.ts";
import { fold, termOf } from "./normalise.ts";
import { LIGHT_WORDS, stopWordsFor } from "./stop-words.ts";
import { synonymsOf } from "./synonyms.ts";
import { familyOf, hashTerm, type TermHash } from "./term-hash.ts";
import { tokenize } from "./tokenize.ts";

export interface QueryTerm extends TermHash {
  term: string;
  /** As written in the query. */
  word: string;
  /** Hash of the first letters, for words of the same family; absent for short words and dense scripts. */
  group?: TermHash;
  synonyms: readonly TermHash[];
  /** Things of the kind that the word names. */
  things: readonly TermHash[];
  /** The word and the one before or after it, written as one. */
  joined: readonly TermHash[];
  weight: number;
}

export interface Query {
  terms: QueryTerm[];
  /** Folded text that must be shown in a result's passage. */
  phrases: string[];
  /** By phrase: its words, all of which stand where it does. */
  phraseTerms: TermHash[][];
  /** By excluded word or phrase: a unit with all of its terms is never shown. */
  excluded: TermHash[][];
  dates: DateHint[];
}

const QUOTED = /(^|\s)(-?)["“”]([^"“”]+)["“”]/g;
const EXCLUDED = /(^|\s)-([\p{L}\p{N}][^\s]*)/gu;

interface Token {
  term: string;
  word: string;
  isWord: boolean;
}

/** Terms of any text as the index names them, in order, with repeats. */
export function termsOf(text: string): Token[] {
  const found: (Token & { start: number; end: number; single: boolean })[] = [];
  tokenize(text, 0, text.length, (start, end, kind) => {
    const word = text.slice(start, end);
    const term = kind === "word" ? termOf(word) : fold(word);
    found.push({ term, word, isWord: kind === "word", start, end, single: kind === "single" });
  });
  // A single character counts only where it's alone; within a run its pairs say more.
  return found.filter(
    (token) =>
      !token.single ||
      !found.some((other) => !other.single && other.start <= token.start && other.end >= token.end),
  );
}

export function parseQuery(text: string): Query {
  const phrases: string[] = [];
  const excludedTexts: string[] = [];
  let rest = text.replace(QUOTED, (_whole, _space: string, minus: string, phrase: string) => {
    if (minus === "-") {
      excludedTexts.push(phrase);
      return " ";
    }
    const folded = foldPhrase(phrase);
    if (folded !== "") phrases.push(folded);
    return ` ${phrase} `;
  });
  rest = rest.replace(EXCLUDED, (_whole, _space: string, word: string) => {
    excludedTexts.push(word);
    return " ";
  });

  const tokens = termsOf(rest);
  const words = tokens.map((token) => fold(token.word));
  const { stop, isEnglish } = stopWordsFor(words);
  const telling = tokens.filter((_token, at) => !stop.has(words[at] ?? ""));
  const asked = telling.length > 0 ? telling : tokens;
  const terms = new Map<string, QueryTerm>();
  for (const [at, { term, word, isWord }] of asked.entries()) {
    const known = terms.get(term);
    if (known) {
      known.weight += 0.5;
      continue;
    }
    const family = isWord ? familyOf(term) : undefined;
    terms.set(term, {
      term,
      word,
      ...hashTerm(term),
      ...(family === undefined ? {} : { group: hashTerm(family) }),
      synonyms: synonymsOf(term).map(hashTerm),
      things: thingsOf(term).map(hashTerm),
      joined: isWord ? joinedWith(word, asked[at - 1], asked[at + 1]) : [],
      weight: isEnglish && LIGHT_WORDS.has(term) ? 0.5 : 1,
    });
  }
  const dates = dateHints(rest);
  for (const term of dates.flatMap((hint) => dateTerms(hint).slice(-1)))
    terms.set(term, { term, word: "", ...hashTerm(term), synonyms: [], things: [], joined: [], weight: 1 });
  return {
    terms: [...terms.values()],
    phrases,
    phraseTerms: phrases.map(hashesOf),
    excluded: excludedTexts.map(hashesOf).filter((terms) => terms.length > 0),
    dates,
  };
}

function hashesOf(text: string): TermHash[] {
  return termsOf(text).map(({ term }) => hashTerm(term));
}

function joinedWith(word: string, before: Token | undefined, after: Token | undefined): TermHash[] {
  return [
    ...(before?.isWord === true ? [before.word + word] : []),
    ...(after?.isWord === true ? [word + after.word] : []),
  ]
    .filter((both) => !/['’ʼ]/.test(both))
    .map((both) => hashTerm(termOf(both)));
}

/** Phrases compare on folded words with single spaces, so that a line break or a comma doesn't hide one. */
export function foldPhrase(text: string): string {
  return fold(text)
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, " ")
    .trim();
}
