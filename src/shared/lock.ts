/**
 * A lock between processes: a file that appears finished (`link` of a complete file is atomic and exclusive) and
 * names its owner. A dead owner's lock is taken over. Who takes over holds a second lock named after the dead
 * owner's nonce meanwhile, so two processes never remove the same stale lock, nor one its successor's fresh one.
 */
import { link, mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { CamelError, codeOf } from "./errors.ts";

export interface LockOptions {
  clock: Clock;
  /** What a holder does, for the message: "applying a patch". */
  purpose: string;
  /** How long to wait for a living owner. */
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface Lock {
  release(): Promise<void>;
}

interface Owner {
  pid: number;
  /** Tells a process from a later one with the same pid; empty where the platform won't say. */
  started: string;
  host: string;
  nonce: string;
}

const POLL_MS = 20;

/** Calls of one process wait here, in order, instead of polling each other's file. */
const queues = new Map<string, Promise<void>>();

export async function acquireLock(path: string, options: LockOptions): Promise<Lock> {
  const before = queues.get(path) ?? Promise.resolve();
  let leave = (): void => {};
  const turn = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const tail = before.then(() => turn);
  queues.set(path, tail);
  const done = (): void => {
    leave();
    if (queues.get(path) === tail) queues.delete(path);
  };
  await before;
  try {
    const lock = await waitForFile(path, options);
    return {
      async release() {
        try {
          await lock.release();
        } finally {
          done();
        }
      },
    };
  } catch (error) {
    done();
    throw error;
  }
}

/** Runs `work` while no other process holds `path`. */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const lock = await acquireLock(path, options);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

async function waitForFile(path: string, { clock, timeoutMs, signal, purpose }: LockOptions): Promise<Lock> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const deadline = clock.monotonic() + timeoutMs;
  for (;;) {
    if (signal?.aborted === true)
      throw new CamelError("cancelled", "The call was cancelled while it waited.");
    const lock = await tryAcquire(path);
    if (lock !== undefined) return lock;
    if (clock.monotonic() >= deadline) {
      const owner = await readOwner(path);
      throw new CamelError(
        "busy",
        `Another process${owner === undefined ? "" : ` (pid ${owner.pid})`} is ${purpose}.`,
        { next: "Retry in a few seconds." },
      );
    }
    // Not the clock's timer, which lets the process end: a command that waits here still has work to do.
    await pause(POLL_MS);
  }
}

async function tryAcquire(path: string): Promise<Lock | undefined> {
  const nonce = process.getBuiltinModule("node:crypto").randomBytes(8).toString("hex");
  const owner: Owner = { pid: process.pid, started: await startOf(process.pid), host: hostname(), nonce };
  const finished = `${path}.${nonce}.tmp`;
  try {
    // On a full disk it is made, and stays empty.
    await writeFile(finished, JSON.stringify(owner), { flag: "wx", mode: 0o600 });
    await link(finished, path);
    return {
      async release() {
        if ((await readOwner(path))?.nonce === nonce) await unlink(path);
      },
    };
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await unlink(finished).catch(() => {});
  }
  const holder = await readOwner(path);
  if (holder === undefined || (await isAlive(holder))) return undefined;
  const guard = await tryAcquire(`${path}.${holder.nonce}`);
  if (guard === undefined) return undefined;
  try {
    if ((await readOwner(path))?.nonce === holder.nonce) await unlink(path).catch(() => {});
  } finally {
    await guard.release();
  }
  return tryAcquire(path);
}

async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof value !== "object" || value === null) return undefined;
    const { pid, started, host, nonce } = value as Partial<Owner>;
    if (typeof pid !== "number" || typeof nonce !== "string") return undefined;
    return { pid, started: started ?? "", host: host ?? "", nonce };
  } catch {
    return undefined;
  }
}

/** A process on another machine (shared home) can't be judged, so it counts as alive. */
async function isAlive(owner: Owner): Promise<boolean> {
  if (owner.host !== hostname()) return true;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
  const started = await startOf(owner.pid);
  return started === "" || owner.started === "" || started === owner.started;
}

const ownStart = new Map<number, Promise<string>>();

function startOf(pid: number): Promise<string> {
  if (pid !== process.pid) return readStart(pid);
  const known = ownStart.get(pid) ?? readStart(pid);
  ownStart.set(pid, known);
  return known;
}

async function readStart(pid: number): Promise<string> {
  if (process.platform === "linux") {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    // The program's name, in brackets, may itself hold blanks and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie holds nothing any more, though its pid still answers.
    return fields[0] === "Z" ? "dead" : (fields[19] ?? "");
  }
  if (process.platform === "win32") return "";
  return new Promise((resolve) => {
    // Loaded here, as most starts take no lock that needs it.
    process
      .getBuiltinModule("node:child_process")
      .execFile("ps", ["-o", "lstart=", "-p", String(pid)], { timeout: 2000 }, (error, stdout) => {
        resolve(error === null ? stdout.trim() : "");
      });
  });
}
