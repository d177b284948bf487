import {
  appendFileSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Logger } from "../shared/log.ts";

/** One line of the audit log. */
export interface AuditEntry {
  time: string;
  event: string;
  callId?: string;
  [key: string]: unknown;
}

/**
 * Append-only. `append` never waits for the disk and never throws; `flush` waits until all is written. The entry is
 * made when it is written, which is when the answer has gone out already.
 */
export interface AuditStore {
  append(entry: () => AuditEntry): void;
  flush(): Promise<void>;
}

/** How long a file that was rotated away is still written to, and how far past its size one may grow. */
const CHECK_MS = 250;

/**
 * JSON lines in one file that is opened to append, so that processes on the same home can share it. All lines of
 * one turn of the event loop are one write. It is a synchronous one, into the system's cache: that takes a tenth
 * of what a trip through the thread pool costs every call, and a killed process loses nothing it has answered.
 * Past `maxBytes` the file is renamed to `.1`, the older ones move up, and the oldest goes.
 */
export function createFileAudit(options: {
  path: string;
  maxBytes: () => number;
  keep: () => number;
  log: Logger;
}): AuditStore {
  const { path, log } = options;
  let pending: (() => AuditEntry)[] = [];
  let scheduled: NodeJS.Immediate | undefined;
  let opened: { fd: number; ino: number; checkedAt: number } | undefined;
  let complained = false;

  const close = (): void => {
    if (opened !== undefined) closeSync(opened.fd);
    opened = undefined;
  };

  const rotate = (): void => {
    close();
    const keep = options.keep();
    rmSync(`${path}.${keep}`, { force: true });
    for (let index = keep - 1; index >= 1; index--) moveIfThere(`${path}.${index}`, `${path}.${index + 1}`);
    if (keep > 0) moveIfThere(path, `${path}.1`);
    else rmSync(path, { force: true });
  };

  /** The file under the name, which another process may have rotated away or somebody removed. */
  const open = (): number => {
    const now = performance.now();
    if (opened !== undefined && now - opened.checkedAt < CHECK_MS) return opened.fd;
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && found.size >= options.maxBytes()) rotate();
    else if (opened !== undefined && found?.ino === opened.ino) {
      opened.checkedAt = now;
      return opened.fd;
    }
    close();
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(path, "a", 0o600);
    opened = { fd, ino: fstatSync(fd).ino, checkedAt: now };
    return fd;
  };

  const drain = (): void => {
    if (scheduled !== undefined) clearImmediate(scheduled);
    scheduled = undefined;
    if (pending.length === 0) return;
    const batch = pending;
    pending = [];
    try {
      appendFileSync(open(), batch.map((entry) => `${JSON.stringify(entry())}\n`).join(""));
    } catch (error) {
      // A full disk must not stop the tools, but it must be said, once.
      if (!complained)
        log.error(`audit log can't be written: ${error instanceof Error ? error.message : String(error)}`);
      complained = true;
    }
  };

  return {
    append(entry) {
      pending.push(entry);
      scheduled ??= setImmediate(drain);
    },
    flush() {
      drain();
      close();
      return Promise.resolve();
    },
  };
}

/** Another process may have rotated a moment ago: then there is nothing to move, and that is fine. */
function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
