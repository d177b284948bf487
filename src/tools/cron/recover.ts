import { readFile, stat } from "node:fs/promises";
import { messageOf } from "../../shared/errors.ts";
import type { Claim, Owner, RunRecord } from "../../stores/jobs.ts";
import { isAlive } from "../../stores/liveness.ts";
import type { ActiveClaim } from "../../stores/runs.ts";
import { findJob } from "./all-jobs.ts";
import { afterRun } from "./carry-out.ts";
import { finishFinal, type FireContext } from "./fire.ts";

export interface RecoverContext extends FireContext {
  /** Claims this very process is at work on, by file name of their intent. */
  busy: ReadonlySet<string>;
  /** When this process last tried to start a claim that was left behind. */
  tried: Map<string, number>;
  /** Claims whose supervisor this process has seen end; whether it got anywhere is looked at now. */
  left: Set<string>;
}

/** A living process has this long to start what it claimed; then anybody may, as only one start can succeed. */
const SLOW_START_MS = 20_000;
const RETRY_MS = 4_000;
const MOST_ATTEMPTS = 3;

/**
 * Looks after every claim that has no result yet. Whoever claimed it may have died at any point; any process may
 * do this at any time, because each step it takes is exclusive or harmless to repeat.
 */
export async function recover(context: RecoverContext): Promise<{ unsettled: number }> {
  const { runs } = context.book.store;
  const alive = rememberAnswers(isAlive);
  const known = new Set<string>();
  let unsettled = 0;
  for (const active of await runs.active()) {
    known.add(active.file);
    if (context.busy.has(active.file)) {
      unsettled++;
      continue;
    }
    try {
      if (!(await recoverOne(active, context, alive))) unsettled++;
    } catch (error) {
      unsettled++;
      context.log.warn(`cron: ${active.id}: ${messageOf(error)}`);
    }
  }
  for (const file of context.left) if (!known.has(file)) context.left.delete(file);
  return { unsettled };
}

type Alive = (owner: Owner) => Promise<boolean>;

/** True when nothing is left to do for it. */
async function recoverOne(active: ActiveClaim, context: RecoverContext, alive: Alive): Promise<boolean> {
  const { book } = context;
  const { runs } = book.store;
  const isLeft = context.left.delete(active.file);
  const record = await runs.record(active, active.seq);
  if (record === undefined || record.claim.nonce !== active.nonce)
    return forgetIntent(active, context, alive);
  const { claim } = record;
  const done = async (): Promise<true> => {
    runs.settle(active);
    context.tried.delete(active.file);
    return true;
  };
  if (record.result !== undefined) {
    const job = await findJob(book, active.id);
    if (job?.uid === active.uid) await afterRun(job, claim, book);
    return done();
  }
  if (claim.final !== undefined) {
    await finishFinal(active, claim, book);
    return done();
  }
  if (record.started !== undefined) {
    if (await alive(record.started.owner)) return false;
    return interrupted(record, context, done);
  }
  const age = book.clock.now() - claim.claimedAt;
  if (claim.queued === true) {
    const { unfinished } = await runs.chain(active);
    if (unfinished.some((seq) => seq < claim.seq)) return false;
  } else if (!isLeft && age >= 0 && age < SLOW_START_MS && (await alive(claim.owner))) return false;
  if (!(await runs.isInChain(active, claim))) {
    await runs.withdraw(active, claim);
    return done();
  }
  if (wasJustTried(active.file, context)) {
    if (isLeft) context.left.add(active.file);
    return false;
  }
  return startAgain(active, claim, context, done);
}

async function interrupted(
  { job: key, claim, started }: RunRecord,
  context: RecoverContext,
  done: () => Promise<true>,
): Promise<boolean> {
  const { book } = context;
  const job = await findJob(book, key.id);
  const current = job?.uid === key.uid ? job : undefined;
  if (current?.onInterrupted === "retry" && (started?.attempt ?? 0) < MOST_ATTEMPTS) {
    const { file } = book.store.runs.activeEntry(key, claim);
    return wasJustTried(file, context) ? false : startAgain({ ...key, file }, claim, context, done);
  }
  await book.store.runs.finish(key, claim.seq, {
    status: "interrupted",
    text: "The process that ran it ended before the result. What it did until then is not undone.",
    finishedAt: book.clock.now(),
    ...(started === undefined ? {} : { startedAt: started.at }),
  });
  if (current !== undefined) await afterRun(current, claim, book);
  return done();
}

async function startAgain(
  active: { id: string; uid: string; file: string },
  claim: Claim,
  context: RecoverContext,
  done: () => Promise<true>,
): Promise<boolean> {
  const { book } = context;
  const job = await findJob(book, active.id);
  if (job?.uid !== active.uid) {
    await book.store.runs.finish(active, claim.seq, {
      status: "skipped",
      text: "The job was removed before this run started.",
      finishedAt: book.clock.now(),
    });
    return done();
  }
  context.tried.set(active.file, book.clock.monotonic());
  await context.execute(job, claim);
  return false;
}

/** A supervisor that can't start at all must not be started in a loop. */
function wasJustTried(file: string, { tried, book }: RecoverContext): boolean {
  const last = tried.get(file);
  return last !== undefined && book.clock.monotonic() - last < RETRY_MS;
}

/** An intent that never became a claim; its writer may still be about to link it. */
async function forgetIntent(active: ActiveClaim, { book }: RecoverContext, alive: Alive): Promise<boolean> {
  const found = await stat(active.file).catch(() => undefined);
  if (found === undefined) return true;
  const text = await readFile(active.file, "utf8").catch(() => "");
  let owner: Owner | undefined;
  try {
    owner = (JSON.parse(text) as Claim).owner;
  } catch {
    // Cut off while it was written: nobody has linked it, and its age tells whether somebody is still writing.
    if (book.clock.now() - found.mtimeMs < SLOW_START_MS) return false;
  }
  if (owner !== undefined && (await alive(owner))) return false;
  book.store.runs.settle(active);
  return true;
}

function rememberAnswers(ask: Alive): Alive {
  const answers = new Map<string, Promise<boolean>>();
  return (owner) => {
    const known = answers.get(owner.socket) ?? ask(owner);
    answers.set(owner.socket, known);
    return known;
  };
}
