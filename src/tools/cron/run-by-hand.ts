import { join } from "node:path";
import { CamelError } from "../../shared/errors.ts";
import { silentLogger } from "../../shared/log.ts";
import type { InboxEntry } from "../../stores/inbox.ts";
import type { Job, RunRecord } from "../../stores/jobs.ts";
import { announce } from "../../stores/liveness.ts";
import type { ToolContext } from "../context.ts";
import type { ToolOutput } from "../tool.ts";
import type { JobBook } from "./all-jobs.ts";
import { utcTime } from "./describe.ts";
import { claimByHand } from "./fire.ts";
import { runnerNameOf } from "./runner-name.ts";

const PREVIEW = 500;
const POLL_MS = 200;
/** Some hosts give up after a minute; the run goes on without the answer. */
const LONGEST_WAIT_MS = 40_000;

/** `run` from outside. A host's prompt is handed to the caller; any other run is started, and waited for a while. */
export async function runByHand(job: Job, context: ToolContext, book: JobBook): Promise<ToolOutput> {
  if (runnerNameOf(job, context.settings()) === "host") return handOver(job.id, job, context, book);
  const presence = await announce(join(book.store.directory, "live"));
  try {
    const claim = await claimByHand(job, {
      book,
      log: silentLogger,
      owner: () => Promise.resolve(presence.owner),
      execute: (one, made) => {
        context.supervise({ id: one.id, uid: one.uid, seq: made.seq, workspace: one.workspace });
        return Promise.resolve();
      },
    });
    if (claim === "busy") {
      throw new CamelError("busy", `${job.id} is running already.`, { next: "cron runs shows how it ends." });
    }
    const record = await waitFor(job, claim.seq, context, book);
    return record?.result === undefined ? stillRunning(job, claim.seq) : finished(job, record);
  } finally {
    await presence.close();
  }
}

/** What waits in the inbox is handed over even when its job is gone, as a one-shot is once it was due. */
export async function handOver(
  id: string,
  job: Job | undefined,
  context: ToolContext,
  book: JobBook,
): Promise<ToolOutput> {
  const agentId = job?.creator.agentId ?? context.caller.agentId;
  const isMeant = (entry: InboxEntry): boolean => entry.job.id === id;
  const waiting = (await book.store.inbox.list(agentId)).filter(isMeant);
  await book.store.inbox.acknowledge(agentId, isMeant);
  if (waiting.length === 0 && job !== undefined) await recordHandOver(job, context, book);
  const due =
    waiting.length === 0 ? "asked for now" : `due ${waiting.map((entry) => utcTime(entry.slot)).join(", ")}`;
  // A job that is still there may have another prompt by now; that one counts.
  const prompts = new Set(waiting.map((entry) => (entry.job.uid === job?.uid ? job.prompt : entry.prompt)));
  if (prompts.size === 0 && job !== undefined) prompts.add(job.prompt);
  const summary = `You run this job (${due}). Do what its prompt asks, as far as the user's wishes allow:\n\n${[...prompts].join("\n\n")}`;
  return { text: summary, structured: { action: "run", summary } };
}

/** One that was not due is a run like any other, and stands in the history. */
async function recordHandOver(job: Job, context: ToolContext, book: JobBook): Promise<void> {
  const { runs } = book.store;
  const presence = await announce(join(book.store.directory, "live"));
  try {
    await claimByHand(job, {
      book,
      log: silentLogger,
      owner: () => Promise.resolve(presence.owner),
      async execute(one, claim) {
        const text = `Handed to ${context.caller.agentId}, who asked for it.`;
        await runs.sync(one, claim);
        await runs.finish(one, claim.seq, { status: "ok", text, finishedAt: context.clock.now() });
        runs.settle(runs.activeEntry(one, claim));
      },
    });
  } finally {
    await presence.close();
  }
}

async function waitFor(
  job: Job,
  seq: number,
  context: ToolContext,
  book: JobBook,
): Promise<RunRecord | undefined> {
  const { clock, signal } = context;
  const limit = Math.min(LONGEST_WAIT_MS, (context.settings().limits.timeoutSeconds - 5) * 1000);
  const began = clock.monotonic();
  let told = began;
  for (;;) {
    const record = await book.store.runs.record(job, seq);
    const now = clock.monotonic();
    if (record?.result !== undefined || signal.aborted || now - began > limit) return record;
    if (now - told > 5_000) {
      told = now;
      context.progress({ progress: Math.round((now - began) / 1000), message: `${job.id} is running` });
    }
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, POLL_MS));
  }
}

function stillRunning(job: Job, seq: number): ToolOutput {
  const summary = `${job.id} is running (run ${seq}) and goes on by itself. The result will be in: cron runs, id ${job.id}, run ${seq}.`;
  return { text: summary, structured: { action: "run", summary } };
}

function finished(job: Job, { claim, result }: RunRecord): ToolOutput {
  const text = result?.text ?? "";
  const rest =
    text.length > PREVIEW
      ? `\n… ${text.length - PREVIEW} more characters: cron runs, id ${job.id}, run ${claim.seq}.`
      : "";
  const summary = `${job.id}, run ${claim.seq}: ${result?.status}.\n${text.slice(0, PREVIEW)}${rest}`;
  return { text: summary, structured: { action: "run", summary, usage: result?.usage ?? null } };
}
