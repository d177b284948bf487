import { toCamelError, type ErrorCode } from "../../shared/errors.ts";
import type { Claim, FinalStatus, Job, Owner, RunResult } from "../../stores/jobs.ts";
import { isAlive } from "../../stores/liveness.ts";
import type { Caller } from "../context.ts";
import { retire, setEnabled, type JobBook } from "./all-jobs.ts";
import { runnerNameOf } from "./runner-name.ts";

/** What a run needs of the dispatcher, which lies above the tools. */
export interface RunCall {
  name: string;
  args: unknown;
  caller: Caller;
  timeoutSeconds: number;
  outputChars: number;
  signal: AbortSignal;
}
export interface RunAnswer {
  text: string;
  structured?: Record<string, unknown>;
  isError?: boolean;
  code?: ErrorCode;
}

export interface CarryOutContext {
  book: JobBook;
  owner: Owner;
  /** The one door: policy judges a run like any other call. */
  dispatch: (call: RunCall) => Promise<RunAnswer>;
  signal: AbortSignal;
  /** This process has made the claim a moment ago, so nothing can have been done about it yet. */
  isFresh?: boolean;
}

const FAILURES_IN_A_ROW = 5;
const LONGEST_TEXT = 2_000_000;

/**
 * Runs a claim to its result. At most one process gets past `start`, so at most one runs it; the result is there
 * before anything that depends on it is done.
 */
export async function carryOut(job: Job, claim: Claim, context: CarryOutContext): Promise<void> {
  const { book } = context;
  const { runs } = book.store;
  const before = context.isFresh === true ? { started: undefined } : await runs.record(job, claim.seq);
  if (before === undefined || ("result" in before && before.result !== undefined))
    return settle(job, claim, book);
  const isHost = runnerNameOf(job, book.settings()) === "host";
  const startedAt = book.clock.now();
  // Putting a prompt into an inbox twice is the same as once, so it needs no marker against a second time.
  if (!isHost) {
    const { started } = before;
    // Somebody has started it: only a job that may be run twice is, and only when that somebody is dead.
    if (started !== undefined && (job.onInterrupted !== "retry" || (await isAlive(started.owner)))) return;
    const attempt = (started?.attempt ?? 0) + 1;
    if (!(await runs.start(job, claim.seq, { at: startedAt, attempt, owner: context.owner }))) return;
  }
  if (context.isFresh !== true && !(await runs.isInChain(job, claim))) {
    await runs.withdraw(job, claim);
    return settle(job, claim, book);
  }
  const result =
    (await withoutRights(job, book)) ?? (await overCap(isHost, book)) ?? (await call(job, claim, context));
  if (isHost) {
    // The prompt is there, and may be seen; that it was delivered is said once nothing can take it away.
    await Promise.all([runs.sync(job, claim), book.store.inbox.sync(job.creator.agentId, job, claim.slot)]);
  }
  await runs.finish(job, claim.seq, { startedAt, ...result });
  // A good result changes nothing about a job that goes on.
  if (result.status !== "ok" || job.at !== undefined) await afterRun(job, claim, book);
  settle(job, claim, book);
}

function settle(job: Job, claim: Claim, book: JobBook): void {
  book.store.runs.settle(book.store.runs.activeEntry(job, claim));
}

/** Who made the job over HTTP may have lost their token since: then it ends, and says why. */
async function withoutRights(job: Job, book: JobBook): Promise<RunResult | undefined> {
  const { token, agentId } = job.creator;
  if (token === undefined) return undefined;
  const theirs = (await book.store.tokens.list()).filter(
    (one) => (one.scope ?? one.id) === token && one.agent === agentId,
  );
  if (theirs.length === 0 || theirs.some((one) => one.revoked === undefined)) return undefined;
  const reason = `the token ${token} that ${agentId} made it with was revoked`;
  await setEnabled(book, job, false, reason);
  return { status: "error", text: `Not run: ${reason}.`, finishedAt: book.clock.now() };
}

async function overCap(isHost: boolean, book: JobBook): Promise<RunResult | undefined> {
  if (isHost) return undefined;
  const { maxRunsPerDay, maxCostPerDayUsd } = book.settings().cron;
  const { costUsd } = await book.store.ledger.today();
  const reason =
    costUsd >= maxCostPerDayUsd
      ? `today's runs have cost ${costUsd.toFixed(2)} US dollars; cron.maxCostPerDayUsd is ${maxCostPerDayUsd}`
      : (await book.store.ledger.takeRun(maxRunsPerDay))
        ? undefined
        : `today's ${maxRunsPerDay} runs are used up (cron.maxRunsPerDay)`;
  if (reason === undefined) return undefined;
  return { status: "skipped", text: `Not run: ${reason}.`, finishedAt: book.clock.now() };
}

async function call(job: Job, claim: Claim, { book, dispatch, signal }: CarryOutContext): Promise<RunResult> {
  const { creator } = job;
  const answer = await dispatch({
    name: "cron",
    args: { action: "run", id: job.id },
    caller: {
      agentId: creator.agentId,
      // The creator's own client and token, so that a scope that narrows the creator narrows the run.
      client: creator.client,
      ...(creator.token === undefined ? {} : { token: creator.token }),
      depth: creator.depth + 1,
      transport: "schedule",
      sessionId: `run_${job.id}_${claim.seq}`,
      run: { job: job.id, uid: job.uid, seq: claim.seq },
    },
    timeoutSeconds: job.timeoutSeconds ?? book.settings().runner.timeoutSeconds,
    outputChars: LONGEST_TEXT,
    signal,
  }).catch((thrown: unknown): RunAnswer => {
    const error = toCamelError(thrown);
    return { text: error.message, isError: true, code: error.code };
  });
  const usage = answer.structured?.["usage"] as RunResult["usage"] | null | undefined;
  return {
    status: statusOf(answer),
    text: answer.text,
    finishedAt: book.clock.now(),
    ...(answer.structured?.["cut"] === true ? { cut: true } : {}),
    ...(usage === undefined || usage === null ? {} : { usage }),
    ...(typeof answer.structured?.["inbox"] === "string" ? { inbox: answer.structured["inbox"] } : {}),
  };
}

function statusOf(answer: RunAnswer): FinalStatus {
  if (answer.isError !== true) return "ok";
  if (answer.code === "timeout") return "timeout";
  return answer.code === "cancelled" ? "interrupted" : "error";
}

/** What follows from a result. Repeating it is harmless: whoever finds it undone does it. */
export async function afterRun(job: Job, claim: Claim, book: JobBook): Promise<void> {
  if (job.at !== undefined) {
    // A run by hand before its time leaves a one-shot in place.
    if (claim.newestSlot >= job.at) await retire(book, job);
    return;
  }
  const last = await book.store.runs.history(job.id, FAILURES_IN_A_ROW);
  const failed = last.filter(
    (run) =>
      run.job.uid === job.uid &&
      run.claim.claimedAt >= job.since &&
      ["error", "timeout", "interrupted"].includes(run.result?.status ?? ""),
  );
  if (failed.length === FAILURES_IN_A_ROW && job.enabled)
    await setEnabled(
      book,
      job,
      false,
      `${FAILURES_IN_A_ROW} runs in a row failed; the last: ${firstLine(last[0]?.result?.text)}`,
    );
}

function firstLine(text = ""): string {
  return text.split("\n", 1)[0]?.slice(0, 200) ?? "";
}
