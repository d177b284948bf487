import { termOf } from "./normalise.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const PLAIN = /^[a-z]+$/;
/** Shorter words are one letter away from too many others. */
const SHORTEST = 5;
const SHORTEST_PART = 3;

/**
 * Known terms that an unknown one may be meant as: with one letter left out, put in, changed or swapped with the
 * next, and both words of two written as one.
 */
export function meantTerms(term: string, isKnown: (term: string) => boolean): string[] {
  if (term.length < SHORTEST || !PLAIN.test(term)) return [];
  const meant = new Set<string>();
  const consider = (other: string): void => {
    if (isKnown(other)) meant.add(other);
  };
  for (let at = 0; at <= term.length; at += 1) {
    const before = term.slice(0, at);
    const after = term.slice(at);
    const rest = after.slice(1);
    for (const letter of LETTERS) consider(before + letter + after);
    if (after === "") continue;
    consider(before + rest);
    for (const letter of LETTERS) consider(before + letter + rest);
    if (rest !== "") consider(`${before}${rest[0]}${after[0]}${rest.slice(1)}`);
    if (before.length < SHORTEST_PART || after.length < SHORTEST_PART) continue;
    const parts = [termOf(before), termOf(after)];
    if (parts.every(isKnown)) for (const part of parts) meant.add(part);
  }
  return [...meant];
}
