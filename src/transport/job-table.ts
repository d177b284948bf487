import { watch, type FSWatcher } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { createBreath } from "../shared/breath.ts";
import { messageOf } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import type { Job } from "../stores/jobs.ts";
import type { ExpectedRun } from "../stores/ready.ts";
import { findJob, scheduleOf, type JobBook } from "../tools/cron/all-jobs.ts";
import { nextDue, type Progress } from "../tools/cron/plan.ts";
import { runnerNameOf } from "../tools/cron/runner-name.ts";
import { Heap } from "./heap.ts";

/** Only what the timer needs; prompts stay on disk, so that a hundred thousand jobs fit in memory. */
export interface Entry {
  id: string;
  uid: string;
  due: number | undefined;
  /** Of one that needs a process of its own. */
  workspace?: string | undefined;
}

/** The jobs of all sources and when each is due, kept up with what other processes do to them. */
export interface JobTable {
  /** Reads what has changed since the last time, or the next part of it; true when there is more to read. */
  refresh(): Promise<boolean>;
  /** Takes out what is due, at most so many. Each has to be put back, delayed or forgotten. */
  takeDue(most: number): Entry[];
  /** Runs that need a process of their own and are due soon; each is told once. */
  takeExpected(): ExpectedRun[];
  put(job: Job, progress: Progress | undefined): void;
  /** Puts a job back that is due, but not now. */
  delay(entry: Entry): void;
  /** Reads the job's chain and puts it back. */
  learn(job: Job): Promise<void>;
  forget(id: string): void;
  /** When there is something to do next. */
  next(): number | undefined;
  state(): { jobs: number; next: number | undefined };
  close(): void;
}

export interface JobTableOptions {
  book: JobBook;
  log: Logger;
  /** The jobs have changed, and should be looked at. */
  onChange: () => void;
  /** A job has claims without a result, which somebody should look after. */
  onUnfinished: () => void;
}

const RESCAN_MS = 60_000;
/** Between the parts of a hundred thousand jobs, those that were read may fire. */
const READ_AT_ONCE = 500;
const RETRY_MS = 1_000;
const GET_READY_MS = 2_000;
/** Folder times may be as coarse as this. */
const COARSE_MS = 2_000;

