import { appendFile, mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Logger } from "../shared/log.ts";

/** One line of the audit log. */
export interface AuditEntry {
  time: string;
  event: string;
  callId?: string;
  [key: string]: unknown;
}

/** Append-only. `append` never waits for the disk and never throws; `flush` waits until all is written. */
export interface AuditStore {
  append(entry: AuditEntry): void;
  flush(): Promise<void>;
}

/**
 * JSON lines in one file, written in batches with O_APPEND, so that processes on the same home can share it.
 * Past `maxBytes` it is renamed to `.1`, the older ones move up, and the oldest goes.
 */
export function createFileAudit(options: {
  path: string;
  maxBytes: () => number;
  keep: () => number;
  log: Logger;
}): AuditStore {
  const { path, log } = options;
  let pending: string[] = [];
  let writing: Promise<void> | undefined;
  let complained = false;

  const rotate = async (): Promise<void> => {
    const size = await stat(path).then(
      (found) => found.size,
      () => 0,
    );
    if (size < options.maxBytes()) return;
    const keep = options.keep();
    await rm(`${path}.${keep}`, { force: true });
    for (let index = keep - 1; index >= 1; index--)
      await rename(`${path}.${index}`, `${path}.${index + 1}`).catch(() => {});
    // Another process may have rotated a moment ago: then there is nothing to move, and that is fine.
    if (keep > 0) await rename(path, `${path}.1`).catch(() => {});
    else await rm(path, { force: true });
  };

  const drain = async (): Promise<void> => {
    while (pending.length > 0) {
      const batch = pending.join("");
      pending = [];
      try {
        await rotate();
        await appendFile(path, batch, { mode: 0o600 });
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") {
          try {
            await mkdir(dirname(path), { recursive: true, mode: 0o700 });
            await appendFile(path, batch, { mode: 0o600 });
            continue;
          } catch (again) {
            error.cause = again;
          }
        }
        // A full disk must not stop the tools, but it must be said, once.
        if (!complained)
          log.error(`audit log can't be written: ${error instanceof Error ? error.message : String(error)}`);
        complained = true;
      }
    }
  };

  const schedule = (): void => {
    writing ??= new Promise<void>((resolve) => setImmediate(resolve)).then(drain).finally(() => {
      writing = undefined;
      if (pending.length > 0) schedule();
    });
  };

  return {
    append(entry) {
      pending.push(`${JSON.stringify(entry)}\n`);
      schedule();
    },
    async flush() {
      while (writing !== undefined) await writing;
    },
  };
}
