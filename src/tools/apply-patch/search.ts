import { CamelError } from "../../shared/errors.ts";

/** Ascending line indexes. Typed, so that a narrower range of them is a view and costs nothing. */
export type Hits = Int32Array;

/** More places than this, over all hunks, is no patch that anybody means. */
const MAX_HITS = 4_000_000;

/**
 * Finds every occurrence of many line sequences in one pass (Aho-Corasick over interned lines): time grows with
 * file plus patch, not with their product, whatever the lines repeat.
 */
export function findAll(lines: readonly string[], patterns: readonly (readonly string[])[]): Hits[] {
  const ids = new Map<string, number>();
  const results: number[][] = [];
  let left = Math.max(MAX_HITS, 2 * lines.length);
  // State 0 is the root. Most states have one child, kept inline; the others' further children go to the map.
  const onlyLabel: number[] = [-1];
  const onlyChild: number[] = [0];
  const more = new Map<number, Map<number, number>>();
  const rootChild: number[] = [];
  const output: (number[] | undefined)[] = [undefined];
  const lengthOf: number[] = [];

  const child = (state: number, id: number): number => {
    if (state === 0) return rootChild[id] ?? 0;
    if (onlyLabel[state] === id) return onlyChild[state] ?? 0;
    return more.get(state)?.get(id) ?? 0;
  };

  const parent: number[] = [0];
  const label: number[] = [-1];
  for (const pattern of patterns) {
    let state = 0;
    for (const line of pattern) {
      let id = ids.get(line);
      if (id === undefined) {
        id = ids.size;
        ids.set(line, id);
        rootChild.push(0);
      }
      let next = child(state, id);
      if (next === 0) {
        next = onlyLabel.length;
        onlyLabel.push(-1);
        onlyChild.push(0);
        output.push(undefined);
        parent.push(state);
        label.push(id);
        if (state === 0) rootChild[id] = next;
        else if (onlyLabel[state] === -1) {
          onlyLabel[state] = id;
          onlyChild[state] = next;
        } else {
          const extra = more.get(state) ?? new Map<number, number>();
          extra.set(id, next);
          more.set(state, extra);
        }
      }
      state = next;
    }
    // Equal patterns share one list of hits.
    const shared = output[state]?.[0];
    const own = shared === undefined ? [] : (results[shared] ?? []);
    if (shared === undefined) output[state] = [results.length];
    lengthOf.push(pattern.length);
    results.push(own);
  }

  const { fail, report } = links(onlyLabel.length, parent, label, child, output);
  let state = 0;
  for (let i = 0; i < lines.length; i++) {
    const id = ids.get(lines[i] ?? "");
    if (id === undefined) {
      state = 0;
      continue;
    }
    let next = child(state, id);
    while (next === 0 && state !== 0) {
      state = fail[state] ?? 0;
      next = child(state, id);
    }
    state = next;
    for (
      let at = output[state] === undefined ? (report[state] ?? 0) : state;
      at !== 0;
      at = report[at] ?? 0
    ) {
      const pattern = output[at]?.[0];
      if (pattern === undefined) continue;
      if (--left < 0) throw tooManyPlaces();
      results[pattern]?.push(i - (lengthOf[pattern] ?? 0) + 1);
    }
  }
  const shared = new Map<number[], Hits>();
  return results.map((hits) => {
    const known = shared.get(hits) ?? Int32Array.from(hits);
    shared.set(hits, known);
    return known;
  });
}

/** How many of the ascending `hits` are below `value`. */
export function countBelow(hits: Hits, value: number): number {
  let low = 0;
  let high = hits.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((hits[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function tooManyPlaces(): CamelError {
  return new CamelError("patch_ambiguous", "The old lines of the hunks stand at millions of places.", {
    next: "Quote lines around each place that stand only there, and send the whole patch again.",
  });
}

/** Failure links, and for each state the nearest shorter state that ends a pattern. Parents precede children by depth. */
function links(
  count: number,
  parent: readonly number[],
  label: readonly number[],
  child: (state: number, id: number) => number,
  output: readonly (number[] | undefined)[],
): { fail: Int32Array; report: Int32Array } {
  const fail = new Int32Array(count);
  const report = new Int32Array(count);
  const depth = new Int32Array(count);
  const byDepth: number[][] = [];
  for (let state = 1; state < count; state++) {
    const level = (depth[parent[state] ?? 0] ?? 0) + 1;
    depth[state] = level;
    (byDepth[level] ??= []).push(state);
  }
  for (const states of byDepth) {
    for (const state of states ?? []) {
      const up = parent[state] ?? 0;
      const id = label[state] ?? -1;
      if (up !== 0) {
        let back = fail[up] ?? 0;
        let target = child(back, id);
        while (target === 0 && back !== 0) {
          back = fail[back] ?? 0;
          target = child(back, id);
        }
        fail[state] = target;
      }
      const link = fail[state] ?? 0;
      report[state] = output[link] === undefined ? (report[link] ?? 0) : link;
    }
  }
  return { fail, report };
}
