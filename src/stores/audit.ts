import { closeSync, fstatSync, openSync, writeSync } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, messageOf } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";

/** One line of the audit log. */
export interface AuditEntry {
  time: string;
  event: string;
  callId?: string;
  [key: string]: unknown;
}

/**
 * Append-only. `append` never throws. The entry is made when it is written, which is when the answer has gone out
 * already.
 */
export interface AuditStore {
  append(entry: () => AuditEntry): void;
  /** Resolves when all that was appended is in the file. */
  written(): Promise<void>;
  /** The same, and closes the file; it is opened again when needed. */
  flush(): Promise<void>;
}

interface OpenFile {
  file: number;
  ino: number;
  checkedAt: number;
}

/** How long a file that was rotated away is still written to, and how far past its size one may grow. */
const CHECK_MS = 250;

/** Lines that follow a write sooner than this are one write: a thousand calls a second are no thousand writes. */
const BURST_MS = 5;

const isFresh = ({ checkedAt }: OpenFile): boolean => performance.now() - checkedAt < CHECK_MS;

/**
 * JSON lines in one file that is opened to append, so that processes on the same home can share it. All lines of
 * one turn of the event loop, or of a few milliseconds of a burst, are one write, after the answers have gone out.
 * Past `maxBytes` the file is renamed to `.1`, the older ones move up, and the oldest goes.
 */
export function createFileAudit(options: {
  path: string;
  enabled: () => boolean;
  maxBytes: () => number;
  keep: () => number;
  log: Logger;
}): AuditStore {
  const { path, log } = options;
  let pending: (() => AuditEntry)[] = [];
  let writing: Promise<void> | undefined;
  let opened: OpenFile | undefined;
  let writtenAt = Number.NEGATIVE_INFINITY;
  let complained = false;

  const close = (): void => {
    const { file } = opened ?? {};
    opened = undefined;
    if (file !== undefined) closeSync(file);
  };

  const rotate = async (): Promise<void> => {
    const keep = options.keep();
    await rm(`${path}.${keep}`, { force: true });
    for (let index = keep - 1; index >= 1; index--)
      await moveIfThere(`${path}.${index}`, `${path}.${index + 1}`);
    if (keep > 0) await moveIfThere(path, `${path}.1`);
    else await rm(path, { force: true });
  };

  /** The file under the name, which another process may have rotated away or somebody removed. */
  const current = async (): Promise<number> => {
    const now = performance.now();
    const found = await stat(path).catch(() => undefined);
    const isFull = found !== undefined && found.size >= options.maxBytes();
    if (opened !== undefined && found?.ino === opened.ino && !isFull) {
      opened.checkedAt = now;
      return opened.file;
    }
    close();
    if (isFull) await rotate();
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = openSync(path, "a", 0o600);
    opened = { file, ino: fstatSync(file).ino, checkedAt: now };
    return file;
  };

  const drainPending = async (): Promise<void> => {
    while (pending.length > 0) {
      writtenAt = performance.now();
      const entries = pending;
      pending = [];
      try {
        const batch = entries.map((entry) => `${JSON.stringify(entry())}\n`).join("");
        appendWhole(opened !== undefined && isFresh(opened) ? opened.file : await current(), batch);
      } catch (error) {
        // A full disk must not stop the tools, but it must be said, once.
        if (!complained) log.error(`audit log can't be written: ${messageOf(error)}`);
        complained = true;
      }
    }
  };

  /** One after the other: two at once would open the file twice. */
  let drained = Promise.resolve();
  const drain = (): Promise<void> => (drained = drained.then(drainPending));

  return {
    append(entry) {
      if (!options.enabled()) return;
      pending.push(entry);
      writing ??= turn(performance.now() - writtenAt < BURST_MS)
        .then(drain)
        .finally(() => {
          writing = undefined;
        });
    },
    written: drain,
    async flush() {
      await drain();
      while (writing !== undefined) await writing;
      close();
    },
  };
}

function turn(isBurst: boolean): Promise<void> {
  return new Promise((resolve) => {
    if (isBurst) setTimeout(resolve, BURST_MS);
    else setImmediate(resolve);
  });
}

/**
 * At once: a line goes into the system's memory in a microsecond or two, and a thread to do it in would take thirty
 * times that, and a while longer in which a killed process loses the line.
 */
function appendWhole(file: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSync(file, bytes, written);
}

/** Another process may have rotated a moment ago: then there is nothing to move, and that is fine. */
async function moveIfThere(from: string, to: string): Promise<void> {
  await rename(from, to).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
}
