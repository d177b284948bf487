import { randomBytes } from "node:crypto";
import { CamelError } from "../../shared/errors.ts";
import { newId } from "../../shared/ids.ts";
import { isJobId } from "../../stores/file-jobs.ts";
import type { Job } from "../../stores/jobs.ts";
import type { ToolContext } from "../context.ts";
import { zoneOf, type JobBook } from "./all-jobs.ts";
import type { CronInput } from "./cron.ts";
import { describeLength, localTime, utcTime } from "./describe.ts";
import { nextSlots } from "./next-slot.ts";
import { describeRunner, runnerNameOf } from "./runner-name.ts";
import { parseSchedule, parseTimestamp, type Schedule } from "./schedule.ts";
import { zoneNamed } from "./zone.ts";

const LONGEST_PROMPT = 100_000;
const DAY_SECONDS = 86_400;
const LONGEST_JITTER_SECONDS = 3_600;

/** A new job from the call's arguments, or a refusal that says how to put it right. */
export async function draftJob(input: CronInput, context: ToolContext, book: JobBook): Promise<Job> {
  const now = context.clock.now();
  const id = given(input.id) ?? newId("job", 4);
  if (!isJobId(id)) {
    throw new CamelError("invalid_input", `"${id.slice(0, 80)}" is not a job id.`, {
      next: "Use lower-case letters, digits, dash and underscore, at most 64, or leave it out.",
    });
  }
  const { caller } = context;
  const workspace = await context.workspace("read").catch(() => undefined);
  const blank: Job = {
    id,
    uid: randomBytes(6).toString("hex"),
    name: id,
    schedule: "",
    tz: zoneOf(context.settings()),
    prompt: "",
    overlap: "skip",
    missed: "once",
    missedWithinSeconds: DAY_SECONDS,
    onInterrupted: "report",
    jitterSeconds: 0,
    enabled: true,
    since: now,
    createdAt: now,
    updatedAt: now,
    creator: {
      agentId: caller.agentId,
      client: caller.client,
      ...(caller.token === undefined ? {} : { token: caller.token }),
      depth: caller.depth,
    },
    ...(workspace === undefined ? {} : { workspace }),
    source: "runtime",
  };
  for (const key of ["schedule", "prompt"] as const) {
    if (given(input[key]) === undefined) {
      throw new CamelError("invalid_input", `"${key}" is needed to add a job.`, {
        next: `Example: {"action":"add","schedule":"0 9 * * 1-5","prompt":"Summarise yesterday's commits."}`,
      });
    }
  }
  return withChanges(blank, input, context, book);
}

/** The job with what the call gives, checked as a whole. */
export function withChanges(job: Job, input: CronInput, context: ToolContext, book: JobBook): Promise<Job> {
  const now = context.clock.now();
  const zone = given(input.tz);
  const tz = zone === undefined ? job.tz : zoneNamed(zone.trim());
  const rescheduled = given(input.schedule) !== undefined || tz !== job.tz;
  const text = given(input.schedule) ?? job.schedule;
  const schedule = parseSchedule(text, { zone: tz, now: rescheduled ? now : job.since });
  const { at: _at, ...rest } = job;
  const changed: Job = {
    ...rest,
    name: given(input.name) ?? job.name,
    schedule: text,
    tz,
    ...(schedule.kind === "at" ? { at: rescheduled ? schedule.at : (job.at ?? schedule.at) } : {}),
    prompt: given(input.prompt) ?? job.prompt,
    overlap: input.overlap ?? job.overlap,
    missed: input.missed ?? job.missed,
    missedWithinSeconds: seconds(input.missedWithin, "missedWithin") ?? job.missedWithinSeconds,
    onInterrupted: input.onInterrupted ?? job.onInterrupted,
    jitterSeconds: seconds(input.jitter, "jitter") ?? job.jitterSeconds,
    ...(rescheduled ? { since: now } : {}),
    updatedAt: now,
  };
  const runner = input.runner ?? undefined;
  if (runner !== undefined) changed.runner = runner;
  const timeout = seconds(input.timeout, "timeout");
  if (timeout !== undefined) {
    if (timeout < 1 || timeout > DAY_SECONDS)
      throw refused(`timeout: "${input.timeout}" is not between 1s and 1d.`, "Write 90s, 15m or 2h.");
    changed.timeoutSeconds = timeout;
  }
  if (changed.jitterSeconds > LONGEST_JITTER_SECONDS)
    throw refused(`jitter: "${input.jitter}" is more than an hour.`, "Write 30s, 5m or 1h at most.");
  if (input.maxRuns !== undefined && input.maxRuns !== null) {
    if (input.maxRuns < 1) throw refused("maxRuns must be 1 or more.", "Leave it out for no limit.");
    changed.maxRuns = input.maxRuns;
  }
  const until = given(input.until);
  if (until !== undefined) changed.until = parseTimestamp(until, tz);
  check(changed, schedule, context, book);
  return Promise.resolve(changed);
}

