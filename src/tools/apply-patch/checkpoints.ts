/** Keeps the backups of past patches (see journal.ts) from filling the disk: the newest stay, within bounds. */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { journalPaths } from "./journal.ts";

interface CheckpointBounds {
  maxCount: number;
  maxBytes: number;
  maxAgeDays: number;
}

const CHECKPOINT_BOUNDS: CheckpointBounds = {
  maxCount: 200,
  maxBytes: 512 * 1024 * 1024,
  maxAgeDays: 30,
};

/** Other parts keep things in the same folder. */
const CHECKPOINT_ID = /^\d{8}T\d{9}-[0-9a-f]{8}$/;

/** The caller holds the lock. The newest one stays, whatever its size. */
export async function pruneCheckpoints(home: string, now: number, bounds = CHECKPOINT_BOUNDS): Promise<void> {
  const entries = await readdir(join(home, "checkpoints"), { withFileTypes: true }).catch(() => []);
  const unfinished = await readdir(journalPaths(home, "-").openDirectory).catch(() => []);
  const ids = entries
    .filter((entry) => entry.isDirectory() && CHECKPOINT_ID.test(entry.name))
    .map((entry) => entry.name)
    .filter((id) => !unfinished.some((name) => name.startsWith(id)))
    .sort()
    .reverse();
  let bytes = 0;
  let full = false;
  for (const [i, id] of ids.entries()) {
    const { blobs, directory } = journalPaths(home, id);
    if (!full) {
      const found = await stat(blobs).catch(() => undefined);
      bytes += found?.size ?? 0;
      const age = found === undefined ? 0 : now - found.mtimeMs;
      full =
        i > 0 && (i >= bounds.maxCount || bytes > bounds.maxBytes || age > bounds.maxAgeDays * 86_400_000);
    }
    if (full) await rm(directory, { recursive: true, force: true });
  }
}
