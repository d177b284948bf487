import { counted } from "../../shared/counted.ts";
import { CamelError, messageOf } from "../../shared/errors.ts";
import { isJobId } from "../../stores/file-jobs.ts";
import type { InboxEntry } from "../../stores/inbox.ts";
import type { Claim, Job, RunRecord } from "../../stores/jobs.ts";
import type { ToolContext } from "../context.ts";
import type { ToolOutput } from "../tool.ts";
import { findJob, scheduleOf, type JobBook } from "./all-jobs.ts";
import type { CronInput } from "./cron.ts";
import { describeLength, describeSchedule, localTime, utcTime } from "./describe.ts";
import { nextSlots } from "./next-slot.ts";
import { baseOf, nextDue } from "./plan.ts";
import { describeRunner, runnerNameOf } from "./runner-name.ts";
import { oddityOfTime, type Schedule } from "./schedule.ts";

const PREVIEW = 80;
const HISTORY = 20;
const MOST_LISTED = 50;
const MOST_SEARCHED = 500;

/** What `add`, `update` and `resume` answer: when it fires, who runs it, where the result is, and what if nobody is there. */
export async function addedAnswer(action: string, job: Job, book: JobBook): Promise<ToolOutput> {
  const schedule = scheduleOf(job);
  const runner = runnerNameOf(job, book.settings());
  const { newest } = await book.store.runs.chain(job);
  const left = (job.maxRuns ?? Number.POSITIVE_INFINITY) - (newest?.runs ?? 0);
  const next = nextSlots(
    schedule,
    Math.max(book.clock.now(), baseOf(job, schedule, newest)),
    Math.min(3, left),
  ).filter((slot) => job.until === undefined || slot <= job.until);
  const verb = { add: "Added", update: "Changed", resume: "Resumed" }[action] ?? "Changed";
  const kind = schedule.kind === "at" ? "one-shot" : "repeating";
  const lines = [
    `${verb} ${job.id}${job.name === job.id ? "" : ` (${job.name})`}: ${kind}, ${describeSchedule(schedule, job.tz)}.`,
    ...next.map(
      (slot, index) => `${index === 0 ? "Next:" : "then:"} ${localTime(slot, job.tz)} = ${utcTime(slot)}`,
    ),
    ...remarks(job, schedule, next.length),
    `Run by ${describeRunner(runner, book.settings()) ?? runner}.`,
    runner === "host"
      ? "Result: what you do with the prompt. cron list shows it while it waits."
      : `Result: cron runs, id ${job.id}.`,
    `It fires while any camel-mcp process is running, or by \`camel-mcp cron install\` without one. ${whenMissed(job)}`,
  ];
  const summary = lines.join("\n");
  return { text: summary, structured: { action, summary, job: await jobFacts(job, book) } };
}

/** What is not to be seen from the times alone. */
function remarks(job: Job, schedule: Schedule, times: number): string[] {
  const oddity = schedule.kind === "at" ? oddityOfTime(job.schedule, job.tz) : undefined;
  const lines: string[] = [];
  if (oddity === "skipped")
    lines.push(`The clock of ${job.tz} skips ${job.schedule}: it fires when the clock jumps.`);
  if (oddity === "twice")
    lines.push(
      `The clock of ${job.tz} shows ${job.schedule} twice: the first is meant. Give an offset for the other.`,
    );
  if (!job.enabled) lines.push("It is paused, and fires at none of these times until it is resumed.");
  else if (times === 0)
    lines.push(schedule.kind === "at" ? "Its time has passed: it is due now." : "It has no time left.");
  return lines;
}

function whenMissed(job: Job): string {
  if (job.missed === "skip") return "Times that pass while none is there are skipped and reported.";
  const many = job.missed === "all" ? "each is made up for" : "one run makes up for them";
  const length = describeLength(job.missedWithinSeconds * 1000);
  return `Times that pass while none is there: ${many}, if not older than ${/^\d/.test(length) ? length : `one ${length}`}.`;
}

/** What `list` tells of a job; a type and not an interface, so that it is a plain record too. */
export type JobFacts = {
  id: string;
  name: string;
  schedule: string;
  words: string;
  kind: "one-shot" | "repeating";
  tz: string;
  source: Job["source"];
  enabled: boolean;
  pausedBecause?: string;
  running: boolean;
  waitingInInbox?: number;
  runner: string;
  next: string | null;
  nextLocal: string | null;
  lastRun: string | null;
  lastStatus: string | null;
  agent: string;
  prompt: string;
};

