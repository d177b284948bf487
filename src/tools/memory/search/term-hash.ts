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

/** Words at least this long share a group by their first letters: a stemmer for the languages that have none here. */
export const GROUP_PREFIX = 5;
