import type { Segment } from "../search/segment.ts";
import { UNIT_TEXT } from "../search/units.ts";

/** Neighbouring units that are embedded together. Numbers count from the file's first unit. */
export interface Chunk {
  first: number;
  last: number;
}

const CHUNK_LENGTH = 600;

/** Cuts a file at headings and after about 600 characters: a sentence alone says too little to a model. */
export function chunksOf(segment: Segment, file: number): Chunk[] {
  const from = segment.fileUnits[file] ?? 0;
  const to = segment.fileUnits[file + 1] ?? from;
  const chunks: Chunk[] = [];
  let open: Chunk | undefined;
  for (let unit = from; unit < to; unit += 1) {
    if (segment.unitKind[unit] !== UNIT_TEXT) {
      open = undefined;
      continue;
    }
    const size = (segment.unitEnd[unit] ?? 0) - (segment.unitStart[from + (open?.first ?? 0)] ?? 0);
    if (open === undefined || size > CHUNK_LENGTH) {
      open = { first: unit - from, last: unit - from };
      chunks.push(open);
    } else open.last = unit - from;
  }
  return chunks;
}
