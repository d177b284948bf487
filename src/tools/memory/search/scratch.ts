import type { Segment } from "./segment.ts";

/** Arrays as long as a segment, all zero while nobody uses them: made once, not at every search. */
interface Scratch {
  own: Float32Array;
  total: Float32Array | undefined;
}

const scratches = new WeakMap<Segment, Scratch>();

export function scratchOf(segment: Segment): Scratch {
  const length = segment.unitStart.length;
  const known = scratches.get(segment) ?? { own: new Float32Array(length), total: new Float32Array(length) };
  scratches.set(segment, known);
  return known;
}

/** Gives the scores back. Another search that ran meanwhile made its own array, which is dropped. */
export function releaseScores(
  segment: Segment,
  total: Float32Array,
  touched: Uint8Array,
  excluded: Iterable<number>,
): void {
  for (let file = 0; file < touched.length; file += 1) {
    if (touched[file] === 1) total.fill(0, segment.fileUnits[file], segment.fileUnits[file + 1]);
  }
  for (const unit of excluded) total[unit] = 0;
  scratchOf(segment).total = total;
}
