import type { HashTable } from "./hash-table.ts";

export interface SegmentFile {
  /** Relative to the memory root, forward slashes. */
  path: string;
  size: number;
  mtimeMs: number;
  /** Compared with the file's own at a scan; 0 where the file must be read again to know. */
  ctimeMs: number;
  /** Of the bytes that were indexed: what is shown must be what was ranked. */
  checksum: number;
  /** Days since 1970 of the date in the path, or `NO_DAY`. */
  day: number;
}

/** An immutable index of some files. Units are numbered through all files in order. */
export interface Segment {
  files: SegmentFile[];
  /** First unit of each file, and the unit count at the end. */
  fileUnits: Uint32Array;
  unitStart: Uint32Array;
  unitEnd: Uint32Array;
  unitKind: Uint8Array;
  /** UNIT_CONTINUES, UNIT_ASKS. */
  unitFlags: Uint8Array;
  /** Number of tokens, at most 255. */
  unitLength: Uint8Array;
  tokenCount: number;
  terms: HashTable;
  /** Where each term's postings begin in `postings`, and the end. */
  termOffset: Uint32Array;
  /** In how many units each term stands. */
  termUnits: Uint32Array;
  /** Terms that share their first letters, as circular lists: the next term of the same group. */
  termNext: Uint32Array;
  groups: HashTable;
  postings: Uint8Array;
}

export interface Postings {
  count: number;
  units: Uint32Array;
  /** Occurrences (low 7 bits) and POSTING_LABEL. */
  marks: Uint8Array;
}

/** Postings of one term; their form is described at PostingLists. */
export function readPostings(segment: Segment, term: number): Postings {
  const count = segment.termUnits[term] ?? 0;
  const units = new Uint32Array(count);
  const marks = new Uint8Array(count);
  const bytes = segment.postings;
  let at = segment.termOffset[term] ?? 0;
  let unit = 0;
  for (let index = 0; index < count; index += 1) {
    let byte = bytes[at++] ?? 0;
    let value = byte & 0x7f;
    let shift = 7;
    while (byte >= 0x80) {
      byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      shift += 7;
    }
    unit += value >>> 1;
    units[index] = unit;
    marks[index] = (value & 1) === 1 ? (bytes[at++] ?? 1) : 1;
  }
  return { count, units, marks };
}

/** Index of the file that holds the unit. */
export function fileOfUnit(segment: Segment, unit: number): number {
  let low = 0;
  let high = segment.files.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((segment.fileUnits[middle] ?? 0) <= unit) low = middle;
    else high = middle - 1;
  }
  return low;
}