function check(job: Job, schedule: Schedule, context: ToolContext, { settings }: JobBook): void {
  const now = context.clock.now();
  if (job.prompt.length > LONGEST_PROMPT) {
    throw new CamelError(
      "too_large",
      `The prompt has ${job.prompt.length} characters; ${LONGEST_PROMPT} are allowed.`,
      {
        next: "Put the long part into a file and name it in the prompt.",
      },
    );
  }
  if (schedule.kind === "at" && job.at !== undefined && job.at <= now) {
    throw refused(
      `"${job.schedule}" (${utcTime(job.at)}) is in the past; it is ${utcTime(now)} now (${localTime(now, job.tz)}).`,
      "Give a later time, or +20m for a while from now.",
    );
  }
  const upcoming = nextSlots(job.at === undefined ? schedule : { kind: "at", at: job.at }, now, 10);
  const [first] = upcoming;
  if (first === undefined || (job.until !== undefined && first > job.until)) {
    throw refused(
      first === undefined
        ? `"${job.schedule}" has no time left.`
        : `The first time, ${utcTime(first)}, is after until (${utcTime(job.until ?? 0)}).`,
      "Give a later until, or another schedule.",
    );
  }
  const name = runnerNameOf(job, settings());
  if (describeRunner(name, settings()) === undefined) {
    throw refused(
      `The runner ${name} is not configured.`,
      `Leave runner out, or set runner.${name} in the config.`,
    );
  }
  const shortest = Math.min(...upcoming.slice(1).map((slot, index) => slot - (upcoming[index] ?? 0)));
  const { minIntervalSeconds } = settings().cron;
  if (name !== "host" && shortest < minIntervalSeconds * 1000) {
    throw refused(
      `"${job.schedule}" fires every ${describeLength(shortest)}; with the runner ${name}, which may cost money each time, every ${describeLength(minIntervalSeconds * 1000)} is the most often.`,
      "Make it less frequent. The user can change the limit: cron.minIntervalSeconds in the config.",
    );
  }
}

const LENGTH = /^(\d{1,7})\s*(s|m|h|d)$/i;
const UNIT_SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: DAY_SECONDS };

function seconds(text: string | null | undefined, field: string): number | undefined {
  const value = given(text);
  if (value === undefined) return undefined;
  const found = LENGTH.exec(value.trim());
  if (found === null)
    throw refused(`${field}: "${value}" is not a length of time.`, "Write 30s, 15m, 2h or 1d.");
  return Number(found[1]) * (UNIT_SECONDS[(found[2] ?? "").toLowerCase()] ?? 0);
}

function given(text: string | null | undefined): string | undefined {
  return text === null || text === undefined || text.trim() === "" ? undefined : text;
}

function refused(message: string, next: string): CamelError {
  return new CamelError("invalid_input", message, { next });
}