export async function jobFacts(job: Job, book: JobBook): Promise<JobFacts> {
  const schedule = scheduleOf(job);
  const { newest, unfinished } = await book.store.runs.chain(job);
  const due = nextDue(job, schedule, newest);
  const last = await lastRun(job, newest, book);
  const runner = runnerNameOf(job, book.settings());
  const waiting = runner === "host" ? await book.store.inbox.pending(job.creator.agentId, job) : 0;
  return {
    id: job.id,
    name: job.name,
    schedule: job.schedule,
    words: describeSchedule(schedule, job.tz),
    kind: schedule.kind === "at" ? "one-shot" : "repeating",
    tz: job.tz,
    source: job.source,
    enabled: job.enabled,
    ...(job.pausedBecause === undefined ? {} : { pausedBecause: job.pausedBecause }),
    running: unfinished.length > 0,
    ...(waiting === 0 ? {} : { waitingInInbox: waiting }),
    runner,
    next: due === undefined ? null : utcTime(due),
    nextLocal: due === undefined ? null : localTime(due, job.tz),
    lastRun: last === undefined ? null : utcTime(last.claim.slot),
    lastStatus: last === undefined ? null : (last.result?.status ?? "running"),
    agent: job.creator.agentId,
    prompt: preview(job.prompt),
  };
}

/** A job of another agent may have had the same id before. */
async function lastRun(job: Job, newest: Claim | undefined, book: JobBook): Promise<RunRecord | undefined> {
  if (newest !== undefined) return book.store.runs.record(job, newest.seq);
  const [earlier] = await book.store.runs.history(
    job.id,
    1,
    ({ claim }) => claim.agentId === job.creator.agentId,
  );
  return earlier;
}

function brokenFacts(job: Job, error: unknown): JobFacts {
  return {
    id: job.id,
    name: job.name,
    schedule: job.schedule,
    words: `broken: ${messageOf(error)}`,
    kind: "repeating",
    tz: job.tz,
    source: job.source,
    enabled: false,
    running: false,
    runner: job.runner ?? "host",
    next: null,
    nextLocal: null,
    lastRun: null,
    lastStatus: null,
    agent: job.creator.agentId,
    prompt: preview(job.prompt),
  };
}

export async function listAnswer(
  jobs: readonly Job[],
  inbox: readonly InboxEntry[],
  damaged: readonly string[],
  book: JobBook,
): Promise<ToolOutput> {
  // A file that somebody edited by hand must not hide the other jobs.
  const all = await Promise.all(
    jobs.map((job) => jobFacts(job, book).catch((error: unknown) => brokenFacts(job, error))),
  );
  all.sort((a, b) => (a.next ?? "~").localeCompare(b.next ?? "~"));
  const facts = all.slice(0, MOST_LISTED);
  const lines = facts.map((job) => {
    const state = job.enabled ? (job.running ? "running" : "enabled") : "paused";
    const because = job.pausedBecause === undefined ? "" : ` (${job.pausedBecause})`;
    const last = job.lastRun === null ? "never ran" : `last ${job.lastRun} ${job.lastStatus}`;
    const next = job.next === null ? "no next time" : `next ${job.nextLocal} = ${job.next}`;
    const name = job.name === job.id ? "" : ` "${job.name}"`;
    return `${job.id}${name}: ${job.words}; ${job.source}, ${state}${because}; ${next}; ${last}; ${job.runner}: ${job.prompt}`;
  });
  const summary = [
    jobs.length === 0 ? "No jobs." : `${counted(jobs.length, "job")}.`,
    ...(inbox.length === 0 ? [] : [inboxText(inbox)]),
    ...lines,
    ...(all.length > facts.length ? [`… and ${all.length - facts.length} more, due later.`] : []),
    ...damaged.slice(0, 10),
  ].join("\n");
  return {
    text: summary,
    structured: {
      action: "list",
      summary: summary.split("\n", 1)[0] ?? "",
      jobs: facts,
      inbox: inbox.map(entryFacts),
      ...(damaged.length === 0 ? {} : { damaged }),
    },
  };
}

