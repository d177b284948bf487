/** Jobs and their runs, as they are kept. What a schedule means is decided in tools/cron; here it is text. */
export type Overlap = "skip" | "queue" | "replace" | "allow";
export type Missed = "once" | "skip" | "all";

export interface Job {
  id: string;
  /** Names the chain of claims. A job removed and added again under the same id starts a new one. */
  uid: string;
  name: string;
  schedule: string;
  /** The moment of a one-shot, frozen when it was added. */
  at?: number;
  tz: string;
  prompt: string;
  /** Undefined: the configured default. */
  runner?: string;
  overlap: Overlap;
  missed: Missed;
  missedWithinSeconds: number;
  onInterrupted: "report" | "retry";
  timeoutSeconds?: number;
  maxRuns?: number;
  until?: number;
  jitterSeconds: number;
  enabled: boolean;
  /** Why it is not enabled, where it was not the user who paused it. */
  pausedBecause?: string;
  /** Intervals are counted from here, and slots before it are none of the job's. */
  since: number;
  createdAt: number;
  updatedAt: number;
  /** A run has this caller's rights and no more. */
  creator: { agentId: string; client: string; token?: string; depth: number };
  workspace?: string;
  source: "runtime" | "config";
}

export interface JobStore {
  /** All that can be read; of any other file its id is told. */
  list(onDamaged?: (id: string, error: unknown) => void): Promise<Job[]>;
  /** Without reading a job. */
  ids(): Promise<string[]>;
  get(id: string): Promise<Job | undefined>;
  /** False when a job with this id exists already. */
  add(job: Job): Promise<boolean>;
  /** Changes what is there; undefined when the job is gone, or `uid` is given and is another's by now. */
  update(id: string, change: (job: Job) => Job, uid?: string): Promise<Job | undefined>;
  remove(id: string, uid?: string): Promise<boolean>;
  /** Changes whenever a job may have been added, changed or removed; cheap. */
  mark(): Promise<string>;
}

/** A process that claims or runs: whether it lives is asked at its socket, not guessed from its pid. */
export interface Owner {
  pid: number;
  host: string;
  socket: string;
}

export const FINAL_STATUSES = ["ok", "error", "timeout", "skipped", "missed", "interrupted"] as const;
export type FinalStatus = (typeof FINAL_STATUSES)[number];

/** Slots that passed without a run of their own, told with the claim that came after them. */
export interface MissedSlots {
  count: number;
  from: number;
  to: number;
}

/**
 * One link of a job's chain. Claim n+1 is an exclusive file that names claim n, so claims have one order that all
 * processes agree on, and no slot is claimed twice or out of turn.
 */
export interface Claim {
  seq: number;
  nonce: string;
  /** Nonce of claim seq-1; empty for the first. */
  previous: string;
  slot: number;
  /** The newest slot of the schedule so far: `slot`, or the one before if this run was asked for by hand. */
  newestSlot: number;
  /** Runs so far, with this one; for maxRuns. */
  runs: number;
  manual: boolean;
  claimedAt: number;
  /** Whose job it was, for the history of a job that is gone. */
  agentId?: string;
  owner: Owner;
  missed?: MissedSlots;
  /** Waits for the run before it. */
  queued?: boolean;
  /** A claim that is final from the start: a slot that overlapped, or was missed. */
  final?: { status: "skipped" | "missed"; reason: string };
}

export interface Started {
  at: number;
  attempt: number;
  owner: Owner;
}

export interface RunResult {
  status: FinalStatus;
  finishedAt: number;
  startedAt?: number;
  text: string;
  /** `text` was longer than what is kept. */
  cut?: boolean;
  usage?: { inputTokens?: number; outputTokens?: number; costUsd?: number };
  /** The agent in whose inbox the prompt lies, for host jobs. */
  inbox?: string;
}

export interface RunRecord {
  job: { id: string; uid: string };
  claim: Claim;
  started?: Started;
  result?: RunResult;
}
