import { watch, type FSWatcher } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.ts";
import type { Call, ToolResult } from "../pipeline/call.ts";
import type { Clock } from "../shared/clock.ts";
import { newId } from "../shared/ids.ts";
import type { Logger } from "../shared/log.ts";
import { createCronStore, type CronStore } from "../stores/cron.ts";
import type { Claim, Job, Owner } from "../stores/jobs.ts";
import { announce, type Presence } from "../stores/liveness.ts";
import type { RunToSupervise } from "../tools/context.ts";
import { configJobs, findJob, scheduleOf, type JobBook } from "../tools/cron/all-jobs.ts";
import { carryOut } from "../tools/cron/carry-out.ts";
import { fireDue } from "../tools/cron/fire.ts";
import { nextDue, type Progress } from "../tools/cron/plan.ts";
import { recover, type RecoverContext } from "../tools/cron/recover.ts";
import { runnerNameOf } from "../tools/cron/runner-name.ts";
import { Heap } from "./heap.ts";

export interface SchedulerOptions {
  home: string;
  clock: Clock;
  log: Logger;
  settings: () => Config;
  /** Reads the config again if it changed; false while it is broken, and nothing may fire. */
  ready: () => Promise<boolean>;
  dispatch: (call: Call) => Promise<ToolResult>;
  supervisors: { start: (run: RunToSupervise) => void; expect: () => void };
}

export interface Scheduler {
  /** Looks at the clock and the jobs now; resolves when all that is due is claimed and handed on. */
  wake(): Promise<void>;
  /** How many jobs are known, and when the next one is due. */
  state(): { jobs: number; next: number | undefined };
  stop(): Promise<void>;
}

/** The longest sleep: a clock that was set, or a machine that slept, is noticed within it. */
const LONGEST_SLEEP_MS = 5_000;
/** Claims are looked after often while they are fresh, when a process may die between claim and start, then seldom. */
const FRESH_MS = 5_000;
const FRESH_SWEEP_MS = 200;
const SWEEP_MS = 2_000;
const RESCAN_MS = 60_000;
const FIRST_TIDY_MS = 600_000;
const TIDY_MS = 6 * 3_600_000;
const KEEP_HISTORY_MS = 30 * 86_400_000;
const AT_ONCE = 32;
const RETRY_MS = 1_000;
const GET_READY_MS = 2_000;

/** Only what the timer needs; prompts stay on disk, so that a hundred thousand jobs fit in memory. */
interface Entry {
  id: string;
  uid: string;
  due: number | undefined;
}

