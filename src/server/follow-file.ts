import { existsSync, watch, type FSWatcher } from "node:fs";
import { basename, dirname, relative, sep } from "node:path";
import type { Clock } from "../shared/clock.ts";

/** One save makes several events; they become one notice. */
const SETTLE_MS = 50;
const RETRY_MS = 1_000;

/**
 * Calls `changed` when the file is made, changed, replaced or removed; returns how to stop. Its folder is watched
 * and not the file, since editors replace files and a watch on the old one sees nothing. Where the folder doesn't
 * exist yet, the deepest one that does is watched until it appears.
 */
export function followFile(path: string, clock: Clock, changed: () => void): () => void {
  let watcher: FSWatcher | undefined;
  let pending: { cancel(): void } | undefined;
  let retry: { cancel(): void } | undefined;
  const notice = (): void => {
    pending ??= clock.setTimeout(() => {
      pending = undefined;
      changed();
    }, SETTLE_MS);
  };
  const attach = (): void => {
    watcher?.close();
    const folder = deepestFolder(dirname(path));
    const step = relative(folder, path).split(sep)[0];
    watcher = watch(folder, { persistent: false }, (_, name) => {
      const moved = name === basename(folder) || deepestFolder(dirname(path)) !== folder;
      if (moved) attachAgain();
      if (moved || name === null || name === step) notice();
    });
    watcher.on("error", () => watcher?.close());
  };
  // The folder may go between the look and the watch; nobody is there to catch that inside an event.
  const attachAgain = (): void => {
    try {
      attach();
    } catch {
      retry = clock.setTimeout(attachAgain, RETRY_MS);
    }
  };
  attach();
  return () => {
    watcher?.close();
    pending?.cancel();
    retry?.cancel();
  };
}

function deepestFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : deepestFolder(dirname(folder));
}
