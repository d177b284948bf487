/** The door to users' files for every tool that replaces or deletes: one writer at a time on a home. */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { systemClock, type Clock } from "../../shared/clock.ts";
import { acquireLock, withLock } from "../../shared/lock.ts";
import { indexBlobs, type Placed } from "./blobs.ts";
import { commitFiles, keepFiles, type PlannedFile } from "./commit.ts";
import { createDisk, type Disk } from "./disk.ts";
import { newCheckpointId, type Origin } from "./journal.ts";
import { isPruningDue, prune, type CheckpointBounds } from "./prune.ts";
import { recover } from "./recover.ts";

export interface WriteOptions {
  /** The state directory. */
  home: string;
  /** The workspace or memory folder: an existing folder that every file written lies in. */
  root: string;
  by: Origin;
  /** How much is kept; undefined: everything. */
  bounds?: CheckpointBounds;
  clock?: Clock;
  signal?: AbortSignal;
  disk?: Disk;
  /** Takes the work that goes on after the answer. Without it the caller waits for that work too. */
  later?: (work: Promise<void>) => void;
}

export interface FileWriter {
  /** The real path of the root. */
  root: string;
  /** What was found unfinished and set right before. */
  recovered: string[];
  /** All of it or nothing. Returns the id of the checkpoint that leads back. */
  commit: (
    files: readonly PlannedFile[],
    progress?: (done: number, total: number) => void,
  ) => Promise<string>;
  /** Writes no file: keeps the old state of files that a tool is about to write by itself. See snapshot.ts. */
  keep: (files: readonly PlannedFile[]) => Promise<string>;
}

const LOCK_WAIT_MS = 20_000;
const PRUNE_WAIT_MS = 2_000;

/** Nobody else writes while `work` runs: what it reads is what it replaces. */
export async function writeFiles<T>(
  options: WriteOptions,
  work: (writer: FileWriter) => Promise<T>,
): Promise<T> {
  const { home, clock = systemClock, disk = createDisk(), signal } = options;
  const lock = await acquireLock(lockFile(home), {
    clock,
    timeoutMs: LOCK_WAIT_MS,
    purpose: "writing files",
    ...(signal === undefined ? {} : { signal }),
  });
  const done: Done[] = [];
  try {
    const root = await realpath(options.root);
    const recovered = await recover(home, disk, root);
    const checkpointed = async (
      write: typeof commitFiles,
      files: readonly PlannedFile[],
      progress?: (done: number, total: number) => void,
    ): Promise<string> => {
      const createdAt = new Date(clock.now()).toISOString();
      const id = newCheckpointId(createdAt);
      const places = await write(files, {
        home,
        root,
        id,
        createdAt,
        by: options.by,
        disk,
        ...(signal === undefined ? {} : { signal }),
        ...(progress === undefined ? {} : { progress }),
      });
      const bytes = files.reduce((sum, { before }) => sum + (before?.bytes.length ?? 0), 0);
      done.push({ id, places, bytes });
      return id;
    };
    return await work({
      root,
      recovered,
      commit: (files, progress) => checkpointed(commitFiles, files, progress),
      keep: (files) => checkpointed(keepFiles, files),
    });
  } finally {
    await lock.release();
    if (done.length > 0) {
      const housekeeping = keepHouse(home, done, options.bounds, clock);
      if (options.later === undefined) await housekeeping;
      else options.later(housekeeping);
    }
  }
}

interface Done {
  id: string;
  places: Placed["places"];
  bytes: number;
}

async function keepHouse(
  home: string,
  done: readonly Done[],
  bounds: CheckpointBounds | undefined,
  clock: Clock,
): Promise<void> {
  try {
    for (const { id, places } of done) await indexBlobs(home, id, places);
    const added = done.reduce((sum, { bytes }) => sum + bytes, 0);
    if (bounds === undefined || !(await isPruningDue(home, added, bounds, clock.now()))) return;
    await withLock(
      lockFile(home),
      { clock, timeoutMs: PRUNE_WAIT_MS, purpose: "removing old checkpoints" },
      () => prune(home, bounds, clock.now()),
    );
  } catch {
    // Busy, or a file that can't be removed: it stays due, and the next change tries again.
  }
}

/** Sets right what a dead process left, without writing anything else: for the start of a server. */
export async function recoverWrites(
  home: string,
  clock: Clock = systemClock,
  disk: Disk = createDisk(),
  timeoutMs = LOCK_WAIT_MS,
): Promise<string[]> {
  return withLock(lockFile(home), { clock, timeoutMs, purpose: "writing files" }, () => recover(home, disk));
}

function lockFile(home: string): string {
  return join(home, "locks", "files.lock");
}
