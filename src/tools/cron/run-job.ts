import { CamelError } from "../../shared/errors.ts";
import { createCronStore } from "../../stores/cron.ts";
import type { Job, RunRecord } from "../../stores/jobs.ts";
import { commandOf } from "../../runners/command.ts";
import type { ToolContext } from "../context.ts";
import type { ToolOutput } from "../tool.ts";
import { findJob, type JobBook } from "./all-jobs.ts";
import type { CronInput } from "./cron.ts";
import { runnerNameOf } from "./runner-name.ts";

export function bookOf(context: Pick<ToolContext, "home" | "clock" | "settings">): JobBook {
  return {
    store: createCronStore({ home: context.home, clock: context.clock }),
    settings: () => context.settings(),
    clock: context.clock,
  };
}

/** The program a run would start, for policy to judge. */
export async function commandFor(
  input: CronInput,
  context: ToolContext,
): Promise<readonly string[] | undefined> {
  if (context.settings().runner.command === undefined) return undefined;
  const job = await findJob(bookOf(context), input.id ?? "").catch(() => undefined);
  if (job === undefined || runnerNameOf(job, context.settings()) !== "command") return undefined;
  return commandOf(context.settings().runner);
}

/** The run itself, inside the call that the scheduler made for it. */
export async function runJob(job: Job, run: { seq: number }, context: ToolContext): Promise<ToolOutput> {
  const book = bookOf(context);
  const record = await book.store.runs.record(job, run.seq);
  if (record === undefined)
    throw new CamelError("not_found", `Run ${run.seq} of ${job.id} was never claimed.`);
  const kind = runnerNameOf(job, context.settings());
  const { agentId } = job.creator;
  if (kind === "host") {
    await book.store.inbox.deliver(agentId, {
      job: { id: job.id, uid: job.uid, name: job.name },
      seq: run.seq,
      slot: record.claim.slot,
      prompt: job.prompt,
      deliveredAt: context.clock.now(),
    });
    return {
      text: `Put into the inbox of ${agentId}.`,
      structured: { action: "run", summary: `Put into the inbox of ${agentId}.`, inbox: agentId },
    };
  }
  const runner = await context.runner(kind);
  if (runner === undefined) throw new CamelError("unavailable", `The runner ${kind} is not configured.`);
  const spending = `${job.id}-${job.uid}-${run.seq}-${record.started?.attempt ?? 1}`;
  const answer = await runner(
    job.prompt,
    {
      agentId,
      depth: context.caller.depth,
      workspace: job.workspace,
      history: await historyOf(job, book),
      sessionId: context.caller.sessionId,
      // Written as it is spent: the day's cap holds for runs that fail, time out or are killed, too.
      onSpent: (costUsd) => context.later(book.store.ledger.spend(spending, costUsd)),
    },
    context.signal,
  );
  return {
    text: answer.text,
    structured: {
      action: "run",
      summary: answer.text.slice(0, 500),
      usage: answer.usage ?? null,
      cut: answer.cut === true,
    },
  };
}

/** The job's last good results, oldest first, where the config asks for them. */
async function historyOf(
  job: Job,
  book: JobBook,
): Promise<{ role: "user" | "assistant"; content: string }[]> {
  const wanted = book.settings().runner.history;
  if (wanted === 0) return [];
  // Of this job alone: one of another agent may have had the same id.
  const good = (run: RunRecord): boolean => run.job.uid === job.uid && run.result?.status === "ok";
  const last = (await book.store.runs.history(job.id, wanted * 3, good)).slice(0, wanted).reverse();
  return last.flatMap((run) => [
    { role: "user" as const, content: job.prompt },
    { role: "assistant" as const, content: (run.result?.text ?? "").slice(0, 4_000) },
  ]);
}
