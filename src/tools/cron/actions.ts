import { randomBytes } from "node:crypto";
import { counted } from "../../shared/counted.ts";
import { CamelError } from "../../shared/errors.ts";
import { closest } from "../../shared/glob.ts";
import { isJobId } from "../../stores/file-jobs.ts";
import type { Job } from "../../stores/jobs.ts";
import type { ToolContext } from "../context.ts";
import type { ToolOutput } from "../tool.ts";
import { allJobs, findJob, retire, setEnabled, type JobBook } from "./all-jobs.ts";
import { addedAnswer, inboxText, jobFacts, listAnswer, runsAnswer, visibleRuns } from "./answers.ts";
import type { CronInput } from "./cron.ts";
import { draftJob, withChanges } from "./draft.ts";
import { handOver, runByHand } from "./run-by-hand.ts";
import { bookOf, runJob } from "./run-job.ts";

type Action = (input: CronInput, context: ToolContext, book: JobBook) => Promise<ToolOutput>;

const ACTIONS: Record<CronInput["action"], Action> = {
  list,
  add,
  remove,
  run,
  update,
  pause,
  resume,
  runs,
  ack,
};

const MAIN_AGENT = "main";

/** A run may look, and be run; it changes no jobs unless the config says so. */
const CHANGES = new Set<CronInput["action"]>(["add", "remove", "update", "pause", "resume"]);

export function act(input: CronInput, context: ToolContext): Promise<ToolOutput> {
  const { caller } = context;
  if (CHANGES.has(input.action) && caller.depth > 0 && !context.settings().cron.allowFromRuns) {
    throw new CamelError("denied_by_policy", "A job's run may not change jobs.", {
      next: "Do the work the prompt asks for. The user can allow it with cron.allowFromRuns: true in the config.",
    });
  }
  return ACTIONS[input.action](input, context, bookOf(context));
}

async function list(_: CronInput, context: ToolContext, book: JobBook): Promise<ToolOutput> {
  const damaged: string[] = [];
  // Whose it was can't be read either, so only who may know of all jobs hears of it.
  const mayKnow = context.settings().cron.shared || context.caller.agentId === MAIN_AGENT;
  const all = await allJobs(book, (_id, error) => {
    if (mayKnow && error instanceof Error) damaged.push(error.message);
  });
  const jobs = all.filter((job) => mayTouch(job, context));
  return listAnswer(jobs, await book.store.inbox.list(context.caller.agentId), damaged, book);
}

async function add(input: CronInput, context: ToolContext, book: JobBook): Promise<ToolOutput> {
  const job = await draftJob(input, context, book);
  const { maxJobs, jobs: inConfig } = context.settings().cron;
  if (await hasTooMany(context.caller.agentId, maxJobs, book)) {
    throw new CamelError("too_large", `There are ${maxJobs} jobs already (cron.maxJobs).`, {
      next: "Remove jobs that are no longer needed.",
    });
  }
  if (inConfig.some((one) => one.id === job.id) || !(await book.store.jobs.add(job))) {
    throw new CamelError("already_exists", `There is a job "${job.id}" already.`, {
      next: "Use update to change it, or give another id.",
    });
  }
  context.jobsChanged();
  return addedAnswer("add", job, book);
}

async function hasTooMany(agentId: string, limit: number, book: JobBook): Promise<boolean> {
  // Counted only where it can matter: reading all jobs for each new one takes long.
  if ((await book.store.jobs.ids()).length < limit) return false;
  const jobs = await book.store.jobs.list();
  return jobs.filter((job) => job.creator.agentId === agentId).length >= limit;
}

async function remove(input: CronInput, context: ToolContext, book: JobBook): Promise<ToolOutput> {
  const job = await wanted(input, context, book);
  await refuseConfigJob(job, context, "removed");
  await retire(book, job);
  await book.store.inbox.acknowledge(job.creator.agentId, (entry) => entry.job.uid === job.uid);
  context.jobsChanged();
  const summary = `Removed ${job.id}. Its history stays: cron runs.`;
  return { text: summary, structured: { action: "remove", summary } };
}

async function run(input: CronInput, context: ToolContext, book: JobBook): Promise<ToolOutput> {
  const job = await visibleJob(input.id, context, book);
  if (job === undefined) {
    const inbox = await book.store.inbox.list(context.caller.agentId);
    const due = inbox.find((entry) => entry.job.id === input.id);
    if (due === undefined) throw await noSuchJob(input, context, book);
    return handOver(due.job.id, undefined, context, book);
  }
  const own = context.caller.run;
  const isTheRunItself =
    context.caller.transport === "schedule" &&
    own?.uid === job.uid &&
    context.caller.depth === job.creator.depth + 1;
  return isTheRunItself ? runJob(job, own, context) : runByHand(job, context, book);
}

