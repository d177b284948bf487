import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  copyFileSync,
  fdatasync,
  fsync,
  linkSync,
  openSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

/**
 * Small files that appear whole and once. Opening, writing and linking a few hundred bytes is done at once: a
 * detour through the thread pool takes longer than the step itself, and a thousand jobs may be due together. Only
 * waiting for the disk is left to the pool.
 */
const flush = promisify(fsync);
const flushData = promisify(fdatasync);

/** Writes a new file to the disk itself; its name may still be lost in a power cut until its folder is synced. */
export async function writeNew(path: string, text: string): Promise<void> {
  const file = openSync(path, "wx", 0o600);
  try {
    writeSync(file, text);
    await flushData(file);
  } catch (error) {
    removeFile(path);
    throw error;
  } finally {
    closeSync(file);
  }
}

/**
 * Gives a finished file a second name, unless that name is taken. One process of all wins, and nobody ever sees
 * half a file. Where the file system refuses hard links, an exclusive create is the next best: a crash in the
 * middle of it leaves a file that can't be read, which readers must allow for.
 */
export async function linkExclusive(finished: string, name: string): Promise<boolean> {
  try {
    linkSync(finished, name);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return false;
    if (!NO_LINKS.has(code)) throw error;
    if (!(await copyExclusive(finished, name))) return false;
  }
  await syncFolder(dirname(name));
  return true;
}

async function copyExclusive(finished: string, name: string): Promise<boolean> {
  try {
    copyFileSync(finished, name, constants.COPYFILE_EXCL);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
  const file = openSync(name, "r+");
  try {
    await flushData(file);
  } finally {
    closeSync(file);
  }
  return true;
}

/** A file that appears whole or not at all; false when the name is taken. */
export async function publishExclusive(path: string, text: string): Promise<boolean> {
  const finished = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  await writeNew(finished, text);
  try {
    return await linkExclusive(finished, path);
  } finally {
    removeFile(finished);
  }
}

export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone, and that is what was wanted.
  }
}

const waiting = new Map<string, Promise<void>>();
const running = new Map<string, Promise<void>>();

/** All who ask while one sync of a folder runs share the next: it covers what each of them did before asking. */
function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return Promise.resolve();
  const next = waiting.get(folder);
  if (next !== undefined) return next;
  const current = running.get(folder);
  if (current === undefined) return beginSync(folder);
  const queued = current
    .catch(() => {})
    .then(() => {
      waiting.delete(folder);
      return beginSync(folder);
    });
  waiting.set(folder, queued);
  return queued;
}

function beginSync(folder: string): Promise<void> {
  const sync = (async () => {
    const handle = openSync(folder, "r");
    try {
      await flush(handle);
    } finally {
      closeSync(handle);
    }
  })().finally(() => {
    if (running.get(folder) === sync) running.delete(folder);
  });
  running.set(folder, sync);
  return sync;
}

const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV", "EMLINK", "EINVAL"]);

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
