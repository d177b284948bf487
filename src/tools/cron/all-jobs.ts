import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config, ConfigJob } from "../../config/schema.ts";
import type { Clock } from "../../shared/clock.ts";
import { replaceFile } from "../../shared/durable.ts";
import type { CronStore } from "../../stores/cron.ts";
import { publishExclusive } from "../../stores/exclusive.ts";
import type { Job } from "../../stores/jobs.ts";
import { parseSchedule, parseTimestamp, type Schedule } from "./schedule.ts";
import { systemZone } from "./zone.ts";

/** A config job's own memory: since when it exists in this wording, and whether it was paused. */
interface ConfigJobState {
  since: number;
  at?: number;
  paused?: boolean;
  pausedBecause?: string;
  /** A one-shot that has run. */
  done?: boolean;
}

export interface JobBook {
  store: CronStore;
  settings: () => Config;
  clock: Clock;
}

export function zoneOf(settings: Config): string {
  return settings.cron.timezone ?? systemZone();
}

/** Runtime jobs and config jobs alike; a config job hides a runtime job of the same id. */
export async function findJob(book: JobBook, id: string): Promise<Job | undefined> {
  const inConfig = book.settings().cron.jobs.find((job) => job.id === id);
  return inConfig === undefined ? book.store.jobs.get(id) : fromConfig(book, inConfig);
}

async function configJobs(book: JobBook): Promise<Job[]> {
  const jobs = await Promise.all(book.settings().cron.jobs.map((job) => fromConfig(book, job)));
  return jobs.filter((job) => job !== undefined);
}

export async function allJobs(
  book: JobBook,
  onDamaged?: (id: string, error: unknown) => void,
): Promise<Job[]> {
  const inConfig = await configJobs(book);
  const ids = new Set(inConfig.map((job) => job.id));
  return [...inConfig, ...(await book.store.jobs.list(onDamaged)).filter((job) => !ids.has(job.id))];
}

/** Changes a job of either kind; of a config job only whether it is paused. */
export async function setEnabled(
  book: JobBook,
  job: Job,
  enabled: boolean,
  because?: string,
): Promise<Job | undefined> {
  const now = book.clock.now();
  if (job.source === "runtime") {
    return book.store.jobs.update(
      job.id,
      (old) => {
        const changed = { ...old, enabled, updatedAt: now };
        delete changed.pausedBecause;
        if (because !== undefined) changed.pausedBecause = because;
        // What would have been due while it was paused was not missed.
        if (enabled && !old.enabled) changed.since = now;
        return changed;
      },
      job.uid,
    );
  }
  const path = statePath(book, job.id, job.uid);
  const state: ConfigJobState = {
    since: enabled && !job.enabled ? now : job.since,
    ...(job.at === undefined ? {} : { at: job.at }),
    ...(enabled ? {} : { paused: true }),
    ...(because === undefined ? {} : { pausedBecause: because }),
  };
  await replaceFile(path, JSON.stringify(state));
  return findJob(book, job.id);
}

/** A one-shot is gone after its run; its history stays. */
export async function retire(book: JobBook, job: Job): Promise<void> {
  if (job.source === "runtime") await book.store.jobs.remove(job.id, job.uid);
  else
    await replaceFile(
      statePath(book, job.id, job.uid),
      JSON.stringify({ since: job.since, ...(job.at === undefined ? {} : { at: job.at }), done: true }),
    );
}

const schedules = new Map<string, Schedule>();

/** What the job's text means; the same in every process, because all it depends on is in the job. */
export function scheduleOf(job: Job): Schedule {
  if (job.at !== undefined) return { kind: "at", at: job.at };
  const key = `${job.schedule}\n${job.tz}\n${job.since}`;
  let schedule = schedules.get(key);
  if (schedule === undefined) {
    schedule = parseSchedule(job.schedule, { zone: job.tz, now: job.since });
    if (schedules.size > 2_000) schedules.clear();
    schedules.set(key, schedule);
  }
  return schedule;
}

async function fromConfig(book: JobBook, job: ConfigJob): Promise<Job | undefined> {
  const tz = job.tz ?? zoneOf(book.settings());
  const uid = createHash("sha256").update(`${job.id}\n${job.schedule}\n${tz}`).digest("hex").slice(0, 12);
  const now = book.clock.now();
  let at: number | undefined;
  let until: number | undefined;
  try {
    const schedule = parseSchedule(job.schedule, { zone: tz, now });
    if (schedule.kind === "at") at = schedule.at;
    if (job.until !== undefined) until = parseTimestamp(job.until, tz);
  } catch {
    // The config was checked when it was read; a zone that this process alone doesn't know must not stop the others.
    return undefined;
  }
  const path = statePath(book, job.id, uid);
  let state = await readState(path);
  if (state === undefined) {
    await mkdir(join(book.store.directory, "config"), { recursive: true, mode: 0o700 });
    await publishExclusive(path, JSON.stringify({ since: now, ...(at === undefined ? {} : { at }) }));
    state = (await readState(path)) ?? { since: now };
  }
  if (state.done === true) return undefined;
  return {
    id: job.id,
    uid,
    name: job.name ?? job.id,
    schedule: job.schedule,
    ...(state.at === undefined ? {} : { at: state.at }),
    tz,
    prompt: job.prompt,
    ...(job.runner === undefined ? {} : { runner: job.runner }),
    overlap: job.overlap,
    missed: job.missed,
    missedWithinSeconds: job.missedWithinSeconds,
    onInterrupted: job.onInterrupted,
    ...(job.timeoutSeconds === undefined ? {} : { timeoutSeconds: job.timeoutSeconds }),
    ...(job.maxRuns === undefined ? {} : { maxRuns: job.maxRuns }),
    ...(until === undefined ? {} : { until }),
    jitterSeconds: job.jitterSeconds,
    enabled: job.enabled && state.paused !== true,
    ...(state.pausedBecause === undefined ? {} : { pausedBecause: state.pausedBecause }),
    since: state.since,
    createdAt: state.since,
    updatedAt: state.since,
    creator: { agentId: job.agent, client: "config", depth: 0 },
    source: "config",
  };
}

function statePath(book: JobBook, id: string, uid: string): string {
  return join(book.store.directory, "config", `${id}.${uid}.json`);
}

async function readState(path: string): Promise<ConfigJobState | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  try {
    return JSON.parse(text) as ConfigJobState;
  } catch {
    return undefined;
  }
}