async function update(input: CronInput, context: ToolContext, book: JobBook): Promise<ToolOutput> {
  const job = await wanted(input, context, book);
  await refuseConfigJob(job, context, "changed");
  const { action: _action, id: _id, ...changes } = input;
  if (Object.values(changes).every((value) => value === undefined || value === null))
    throw new CamelError("invalid_input", "Nothing to change was given.", {
      next: "Give what is to be different: schedule, prompt, name, tz, ...",
    });
  const changed = await withChanges(job, input, context, book);
  const saved = await book.store.jobs.update(job.id, () => changed, job.uid);
  if (saved === undefined) throw gone(job.id);
  context.jobsChanged();
  return addedAnswer("update", saved, book);
}

async function pause(input: CronInput, context: ToolContext, book: JobBook): Promise<ToolOutput> {
  const job = await wanted(input, context, book);
  const saved = await setEnabled(book, job, false);
  if (saved === undefined) throw gone(job.id);
  context.jobsChanged();
  const summary = `Paused ${job.id}. It does not fire until it is resumed; a run that is under way goes on.`;
  return { text: summary, structured: { action: "pause", summary, job: await jobFacts(saved, book) } };
}

async function resume(input: CronInput, context: ToolContext, book: JobBook): Promise<ToolOutput> {
  const job = await wanted(input, context, book);
  const saved = await setEnabled(book, job, true);
  if (saved === undefined) throw gone(job.id);
  const { newest } = await book.store.runs.chain(saved);
  if (saved.source === "runtime" && newest !== undefined && newest.newestSlot > context.clock.now()) {
    // The clock was ahead when it last fired: a new chain, or it would wait until that time comes again.
    await book.store.jobs.update(
      saved.id,
      (old) => ({ ...old, uid: randomBytes(6).toString("hex") }),
      saved.uid,
    );
  }
  context.jobsChanged();
  return addedAnswer("resume", (await findJob(book, job.id)) ?? saved, book);
}

async function runs(input: CronInput, context: ToolContext, book: JobBook): Promise<ToolOutput> {
  const records = await visibleRuns(input.id ?? "", context, book);
  const isKnown = records.length > 0 || (await visibleJob(input.id, context, book)) !== undefined;
  if (!isKnown && (input.id ?? "") !== "") throw await noSuchJob(input, context, book);
  return runsAnswer(input, records);
}

async function ack(input: CronInput, context: ToolContext, book: JobBook): Promise<ToolOutput> {
  const { id } = input;
  const count = await book.store.inbox.acknowledge(
    context.caller.agentId,
    (entry) => id === undefined || id === null || entry.job.id === id,
  );
  const left = await book.store.inbox.list(context.caller.agentId);
  const summary = `${counted(count, "prompt")} taken out of the inbox; ${inboxText(left)}`;
  return { text: summary, structured: { action: "ack", summary } };
}

async function wanted(input: CronInput, context: ToolContext, book: JobBook): Promise<Job> {
  const job = await visibleJob(input.id, context, book);
  if (job === undefined) throw await noSuchJob(input, context, book);
  return job;
}

async function visibleJob(
  id: CronInput["id"],
  context: ToolContext,
  book: JobBook,
): Promise<Job | undefined> {
  if (id === undefined || id === null || !isJobId(id)) return undefined;
  const job = await findJob(book, id);
  return job !== undefined && mayTouch(job, context) ? job : undefined;
}

/** Another agent's job is answered like a missing one: nothing is told about it. */
async function noSuchJob(input: CronInput, context: ToolContext, book: JobBook): Promise<CamelError> {
  const id = input.id ?? "";
  if (id === "") {
    return new CamelError("invalid_input", `"id" is needed to ${input.action}.`, {
      next: "cron list shows the ids.",
    });
  }
  const jobs = (await allJobs(book)).filter((one) => mayTouch(one, context));
  const ids = jobs.map((one) => one.id);
  const named = jobs.find((one) => one.name.toLowerCase() === id.trim().toLowerCase());
  const guess = named?.id ?? closest(id, ids);
  return new CamelError("not_found", `There is no job "${id.slice(0, 80)}".`, {
    next:
      guess === undefined
        ? `Jobs: ${ids.slice(0, 20).join(", ") || "none"}. A one-shot is gone after its run; cron runs shows it.`
        : `Did you mean "${guess}"?`,
  });
}

function mayTouch(job: { creator: { agentId: string } }, context: ToolContext): boolean {
  return context.settings().cron.shared || job.creator.agentId === context.caller.agentId;
}

async function refuseConfigJob(job: Job, context: ToolContext, verb: string): Promise<void> {
  if (job.source !== "config") return;
  const index = context.settings().cron.jobs.findIndex((one) => one.id === job.id);
  const place = await context.whereInConfig(["cron", "jobs", index]);
  throw new CamelError(
    "denied_by_policy",
    `${job.id} comes from the config file and can't be ${verb} here.`,
    {
      next: `Edit ${place}; the file is read again by itself. Or pause it.`,
      details: { place },
    },
  );
}

function gone(id: string): CamelError {
  return new CamelError("not_found", `${id} was removed meanwhile.`, {
    next: "cron list shows what there is.",
  });
}
