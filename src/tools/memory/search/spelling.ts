import { fold, termOf } from "./normalise.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const PLAIN = /^[a-z]+$/;
/** Shorter words are one letter away from too many others. */
const SHORTEST = 5;
/** What is longer is no word that somebody misspelt, and has too many neighbours to try. */
const LONGEST = 30;
const SHORTEST_PART = 3;

/**
 * Known terms that an unknown word may be meant as: with one letter left out, put in, changed or swapped with the
 * next, before or after stemming, and both words of two written as one.
 */
export function meantTerms(
  { term, word }: { term: string; word: string },
  isKnown: (term: string) => boolean,
): string[] {
  const written = fold(word);
  if (term.length < SHORTEST || written.length > LONGEST || !PLAIN.test(term) || !PLAIN.test(written))
    return [];
  const meant = new Set<string>();
  for (const other of neighbours(term)) if (isKnown(other)) meant.add(other);
  // A slip in the ending spoils the stem: "educaton" has none of education's.
  if (meant.size === 0) {
    for (const other of neighbours(written)) {
      const stem = termOf(other);
      if (isKnown(stem)) meant.add(stem);
    }
  }
  for (let at = SHORTEST_PART; at <= written.length - SHORTEST_PART; at += 1) {
    const parts = [termOf(written.slice(0, at)), termOf(written.slice(at))];
    if (parts.every(isKnown)) for (const part of parts) meant.add(part);
  }
  return [...meant];
}

/** Every spelling one slip away. */
function* neighbours(word: string): Generator<string> {
  for (let at = 0; at <= word.length; at += 1) {
    const before = word.slice(0, at);
    const after = word.slice(at);
    const rest = after.slice(1);
    for (const letter of LETTERS) yield before + letter + after;
    if (after === "") continue;
    yield before + rest;
    for (const letter of LETTERS) yield before + letter + rest;
    if (rest !== "") yield `${before}${rest[0]}${after[0]}${rest.slice(1)}`;
  }
}
