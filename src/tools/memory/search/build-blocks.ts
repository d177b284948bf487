import type { Skipped } from "./discover.ts";
import { encodeSegment } from "./persist.ts";
import { readTextSync } from "./read-text.ts";
import { SegmentBuilder } from "./segment-builder.ts";

export interface BuildRequest {
  root: string;
  paths: readonly string[];
}

/** What the builder tells as it goes on. */
export type BuildMessage =
  | { kind: "progress"; done: number }
  /** A finished segment, encoded, in shared memory. */
  | { kind: "block"; bytes: Uint8Array }
  | { kind: "unusable"; path: string; reason: keyof Skipped };

/** A segment takes this much text and no more: it bounds the builder's memory, whatever the memory's size. */
const BLOCK_CHARACTERS = 48_000_000;
const PROGRESS_EVERY = 250;

export function* buildBlocks({ root, paths }: BuildRequest): Generator<BuildMessage> {
  let builder = new SegmentBuilder();
  let size = 0;
  let count = 0;
  for (const [at, path] of paths.entries()) {
    const read = readTextSync(root, path);
    if (typeof read === "string") yield { kind: "unusable", path, reason: read };
    else {
      builder.add(read);
      size += read.text.length;
      count += 1;
    }
    if (size > BLOCK_CHARACTERS) {
      yield { kind: "block", bytes: encodeSegment(builder.finish()) };
      builder = new SegmentBuilder();
      size = 0;
      count = 0;
    }
    if ((at + 1) % PROGRESS_EVERY === 0) yield { kind: "progress", done: at + 1 };
  }
  if (count > 0) yield { kind: "block", bytes: encodeSegment(builder.finish()) };
  yield { kind: "progress", done: paths.length };
}
