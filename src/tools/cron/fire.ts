import type { Logger } from "../../shared/log.ts";
import type { Claim, Job, MissedSlots, Owner } from "../../stores/jobs.ts";
import { askToStop } from "../../stores/liveness.ts";
import type { Chain } from "../../stores/runs.ts";
import { retire, scheduleOf, type JobBook } from "./all-jobs.ts";
import { planDue } from "./plan.ts";
import { runnerNameOf } from "./runner-name.ts";

export interface FireContext {
  book: JobBook;
  log: Logger;
  /** This process, as others can ask after it. Made at the first claim. */
  owner: () => Promise<Owner>;
  /** Starts a claimed run and comes back without waiting for its end, except where it needs no process. */
  execute: (job: Job, claim: Claim) => Promise<void>;
}

export interface Fired {
  /** The chain's newest claim afterwards, whoever made it. */
  newest: Claim | undefined;
  /** Slots that are due but wait for the run before them. */
  waiting: boolean;
}

const MOST_TRIES = 20;

/** Claims what is due of a job and starts it. Any number of processes may do so at the same time. */
export async function fireDue(job: Job, context: FireContext): Promise<Fired> {
  const { book } = context;
  const schedule = scheduleOf(job);
  let known: Chain | undefined;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const chain: Chain = known ?? (await book.store.runs.chain(job));
    const { newest } = chain;
    const plan = planDue(job, schedule, newest, book.clock.now());
    const [slot] = plan.run;
    if (slot === undefined && plan.missed === undefined) {
      const isOver = schedule.kind === "at" && (newest?.newestSlot ?? 0) >= schedule.at;
      if (isOver && chain.unfinished.length === 0) await retire(book, job);
      return { newest, waiting: false };
    }
    const situation = slot === undefined ? "free" : await overlapOf(job, chain, context);
    // Every slot of such a job is to have its run: it waits, unclaimed, for the one before it to end.
    if (situation === "busy" && job.missed === "all") return { newest, waiting: true };
    const draft =
      slot === undefined
        ? missedClaim(plan.missed)
        : { slot, ...verdictOf(job, situation, book), ...withMissed(plan.missed) };
    if (draft === undefined) return { newest, waiting: false };
    const claim = await book.store.runs.claim(
      job,
      {
        newestSlot: draft.slot,
        runs: (newest?.runs ?? 0) + ("final" in draft ? 0 : 1),
        manual: false,
        claimedAt: book.clock.now(),
        agentId: job.creator.agentId,
        owner: await context.owner(),
        ...draft,
      },
      newest,
      chain.readAt,
    );
    // Who made the newest claim knows the chain; if another makes the next one, ours of the same number fails.
    known = claim === undefined ? undefined : withClaim(chain, claim);
    if (claim !== undefined) await begin(job, claim, context);
  }
  return { newest: (await book.store.runs.chain(job)).newest, waiting: true };
}

/** A run asked for by hand: a claim like any other, but of no slot of the schedule. */
export async function claimByHand(job: Job, context: FireContext): Promise<Claim | "busy"> {
  const { book } = context;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const chain = await book.store.runs.chain(job);
    if (job.overlap !== "allow" && (await overlapOf(job, chain, context)) !== "free") return "busy";
    const now = book.clock.now();
    const claim = await book.store.runs.claim(
      job,
      {
        slot: now,
        newestSlot: chain.newest?.newestSlot ?? 0,
        runs: (chain.newest?.runs ?? 0) + 1,
        manual: true,
        claimedAt: now,
        agentId: job.creator.agentId,
        owner: await context.owner(),
      },
      chain.newest,
      chain.readAt,
    );
    if (claim === undefined) continue;
    await begin(job, claim, context);
    return claim;
  }
  return "busy";
}

function withClaim(chain: Chain, claim: Claim): Chain {
  const isOpen = claim.final === undefined;
  return {
    ...chain,
    newest: claim,
    unfinished: isOpen ? [...chain.unfinished, claim.seq] : chain.unfinished,
  };
}

async function begin(job: Job, claim: Claim, context: FireContext): Promise<void> {
  const { runs } = context.book.store;
  if (claim.final !== undefined) {
    await finishFinal(job, claim, context.book);
    runs.settle(runs.activeEntry(job, claim));
    return;
  }
  // A prompt for an inbox may be delivered by two claims of its slot, and is there once.
  if (runnerNameOf(job, context.book.settings()) !== "host") await runs.sync(job, claim);
  if (claim.queued !== true) await context.execute(job, claim);
}

export async function finishFinal(
  job: { id: string; uid: string },
  claim: Claim,
  book: JobBook,
): Promise<void> {
  if (claim.final === undefined) return;
  await book.store.runs.sync(job, claim);
  const { status, reason } = claim.final;
  await book.store.runs.finish(job, claim.seq, { status, text: reason, finishedAt: book.clock.now() });
}

type Situation = "free" | "busy" | "full";

/** Whether a run of the job is under way; a host's prompt counts as long as it lies in the inbox. */
async function overlapOf(job: Job, chain: Chain, { book }: FireContext): Promise<Situation> {
  if (job.overlap === "allow") return "free";
  if (runnerNameOf(job, book.settings()) === "host") {
    const pending = await book.store.inbox.pending(job.creator.agentId, job);
    if (pending === 0 && chain.unfinished.length === 0) return "free";
    if (job.overlap === "replace") {
      await book.store.inbox.acknowledge(job.creator.agentId, (entry) => entry.job.uid === job.uid);
      return "free";
    }
    return job.overlap === "queue" && pending + chain.unfinished.length < 2 ? "free" : "full";
  }
  if (chain.unfinished.length === 0) return "free";
  if (job.overlap === "replace") {
    for (const seq of chain.unfinished) {
      const started = (await book.store.runs.record(job, seq))?.started;
      if (started !== undefined) await askToStop(started.owner);
    }
    return "free";
  }
  return chain.unfinished.length >= 2 ? "full" : "busy";
}

type Verdict = Pick<Claim, "queued" | "final">;

function verdictOf(job: Job, situation: Situation, { settings }: JobBook): Verdict {
  if (situation === "free") return {};
  if (situation === "busy" && job.overlap === "queue") return { queued: true };
  const reason =
    runnerNameOf(job, settings()) === "host"
      ? "its last prompt still waits in the inbox"
      : "the run before it had not ended";
  return { final: { status: "skipped", reason } };
}

function withMissed(missed: MissedSlots | undefined): Pick<Claim, "missed"> {
  return missed === undefined ? {} : { missed };
}

/** Nothing of what is due is to run: the last slot is claimed as missed, and speaks for those before it. */
function missedClaim(
  missed: MissedSlots | undefined,
): (Pick<Claim, "slot" | "missed"> & Verdict) | undefined {
  if (missed === undefined) return undefined;
  return {
    slot: missed.to,
    final: { status: "missed", reason: "no process was there at its time, or the clock jumped over it" },
    ...(missed.count > 1 ? { missed: { ...missed, count: missed.count - 1 } } : {}),
  };
}
