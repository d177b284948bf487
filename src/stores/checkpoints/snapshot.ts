/**
 * For tools that write by themselves: what they say they will replace or delete is kept before they run, and what
 * became of it is recorded after. If the process dies in between, the record stands without an "after": then every
 * file counts as edited since, and a restore asks for force.
 */
import { lstat, readFile, unlink } from "node:fs/promises";
import { replaceFile } from "../../shared/durable.ts";
import { containedPath } from "../../shared/paths.ts";
import { stored, type FileContent } from "./commit.ts";
import { foreignOwner } from "./disk.ts";
import { isMissing, journalPaths } from "./journal.ts";
import { readRecord } from "./records.ts";
import { writeFiles, type WriteOptions } from "./write-files.ts";

export interface Snapshot {
  id: string;
  /** Files that were too large or too many to keep. */
  skipped: string[];
  /** After the tool: files it didn't change leave the checkpoint, and one without files goes. */
  finish(): Promise<void>;
}

const MOST_FILES = 500;
const MOST_BYTES = 64_000_000;

/** Undefined where none of the paths is a file, or could become one, below the root. */
export async function takeSnapshot(
  paths: readonly string[],
  options: WriteOptions,
): Promise<Snapshot | undefined> {
  return writeFiles(options, async (writer) => {
    const files = new Map<string, FileContent | undefined>();
    const skipped: string[] = [];
    let left = MOST_BYTES;
    for (const requested of paths) {
      const path = await containedPath(writer.root, requested, {
        rootName: "the workspace",
        allowAbsolute: true,
      }).catch(() => undefined);
      if (path === undefined || files.has(path)) continue;
      const found = await stateOf(path, left);
      if (found === "other") continue;
      if (found === "large" || files.size >= MOST_FILES) {
        skipped.push(path);
        continue;
      }
      left -= found?.bytes.length ?? 0;
      files.set(path, found);
    }
    if (files.size === 0) return undefined;
    const id = await writer.keep([...files].map(([path, before]) => ({ path, before, after: undefined })));
    return { id, skipped, finish: () => finish(id, options) };
  });
}

async function finish(id: string, options: WriteOptions): Promise<void> {
  await writeFiles(options, async () => {
    const { kept } = journalPaths(options.home, id);
    const record = await readRecord(options.home, id);
    if (record === undefined) return;
    const entries: typeof record.entries = [];
    for (const { path, before } of record.entries) {
      const now = await stateOf(path, MOST_BYTES);
      const after = now === undefined || typeof now === "string" ? undefined : stored(now);
      const isSame = after?.sha256 === before?.sha256 && after?.mode === before?.mode;
      if (!isSame || typeof now === "string") entries.push({ path, before, after });
    }
    if (entries.length === 0) await unlink(kept);
    else await replaceFile(kept, JSON.stringify({ ...record, entries }));
  });
}

async function stateOf(path: string, most: number): Promise<FileContent | "other" | "large" | undefined> {
  try {
    const found = await lstat(path);
    if (!found.isFile()) return "other";
    if (found.size > most) return "large";
    return { bytes: await readFile(path), mode: found.mode & 0o7777, owner: foreignOwner(found) };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
