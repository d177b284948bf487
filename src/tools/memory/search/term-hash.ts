/** Terms are known by two 32-bit hashes instead of strings: an index then loads without building a dictionary. */
export interface TermHash {
  low: number;
  high: number;
}

export function hashTerm(term: string): TermHash {
  let low = 0x811c9dc5;
  let high = 0x9e3779b9;
  for (let at = 0; at < term.length; at += 1) {
    const code = term.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b);
    high ^= high >>> 15;
  }
  return { low: low >>> 0, high: high >>> 0 };
}

const LATIN_PREFIX = 5;
/** Cyrillic, Greek, Arabic, ... words change more of themselves, and none is stemmed. */
const OTHER_PREFIX = 4;
const FIRST_OTHER = 0x370;

/** The first letters, which words of one family share: a stemmer for the languages that have none here. Undefined for short words. */
export function familyOf(term: string): string | undefined {
  const length = term.charCodeAt(0) < FIRST_OTHER ? LATIN_PREFIX : OTHER_PREFIX;
  return term.length < length ? undefined : term.slice(0, length);
}