export function inboxText(inbox: readonly InboxEntry[]): string {
  if (inbox.length === 0) return "nothing is waiting.";
  const shown = inbox.slice(0, 10).map((entry) => `${entry.job.id} (due ${utcTime(entry.slot)})`);
  const more = inbox.length > shown.length ? ` and ${inbox.length - shown.length} more` : "";
  return `${inbox.length} waiting for you: ${shown.join(", ")}${more}. cron run with the id hands a prompt over.`;
}

function entryFacts(entry: InboxEntry): Record<string, unknown> {
  return { id: entry.job.id, name: entry.job.name, due: utcTime(entry.slot), prompt: preview(entry.prompt) };
}

/** The runs the caller may know of, newest first; of one job, or of all. */
export async function visibleRuns(id: string, context: ToolContext, book: JobBook): Promise<RunRecord[]> {
  const ids = id === "" ? await book.store.runs.ids() : [id].filter(isJobId);
  if (ids.length > MOST_SEARCHED) {
    throw new CamelError("invalid_input", `There are ${ids.length} jobs with a history.`, {
      next: "Give the id of the job.",
    });
  }
  const limit = id === "" ? HISTORY : 200;
  const found = (await Promise.all(ids.map((one) => visibleHistory(one, limit, context, book)))).flat();
  return found.sort((a, b) => b.claim.claimedAt - a.claim.claimedAt);
}

/** History outlives its job, so whose it was is kept with the run. */
async function visibleHistory(
  id: string,
  limit: number,
  context: ToolContext,
  book: JobBook,
): Promise<RunRecord[]> {
  const { agentId } = context.caller;
  if (context.settings().cron.shared) return book.store.runs.history(id, limit);
  const job = await findJob(book, id).catch(() => undefined);
  const ownerOf = ({ claim, job: { uid } }: RunRecord): string | undefined =>
    claim.agentId ?? (job?.uid === uid ? job.creator.agentId : undefined);
  return book.store.runs.history(id, limit, (run) => ownerOf(run) === agentId);
}

export function runsAnswer({ id, run }: CronInput, found: readonly RunRecord[]): ToolOutput {
  if (run !== undefined && run !== null) {
    const one = found.find((record) => record.claim.seq === run);
    if (one === undefined || id === undefined || id === null || id === "") {
      throw new CamelError("not_found", `There is no run ${run} of ${id ?? "a job without id"}.`, {
        next: "cron runs with the job's id lists its runs.",
      });
    }
    const head = runLine(one);
    const text = `${head}\n${one.result?.text ?? ""}`;
    return {
      text,
      structured: {
        action: "runs",
        summary: head,
        runs: [{ ...runFacts(one), text: one.result?.text ?? "" }],
      },
    };
  }
  const shown = found.slice(0, HISTORY);
  const summary =
    ["No runs yet.", "One run."][shown.length] ?? `The last ${shown.length} runs, newest first.`;
  return {
    text: [summary, ...shown.map(runLine)].join("\n"),
    structured: { action: "runs", summary, runs: shown.map(runFacts) },
  };
}

function runLine(run: RunRecord): string {
  const { claim, result } = run;
  const status = result?.status ?? (run.started === undefined ? "claimed" : "running");
  const took =
    result?.startedAt === undefined
      ? ""
      : `, ${((result.finishedAt - result.startedAt) / 1000).toFixed(1)} s`;
  const missed = claim.missed === undefined ? "" : `, ${claim.missed.count} before it missed`;
  const cost = result?.usage?.costUsd === undefined ? "" : `, ${result.usage.costUsd.toFixed(4)} USD`;
  return `${run.job.id} run ${claim.seq}: ${utcTime(claim.slot)}${claim.manual ? " by hand" : ""} ${status}${took}${cost}${missed}: ${preview(result?.text ?? "")}`;
}

function runFacts(run: RunRecord): Record<string, unknown> {
  const { claim, result } = run;
  return {
    id: run.job.id,
    run: claim.seq,
    slot: utcTime(claim.slot),
    manual: claim.manual,
    status: result?.status ?? (run.started === undefined ? "claimed" : "running"),
    ...(result === undefined ? {} : { finished: utcTime(result.finishedAt), preview: preview(result.text) }),
    ...(result?.usage === undefined ? {} : { usage: result.usage }),
    ...(claim.missed === undefined
      ? {}
      : { missed: { ...claim.missed, from: utcTime(claim.missed.from), to: utcTime(claim.missed.to) } }),
  };
}

function preview(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > PREVIEW ? `${line.slice(0, PREVIEW)}…` : line;
}
