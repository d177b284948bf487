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
import { codeOf } from "../shared/errors.ts";

/**
 * Small files that appear whole and once. Opening, writing and linking a few hundred bytes is done at once: a
 * detour through the thread pool takes longer than the step itself, and a thousand jobs may be due together. Only
 * waiting for the disk is left to the pool.
 */
const flush = promisify(fsync);
const flushData = promisify(fdatasync);

/** Writes a new file to the disk itself; its name may still be lost in a power cut until its folder is synced. */
async function writeNew(path: string, text: string): Promise<void> {
  writeQuickly(path, text);
  try {
    await burstIsOver();
    await syncData(path);
  } catch (error) {
    removeFile(path);
    throw error;
  }
}

/** A new file that may be lost, or cut off, in a power cut until it is synced. */
export function writeQuickly(path: string, text: string): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeSync(file, text);
  } catch (error) {
    removeFile(path);
    throw error;
  } finally {
    closeSync(file);
  }
}

async function syncData(path: string): Promise<void> {
  const file = openSync(path, "r+");
  try {
    await flushData(file);
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
  const made = nameOnce(finished, name);
  if (made === "taken") return false;
  if (made === "copied") await syncData(name);
  await syncFolder(dirname(name));
  return true;
}

/**
 * Writes a file and gives it its name: of many processes that race for a name, only the one that gets it has to
 * wait for the disk, by `syncNamed`. A power cut before that may leave a name with nothing behind it.
 */
export function raceForName(finished: string, text: string, name: string): boolean {
  writeQuickly(finished, text);
  return nameOnce(finished, name) !== "taken";
}

/** Brings a file that was made quickly, and its name, to the disk itself. One that is gone by now needs nothing. */
export async function syncNamed(path: string): Promise<void> {
  await burstIsOver();
  try {
    await Promise.all([syncData(path), syncFolder(dirname(path))]);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

function nameOnce(finished: string, name: string): "linked" | "copied" | "taken" {
  try {
    linkSync(finished, name);
    return "linked";
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return "taken";
    if (!NO_LINKS.has(code)) throw error;
  }
  try {
    copyFileSync(finished, name, constants.COPYFILE_EXCL);
    return "copied";
  } catch (error) {
    if (codeOf(error) === "EEXIST") return "taken";
    throw error;
  }
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

const LONGEST_BURST_MS = 250;
let burst: Promise<void> | undefined;
let asked = 0;

/**
 * File systems make new files wait while they sync others: with a thousand jobs due together, all are written first
 * and then synced together, which takes a fraction of the time of doing so in turns. A burst is over when a turn of
 * the event loop has brought nobody new; it never lasts longer than a moment.
 */
function burstIsOver(): Promise<void> {
  asked++;
  burst ??= new Promise((resolve) => {
    const began = performance.now();
    let seen = -1;
    const look = (): void => {
      if (asked !== seen && performance.now() - began < LONGEST_BURST_MS) {
        seen = asked;
        setImmediate(look);
        return;
      }
      burst = undefined;
      resolve();
    };
    setImmediate(look);
  });
  return burst;
}

const waiting = new Map<string, Promise<void>>();
const running = new Map<string, Promise<void>>();

/** All who ask while one sync of a folder runs share the next: it covers what each of them did before asking. */
export function syncFolder(folder: string): Promise<void> {
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
