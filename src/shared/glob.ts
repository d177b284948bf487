/**
 * Matches a plain name (a tool, an agent, a client) with `*` and `?` only. Path globs are picomatch's job. Not with an
 * expression: one with many stars takes longer than anybody waits, and a repository's config may bring it.
 */
export function matchesName(pattern: string, name: string): boolean {
  let at = 0;
  let inPattern = 0;
  /** The last star, and how far it reaches: where the rest doesn't fit, it takes one character more. */
  let star = -1;
  let reach = 0;
  while (at < name.length) {
    const wanted = pattern[inPattern];
    if (wanted === "*") {
      star = inPattern++;
      reach = at;
    } else if (wanted === "?") {
      at += widthAt(name, at);
      inPattern += 1;
    } else if (wanted === name[at]) {
      at += 1;
      inPattern += 1;
    } else if (star >= 0) {
      reach += widthAt(name, reach);
      at = reach;
      inPattern = star + 1;
    } else return false;
  }
  while (pattern[inPattern] === "*") inPattern += 1;
  return inPattern === pattern.length;
}

/** Some characters take two places. */
function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

/** A path as a pattern that matches only itself: a folder may be called `a[b]`. */
export function literalPath(path: string): string {
  return path.replaceAll("\\", "/").replace(/[*?[\]{}()!@+|]/g, "\\$&");
}

/** The candidate nearest to `word` by edit distance, if it is near enough to be a slip of the finger. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Two neighbouring letters swapped count as one slip, as they are the commonest. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      current.push(
        Math.min(
          substitution,
          (last[j] ?? 0) + 1,
          (current[j - 1] ?? 0) + 1,
          swapped ? (beforeLast[j - 2] ?? 0) + 1 : Infinity,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
