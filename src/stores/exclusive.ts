import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, link, open, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { syncDirectory } from "../shared/durable.ts";

/** Writes a new file to the disk itself; its name may still be lost in a power cut until its folder is synced. */
export async function writeNew(path: string, text: string): Promise<void> {
  const handle = await open(path, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } catch (error) {
    await unlink(path).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
}

/**
 * Gives a finished file a second name, unless that name is taken. One process of all wins, and nobody ever sees
 * half a file. Where the file system refuses hard links, an exclusive create is the next best: a crash in the
 * middle of it leaves a file that can't be read, which readers must allow for.
 */
export async function linkExclusive(finished: string, name: string): Promise<boolean> {
  try {
    await link(finished, name);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return false;
    if (!NO_LINKS.has(code)) throw error;
    try {
      await copyFile(finished, name, constants.COPYFILE_EXCL);
    } catch (second) {
      if (codeOf(second) === "EEXIST") return false;
      throw second;
    }
    const handle = await open(name, "r+");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
  await syncDirectory(dirname(name));
  return true;
}

/** A file that appears whole or not at all; false when the name is taken. */
export async function publishExclusive(path: string, text: string): Promise<boolean> {
  const finished = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  await writeNew(finished, text);
  try {
    return await linkExclusive(finished, path);
  } finally {
    await unlink(finished).catch(() => {});
  }
}

const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV", "EMLINK", "EINVAL"]);

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