export function createJobTable({ book, log, onChange, onUnfinished }: JobTableOptions): JobTable {
  const { store, clock, settings } = book;
  const folder = join(store.directory, "jobs");
  const entries = new Map<string, Entry>();
  const heap = new Heap<Entry>();
  /** Runs that need a process, some time before they are due. */
  const expected = new Heap<Entry>();
  /** One string for all jobs of a folder: there may be a hundred thousand. */
  const workspaces = new Map<string | undefined, string | undefined>();
  const dirty = new Set<string>();
  let watcher: FSWatcher | undefined;
  let seen: { mark: string; at: number; config: string } | undefined;

  const put = (job: Job, progress: Progress | undefined): void => {
    const due = nextDue(job, scheduleOf(job), progress);
    const known = entries.get(job.id);
    if (known !== undefined && known.uid === job.uid && known.due === due) return;
    const entry: Entry = { id: job.id, uid: job.uid, due };
    entries.set(job.id, entry);
    if (due === undefined) return;
    heap.push(due, entry);
    if (runnerNameOf(job, settings()) === "host") return;
    entry.workspace = workspaces.get(job.workspace) ?? job.workspace;
    workspaces.set(job.workspace, entry.workspace);
    expected.push(due - GET_READY_MS, entry);
  };

  const learn = async (job: Job): Promise<void> => {
    try {
      const { newest, unfinished } = await store.runs.chain(job);
      for (const seq of unfinished) await store.runs.reactivate(job, seq);
      if (unfinished.length > 0) onUnfinished();
      put(job, newest);
    } catch (error) {
      log.warn(`cron: ${job.id}: ${messageOf(error)}`);
    }
  };

  const watchFolder = (): void => {
    if (watcher !== undefined) return;
    try {
      watcher = watch(folder, { persistent: false }, (_, name) => {
        const id = name?.endsWith(".json") === true && !name.startsWith(".") ? name.slice(0, -5) : undefined;
        if (id !== undefined) dirty.add(id);
        else if (name === null) seen = undefined;
        else return;
        onChange();
      });
      // What changed before there was a watch was not seen.
      seen = undefined;
      watcher.on("error", () => {
        watcher?.close();
        watcher = undefined;
        seen = undefined;
      });
    } catch {
      // No folder yet, or no more watches to be had: the folder's mark tells of changes within one sleep.
      watcher = undefined;
    }
  };

  const readAll = async (mark: string, config: string): Promise<boolean> => {
    // First of all: what can't be read now is read again at the next turn.
    const found = await store.jobs.ids();
    dirty.clear();
    const changed = await stat(folder).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
    // A change right after this one could leave the same mark: then it is read once more.
    const isCertain = clock.now() - changed >= COARSE_MS;
    seen = { mark: isCertain ? mark : `${mark}?`, at: clock.monotonic(), config };
    // One after another and not all in memory: there may be a hundred thousand.
    for (const id of [...entries.keys(), ...found]) dirty.add(id);
    for (const job of settings().cron.jobs) dirty.add(job.id);
    return readChanged();
  };

  const readChanged = async (): Promise<boolean> => {
    const breathe = createBreath();
    let count = 0;
    for (const id of dirty) {
      if (count++ === READ_AT_ONCE) return true;
      // Before it is read: what changes after that is another change.
      dirty.delete(id);
      const job = await findJob(book, id).catch((error: unknown) => {
        // The others go on; this one is told of, since nobody would notice that it doesn't fire.
        log.warn(`cron: ${messageOf(error)}`);
      });
      if (job === undefined) entries.delete(id);
      else await learn(job);
      await breathe();
    }
    return false;
  };

  return {
    put,
    learn,
    async refresh() {
      watchFolder();
      const config = JSON.stringify(settings().cron.jobs);
      const mark = await store.jobs.mark();
      const isOld = seen !== undefined && clock.monotonic() - seen.at > RESCAN_MS;
      if (seen === undefined || (mark !== seen.mark && (watcher === undefined || isOld)))
        return readAll(mark, config);
      if (seen.config !== config) {
        seen.config = config;
        for (const id of entries.keys()) dirty.add(id);
        for (const job of settings().cron.jobs) dirty.add(job.id);
      }
      return readChanged();
    },
    takeDue(most) {
      const due: Entry[] = [];
      const now = clock.now();
      for (
        let first = heap.peek();
        due.length < most && first !== undefined && first.at <= now;
        first = heap.peek()
      ) {
        heap.pop();
        // One that has changed since was pushed again.
        if (entries.get(first.value.id) !== first.value) continue;
        entries.delete(first.value.id);
        due.push(first.value);
      }
      return due;
    },
    takeExpected() {
      const soon: ExpectedRun[] = [];
      const now = clock.now();
      for (let first = expected.peek(); first !== undefined && first.at <= now; first = expected.peek()) {
        expected.pop();
        const { id, due, workspace } = first.value;
        // One that is due already has been started, or is another process's.
        if (entries.get(id) === first.value && due !== undefined && due > now)
          soon.push({ id, due, workspace });
      }
      return soon;
    },
    delay(entry) {
      const later: Entry = { ...entry, due: clock.now() + RETRY_MS };
      entries.set(entry.id, later);
      heap.push(later.due ?? 0, later);
    },
    forget: (id) => void entries.delete(id),
    next() {
      const [run, preparation] = [heap.peek()?.at, expected.peek()?.at];
      return run === undefined ? preparation : Math.min(run, preparation ?? run);
    },
    state: () => ({ jobs: entries.size, next: heap.peek()?.at }),
    close: () => watcher?.close(),
  };
}
