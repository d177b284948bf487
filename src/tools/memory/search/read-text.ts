import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { LARGEST_FILE } from "./discover.ts";
import type { SourceFile } from "./segment-builder.ts";

export type ReadResult = SourceFile | "too_large" | "not_text" | "unreadable";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The file as text with the stat of the very file that was read, or why it can't be searched. */
export async function readText(root: string, path: string): Promise<ReadResult> {
  try {
    // O_NONBLOCK: a FIFO put in the file's place must not hang the search.
    const handle = await open(
      join(root, path),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    try {
      const before = await handle.stat();
      if (!before.isFile()) return "unreadable";
      if (before.size > LARGEST_FILE) return "too_large";
      const bytes = await handle.readFile();
      if (bytes.includes(0)) return "not_text";
      return { path, size: before.size, mtimeMs: before.mtimeMs, text: decoder.decode(bytes) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return error instanceof TypeError ? "not_text" : "unreadable";
  }
}
