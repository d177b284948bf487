import { join } from "node:path";
import type { Config } from "../config/schema.ts";
import type { Call, ToolResult } from "../pipeline/call.ts";
import { createBreath } from "../shared/breath.ts";
import type { Clock } from "../shared/clock.ts";
import { messageOf } from "../shared/errors.ts";
import { newId } from "../shared/ids.ts";
import type { Logger } from "../shared/log.ts";
import { createCronStore, type CronStore } from "../stores/cron.ts";
import type { Claim, Job, Owner } from "../stores/jobs.ts";
import { announce, type Presence } from "../stores/liveness.ts";
import type { ExpectedRun } from "../stores/ready.ts";
import type { RunToSupervise } from "../tools/context.ts";
import { findJob, type JobBook } from "../tools/cron/all-jobs.ts";
import { carryOut } from "../tools/cron/carry-out.ts";
import { fireDue } from "../tools/cron/fire.ts";
import { recover, type RecoverContext } from "../tools/cron/recover.ts";
import { runnerNameOf } from "../tools/cron/runner-name.ts";
import { createJobTable, type Entry } from "./job-table.ts";

export interface SchedulerOptions {
  home: string;
  clock: Clock;
  log: Logger;
  settings: () => Config;
  /** Reads the config again if it changed; false while it is broken, and nothing may fire. */
  ready: () => Promise<boolean>;
  dispatch: (call: Call) => Promise<ToolResult>;
  supervisors: { start: (run: RunToSupervise) => void; expect: (runs: readonly ExpectedRun[]) => void };
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
const FIRST_TIDY_MS = 600_000;
const TIDY_MS = 6 * 3_600_000;
const KEEP_HISTORY_MS = 30 * 86_400_000;
/** All that is due is written before any of it is synced, so that many wait for the disk together. */
const AT_ONCE = 1_000;
/** One call that waits, for a person say, must not hold up all other jobs. */
const PATIENCE_MS = 2_000;

/** One timer for all jobs. Due slots are claimed against every other process on the same home; then they are calls. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { clock, log } = options;
  const store: CronStore = createCronStore({ home: options.home, clock });
  const book: JobBook = { store, settings: options.settings, clock };
  const table = createJobTable({
    book,
    log,
    onChange: () => kick(),
    onUnfinished: () => void unsettled++,
  });
  const busy = new Set<string>();
  const underWay = new Set<Promise<void>>();
  const claimed: { job: Job; claim: Claim; file: string; isFresh: boolean }[] = [];
  const left = new Set<string>();
  const troubles = new Map<string, string>();
  const stopping = new AbortController();
  let presence: Promise<Presence> | undefined;
  let tidiedAt = clock.monotonic() - TIDY_MS + FIRST_TIDY_MS;
  let sweptAt = Number.NEGATIVE_INFINITY;
  let firedAt = Number.NEGATIVE_INFINITY;
  let unsettled = 0;
  let timer: { cancel(): void } | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let mayFire = true;

  const owner = async (): Promise<Owner> => {
    presence ??= announce(join(store.directory, "live"));
    try {
      return (await presence).owner;
    } catch (error) {
      // A disk that is full now may have room at the next turn.
      presence = undefined;
      throw error;
    }
  };

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

  /** First all that is due is claimed, so that it is on time; then it is carried out, while the clock is watched on. */
  const carryOutClaimed = async (): Promise<void> => {
    if (claimed.length === 0) return;
    const work = atOnce(() => {
      const next = claimed.shift();
      return next === undefined ? undefined : carryOutOne(next);
    }).finally(() => underWay.delete(work));
    underWay.add(work);
    await within(PATIENCE_MS, work);
  };

  const within = async (milliseconds: number, work: Promise<unknown>): Promise<void> => {
    let timer = { cancel: (): void => {} };
    const late = new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, milliseconds);
    });
    await Promise.race([work, late]).finally(() => timer.cancel());
  };

  const carryOutOne = async ({ job, claim, file, isFresh }: (typeof claimed)[number]): Promise<void> => {
    try {
      await carryOut(job, claim, {
        book,
        owner: await owner(),
        isFresh,
        // Not ours to end: it takes a moment, and half of it would be a lost prompt.
        signal: new AbortController().signal,
        dispatch: (call) => options.dispatch({ id: newId("call"), ...call }),
      });
    } catch (error) {
      // The claim stays, and whoever sweeps next carries it out.
      log.warn(`cron: ${job.id}: ${messageOf(error)}`);
    } finally {
      busy.delete(file);
    }
  };

  const fire = async (entry: Entry): Promise<void> => {
    try {
      const job = await findJob(book, entry.id);
      if (job === undefined) return;
      if (!job.enabled || job.uid !== entry.uid) return await table.learn(job);
      const { newest, waiting } = await fireDue(job, context);
      unsettled++;
      firedAt = clock.monotonic();
      if (waiting) table.delay(entry);
      else table.put(job, newest);
      troubles.delete(entry.id);
      if (newest !== undefined && newest.seq % 20 === 0)
        await store.runs.prune(job, options.settings().cron.keepRuns);
    } catch (error) {
      const reason = messageOf(error);
      // It is tried every second; what is wrong is said once.
      if (troubles.get(entry.id) !== reason) log.error(`cron: ${entry.id} could not be fired: ${reason}`);
      troubles.set(entry.id, reason);
      table.delay(entry);
    }
  };

  const fireAllDue = (): Promise<void> =>
    atOnce(() => {
      const [due] = stopping.signal.aborted ? [] : table.takeDue(1);
      return due === undefined ? undefined : fire(due);
    });

  const turn = async (): Promise<void> => {
    mayFire = (await options.ready()) && options.settings().cron.enabled;
    if (!mayFire) return;
    for (let isMore = true; isMore && !stopping.signal.aborted;) {
      isMore = await table.refresh();
      await fireAllDue();
      const expected = table.takeExpected();
      if (expected.length > 0) options.supervisors.expect(expected);
      await carryOutClaimed();
    }
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

  const sweepEvery = (): number => {
    if (unsettled === 0) return LONGEST_SLEEP_MS;
    return clock.monotonic() - firedAt < FRESH_MS ? FRESH_SWEEP_MS : SWEEP_MS;
  };

  const arm = (): void => {
    timer?.cancel();
    if (stopping.signal.aborted) return;
    const due = mayFire ? table.next() : undefined;
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
          log.error(`cron: ${messageOf(error)}`);
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
    state: () => table.state(),
    async stop() {
      stopping.abort();
      timer?.cancel();
      table.close();
      await running?.catch(() => {});
      await within(PATIENCE_MS, Promise.all(underWay));
      await (await presence?.catch(() => undefined))?.close();
    },
  };
}

/** Takes pieces of work until there are none, a number of them at the same time. */
async function atOnce(next: () => Promise<void> | undefined): Promise<void> {
  const breathe = createBreath();
  const worker = async (first: Promise<void>): Promise<void> => {
    for (let work: Promise<void> | undefined = first; work !== undefined; work = next()) {
      await work;
      await breathe();
    }
  };
  const workers: Promise<void>[] = [];
  for (let work = next(); work !== undefined; work = workers.length < AT_ONCE ? next() : undefined) {
    workers.push(worker(work));
    await breathe();
  }
  await Promise.all(workers);
}
