import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { LARGEST_FILE } from "./discover.ts";
import type { SourceFile } from "./segment-builder.ts";

export type ReadResult = SourceFile | "too_large" | "not_text" | "unreadable";

/** A file changed this shortly before it was read may change again without its time telling. */
const RACY_MS = 50;
// O_NONBLOCK: a FIFO put in the file's place must not hang the search.
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The file as text with the stat of the very file that was read, or why it can't be searched. */
export async function readText(root: string, path: string): Promise<ReadResult> {
  try {
    const handle = await open(join(root, path), FLAGS);
    try {
      const before = await handle.stat();
      return refusal(before) ?? toSource(path, before, await handle.readFile());
    } finally {
      await handle.close();
    }
  } catch {
    return "unreadable";
  }
}

/** The same for the worker, where nobody waits for the thread and one call is much faster than four. */
export function readTextSync(root: string, path: string): ReadResult {
  try {
    const file = openSync(join(root, path), FLAGS);
    try {
      const before = fstatSync(file);
      return refusal(before) ?? toSource(path, before, readFileSync(file));
    } finally {
      closeSync(file);
    }
  } catch {
    return "unreadable";
  }
}

function refusal(stat: Stats): "unreadable" | "too_large" | undefined {
  if (!stat.isFile()) return "unreadable";
  return stat.size > LARGEST_FILE ? "too_large" : undefined;
}

function toSource(path: string, stat: Stats, bytes: Buffer): ReadResult {
  if (bytes.length > LARGEST_FILE) return "too_large";
  if (bytes.includes(0)) return "not_text";
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return "not_text";
  }
  const { size, mtimeMs, ctimeMs } = stat;
  const isRacy = Date.now() - ctimeMs < RACY_MS || bytes.length !== size;
  return { path, size, mtimeMs, ctimeMs: isRacy ? 0 : ctimeMs, checksum: crc32(bytes), text };
}
