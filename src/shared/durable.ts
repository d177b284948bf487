import * as nodeFs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { newId } from "./ids.ts";

/** The part of fs/promises that durable writing needs; tests pass one that fails or stops at a chosen step. */
export type DurableFs = Pick<typeof nodeFs, "open" | "rename" | "unlink" | "mkdir">;

export interface DurableOptions {
  /** Permission bits of the new file; state files are private to their owner unless said otherwise. */
  mode?: number;
  fs?: DurableFs;
}

/**
 * Replaces `path` so that a reader, a crash or a full disk sees all of the old file or all of the new one:
 * exclusive temp file beside it, fsync, rename, fsync of the directory. The temp file is removed on any error.
 */
export async function replaceFile(
  path: string,
  data: string | Uint8Array | readonly Uint8Array[],
  { mode = 0o600, fs = nodeFs }: DurableOptions = {},
): Promise<void> {
  const directory = dirname(path);
  await fs.mkdir(directory, { recursive: true, mode: 0o700 });
  const temporary = join(directory, `.${basename(path)}.${newId("new")}.tmp`);
  try {
    const handle = await fs.open(temporary, "wx", mode);
    try {
      for (const part of typeof data === "string" || data instanceof Uint8Array ? [data] : data)
        await handle.writeFile(part);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await fs.rename(temporary, path);
  } catch (error) {
    await fs.unlink(temporary).catch(() => {});
    throw error;
  }
  await syncDirectory(directory, fs);
}

/** Makes a rename survive a power cut. Windows can't open a directory, and needs no such step. */
export async function syncDirectory(directory: string, fs: Pick<DurableFs, "open"> = nodeFs): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await fs.open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
