import { createHash } from "node:crypto";
import type { Job, MissedSlots } from "../../stores/jobs.ts";
import { nextSlot } from "./next-slot.ts";
import type { Schedule } from "./schedule.ts";

/** Later than this a slot was missed; sooner, its process was just busy. */
const ON_TIME_MS = 10_000;
/** With `missed: all`, at most so many are made up for. */
const MOST_CATCH_UPS = 100;
/** An every-second job that nobody fired for weeks: past this many, slots are counted only near the end. */
const MOST_COUNTED = 20_000;

export interface Progress {
  newestSlot: number;
  runs: number;
}

export interface Plan {
  /** Slots to claim and run, in order. */
  run: number[];
  /** Slots that passed and will have no run; reported with the first claim. */
  missed?: MissedSlots;
}

/** Pure: what is due of a job now, by its policy for missed slots. */
export function planDue(job: Job, schedule: Schedule, progress: Progress | undefined, now: number): Plan {
  const left = (job.maxRuns ?? Number.POSITIVE_INFINITY) - (progress?.runs ?? 0);
  if (left <= 0) return { run: [] };
  const slots = dueSlots(job, schedule, progress, now);
  const isOnTime = (slot: number): boolean => now - dueAt(job, slot) <= ON_TIME_MS;
  const onTime = slots.filter(isOnTime);
  const late = slots.filter((slot) => !isOnTime(slot));
  const inWindow = late.filter((slot) => now - slot <= job.missedWithinSeconds * 1000);
  const caughtUp =
    job.missed === "all"
      ? inWindow.slice(-MOST_CATCH_UPS)
      : job.missed === "once" && onTime.length === 0
        ? inWindow.slice(-1)
        : [];
  const run = [...caughtUp, ...onTime].slice(0, left);
  const chosen = new Set(run);
  const passed = slots.filter((slot) => !chosen.has(slot) && slot < (run.at(-1) ?? Number.POSITIVE_INFINITY));
  const [from, to] = [passed[0], passed.at(-1)];
  return from === undefined || to === undefined
    ? { run }
    : { run, missed: { count: passed.length, from, to } };
}

/** When the next slot of a job has to be looked at; undefined when there is none any more. */
export function nextDue(job: Job, schedule: Schedule, progress: Progress | undefined): number | undefined {
  if (!job.enabled || (job.maxRuns !== undefined && (progress?.runs ?? 0) >= job.maxRuns)) return undefined;
  const slot = nextSlot(schedule, baseOf(job, schedule, progress));
  if (slot === undefined || (job.until !== undefined && slot > job.until)) return undefined;
  return dueAt(job, slot);
}

/** Slots are counted after this moment. A one-shot counts however early its moment was. */
export function baseOf(job: Job, schedule: Schedule, progress: Progress | undefined): number {
  const since = schedule.kind === "at" ? schedule.at - 1 : job.since;
  return Math.max(since, progress?.newestSlot ?? 0);
}

function dueSlots(job: Job, schedule: Schedule, progress: Progress | undefined, now: number): number[] {
  const slots: number[] = [];
  let from = baseOf(job, schedule, progress);
  for (;;) {
    const slot = nextSlot(schedule, from);
    if (slot === undefined || dueAt(job, slot) > now || (job.until !== undefined && slot > job.until))
      return slots;
    slots.push(slot);
    from = slots.length === MOST_COUNTED ? Math.max(slot, now - 3_600_000) : slot;
  }
}

/** Jitter is the same in every process, or they would disagree on when a slot is due. */
function dueAt(job: Pick<Job, "uid" | "jitterSeconds">, slot: number): number {
  if (job.jitterSeconds === 0) return slot;
  const hash = createHash("sha256").update(`${job.uid}:${slot}`).digest().readUInt32BE(0);
  return slot + Math.floor((hash / 2 ** 32) * job.jitterSeconds * 1000);
}