/** One timer for all jobs. Due slots are claimed against every other process on the same home; then they are calls. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { clock, log } = options;
  const store: CronStore = createCronStore({ home: options.home, clock });
  const book: JobBook = { store, settings: options.settings, clock };
  const entries = new Map<string, Entry>();
  const heap = new Heap<Entry>();
  /** Runs that need a process, some time before they are due. */
  const expected = new Heap<Entry>();
  const dirty = new Set<string>();
  const busy = new Set<string>();
  const claimed: { job: Job; claim: Claim; file: string; isFresh: boolean }[] = [];
  const left = new Set<string>();
  const stopping = new AbortController();
  let presence: Promise<Presence> | undefined;
  let watcher: FSWatcher | undefined;
  let seen: { mark: string; at: number; config: string } | undefined;
  let tidiedAt = clock.monotonic() - TIDY_MS + FIRST_TIDY_MS;
  let sweptAt = Number.NEGATIVE_INFINITY;
  let firedAt = Number.NEGATIVE_INFINITY;
  let unsettled = 0;
  let timer: { cancel(): void } | undefined;
  let running: Promise<void> | undefined;
  let again = false;

  const owner = async (): Promise<Owner> =>
    (await (presence ??= announce(join(store.directory, "live")))).owner;

  const context: RecoverContext = {
    book,
    log,
    owner,
    busy,
    tried: new Map(),
    left,
    async execute(job, claim) {
      const { file } = store.runs.activeEntry(job, claim);
      if (runnerNameOf(job, options.settings()) !== "host") {
        const { id, uid, workspace } = job;
        const onExit = (): void => {
          left.add(file);
          unsettled++;
          kick();
        };
        options.supervisors.start({ id, uid, seq: claim.seq, workspace, onExit });
        return;
      }
      busy.add(file);
      claimed.push({
        job,
        claim,
        file,
        isFresh: claim.owner.socket === (await owner()).socket && !context.tried.has(file),
      });
    },
  };

  /** First all that is due is claimed, so that it is on time; then it is carried out. */
  const carryOutClaimed = async (): Promise<void> => {
    while (claimed.length > 0) {
      const batch = claimed.splice(0, AT_ONCE);
      const done = await Promise.allSettled(
        batch.map(async ({ job, claim, file, isFresh }) => {
          try {
            await carryOut(job, claim, {
              book,
              owner: await owner(),
              isFresh,
              // Not ours to end: it takes a moment, and half of it would be a lost prompt.
              signal: new AbortController().signal,
              dispatch: (call) => options.dispatch({ id: newId("call"), ...call }),
            });
          } finally {
            busy.delete(file);
          }
        }),
      );
      // The claim stays, and whoever sweeps next carries it out.
      for (const one of done) if (one.status === "rejected") log.warn(`cron: ${String(one.reason)}`);
    }
  };

  const put = (job: Job, progress: Progress | undefined): void => {
    const due = nextDue(job, scheduleOf(job), progress);
    const known = entries.get(job.id);
    if (known !== undefined && known.uid === job.uid && known.due === due) return;
    const entry: Entry = { id: job.id, uid: job.uid, due };
    entries.set(job.id, entry);
    if (due === undefined) return;
    heap.push(due, entry);
    if (runnerNameOf(job, options.settings()) !== "host") expected.push(due - GET_READY_MS, entry);
  };

  const learn = async (job: Job): Promise<void> => {
    try {
      const { newest, unfinished } = await store.runs.chain(job);
      for (const seq of unfinished) await store.runs.reactivate(job, seq);
      if (unfinished.length > 0) unsettled++;
      put(job, newest);
    } catch (error) {
      log.warn(`cron: ${job.id}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };

  const learnAll = async (jobs: readonly Job[]): Promise<void> => {
    for (let start = 0; start < jobs.length; start += AT_ONCE)
      await Promise.all(jobs.slice(start, start + AT_ONCE).map(learn));
  };

  const forget = (id: string): void => {
    entries.delete(id);
  };

  const watchJobs = (): void => {
    if (watcher !== undefined) return;
    try {
      watcher = watch(join(store.directory, "jobs"), { persistent: false }, (_, name) => {
        const id = name?.endsWith(".json") === true && !name.startsWith(".") ? name.slice(0, -5) : undefined;
        if (id !== undefined) dirty.add(id);
        else if (name === null) seen = undefined;
        else return;
        kick();
      });
      // What changed before there was a watch was not seen.
      seen = undefined;
      watcher.on("error", () => {
        watcher?.close();
        watcher = undefined;
        seen = undefined;
      });
    } catch {
      // No folder yet, or no more watches to be had: the mark below notices changes within one sleep.
      watcher = undefined;
    }
  };

  const refresh = async (): Promise<void> => {
    watchJobs();
    const config = JSON.stringify(options.settings().cron.jobs);
    const mark = await store.jobs.mark();
    const stale =
      seen === undefined ||
      (mark !== seen.mark && (watcher === undefined || clock.monotonic() - seen.at > RESCAN_MS));
    if (stale) {
      dirty.clear();
      // Read again next time if a change may hide behind the clock's resolution.
      seen = { mark: await settledMark(mark), at: clock.monotonic(), config };
      const inConfig = await configJobs(book);
      const shadowed = new Set(inConfig.map((job) => job.id));
      const jobs = [...inConfig, ...(await store.jobs.list()).filter((job) => !shadowed.has(job.id))];
      const present = new Set(jobs.map((job) => job.id));
      for (const id of entries.keys()) if (!present.has(id)) forget(id);
      await learnAll(jobs);
      return;
    }
    if (seen !== undefined && seen.config !== config) {
      seen.config = config;
      for (const id of entries.keys()) dirty.add(id);
      for (const job of options.settings().cron.jobs) dirty.add(job.id);
    }
    if (dirty.size === 0) return;
    const ids = [...dirty];
    dirty.clear();
    const found = await Promise.all(ids.map((id) => findJob(book, id).catch(() => undefined)));
    for (const [index, job] of found.entries()) if (job === undefined) forget(ids[index] ?? "");
    await learnAll(found.filter((job) => job !== undefined));
  };

  const settledMark = async (mark: string): Promise<string> => {
    const changed = await stat(join(store.directory, "jobs")).then(
      (found) => found.mtimeMs,
      () => 0,
    );
    return clock.now() - changed < 2_000 ? `${mark}?` : mark;
  };

  const fire = async (entry: Entry): Promise<void> => {
    try {
      const job = await findJob(book, entry.id);
      if (job === undefined) return forget(entry.id);
      if (!job.enabled || job.uid !== entry.uid) {
        forget(entry.id);
        return await learn(job);
      }
      const { newest, waiting } = await fireDue(job, context);
      unsettled++;
      firedAt = clock.monotonic();
      entries.delete(entry.id);
      put(job, newest);
      if (waiting) delay(job.id);
      if (newest !== undefined && newest.seq % 20 === 0)
        await store.runs.prune(job, options.settings().cron.keepRuns);
    } catch (error) {
      log.error(
        `cron: ${entry.id} could not be fired: ${error instanceof Error ? error.message : String(error)}`,
      );
      delay(entry.id);
    }
  };

  /** Due, but not now: looked at again in a second. */
  const delay = (id: string): void => {
    const known = entries.get(id);
    if (known === undefined) return;
    const entry: Entry = { ...known, due: clock.now() + RETRY_MS };
    entries.set(id, entry);
    heap.push(entry.due ?? 0, entry);
  };

  const fireAllDue = async (): Promise<void> => {
    for (;;) {
      const batch: Entry[] = [];
      const now = clock.now();
      while (batch.length < AT_ONCE) {
        const first = heap.peek();
        if (first === undefined || first.at > now) break;
        heap.pop();
        if (entries.get(first.value.id) === first.value) batch.push(first.value);
      }
      if (batch.length === 0 || stopping.signal.aborted) return;
      await Promise.all(batch.map(fire));
    }
  };

  const turn = async (): Promise<void> => {
    if (!(await options.ready()) || !options.settings().cron.enabled) return;
    await refresh();
    await fireAllDue();
    expectRuns();
    await carryOutClaimed();
    await tidy();
    if (left.size > 0 || clock.monotonic() - sweptAt >= sweepEvery()) {
      sweptAt = clock.monotonic();
      ({ unsettled } = await recover(context));
      await carryOutClaimed();
    }
  };

  /** Now and then, and not at the start: histories of jobs that have long been gone. */
  const tidy = async (): Promise<void> => {
    if (clock.monotonic() - tidiedAt < TIDY_MS) return;
    tidiedAt = clock.monotonic();
    await store.runs.forget(clock.now() - KEEP_HISTORY_MS, async ({ id, uid }) => {
      const job = await findJob(book, id).catch(() => undefined);
      return job?.uid === uid;
    });
  };

  const expectRuns = (): void => {
    for (
      let first = expected.peek();
      first !== undefined && first.at <= clock.now();
      first = expected.peek()
    ) {
      expected.pop();
      // One that is due already has been started, or is another process's.
      const { id, due } = first.value;
      if (entries.get(id) === first.value && due !== undefined && due > clock.now())
        options.supervisors.expect();
    }
  };

  const sweepEvery = (): number => {
    if (unsettled === 0) return LONGEST_SLEEP_MS;
    return clock.monotonic() - firedAt < FRESH_MS ? FRESH_SWEEP_MS : SWEEP_MS;
  };

  const arm = (): void => {
    timer?.cancel();
    if (stopping.signal.aborted) return;
    const [run, preparation] = [heap.peek()?.at, expected.peek()?.at];
    const due = run === undefined ? preparation : Math.min(run, preparation ?? run);
    const longest = sweepEvery();
    const wait = due === undefined ? longest : Math.min(longest, Math.max(0, due - clock.now()));
    timer = clock.setTimeout(kick, wait);
  };

  const wake = (): Promise<void> => {
    if (running !== undefined) {
      again = true;
      return running;
    }
    running = (async () => {
      do {
        again = false;
        try {
          await turn();
        } catch (error) {
          log.error(`cron: ${error instanceof Error ? error.message : String(error)}`);
        }
      } while (again && !stopping.signal.aborted);
    })().finally(() => {
      running = undefined;
      arm();
    });
    return running;
  };
  const kick = (): void => {
    void wake();
  };

  return {
    wake,
    state: () => ({ jobs: entries.size, next: heap.peek()?.at }),
    async stop() {
      stopping.abort();
      timer?.cancel();
      watcher?.close();
      await running?.catch(() => {});
      await (await presence)?.close();
    },
  };
}
