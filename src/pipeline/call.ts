import type { ErrorCode } from "../shared/errors.ts";
import type { Caller, Progress, ToolContext } from "../tools/context.ts";
import type { Facts, Verdict } from "./policy.ts";
import type { Effect, ToolDef, Touches } from "../tools/tool.ts";

/** A request as it reaches the dispatcher: nothing about it is trusted yet. */
export interface Call {
  id: string;
  name: string;
  args: unknown;
  caller: Caller;
  signal: AbortSignal;
  progress?: (update: Progress) => void;
  /** The folders the client says are open, where it can tell. Asked for at most once a session. */
  roots?: () => Promise<readonly string[]>;
  /** A person approved it as part of a tool's envelope; answers what autonomy would ask. */
  approved?: boolean;
  /** A definition that isn't kept yet, tried under its own name. Never set from outside. */
  trial?: ToolDef | undefined;
  /** Asks the person at the other end, where the client can. Absent: it can't. */
  ask?: Ask;
  /** Longest answer in characters; the configured cap where absent. Resource reads ask for more. */
  outputChars?: number;
  /** Longest time of the tool in seconds; the configured limit where absent. A job's run has its own. */
  timeoutSeconds?: number;
}

/** A form for a person: flat, each property a string, number, boolean or enumeration. */
export interface Question {
  message: string;
  schema: Record<string, unknown>;
}

/** As the client sent it: `content` is not checked against the form. */
export interface Answer {
  action: "accept" | "decline" | "cancel";
  content?: Record<string, unknown>;
}

/** Undefined: nobody could be asked after all. Rejects when a signal ends the waiting. */
export type Ask = (question: Question, signal: AbortSignal) => Promise<Answer | undefined>;

/** What the pipeline may change of what a tool sees. */
export interface CallContext extends ToolContext {
  /** Gives the signal the tool sees; the caller's own where undefined. */
  toolSignal: (() => AbortSignal) | undefined;
}

/** A call whose tool exists for this caller and whose input has passed the schema. */
export interface ResolvedCall extends Call {
  tool: ToolDef;
  input: Record<string, unknown>;
  effect: Effect;
  touches: Touches;
  context: CallContext;
  /** Set by access: what policy decided, and on what. */
  verdict?: Verdict;
  facts?: Facts;
  /** A person agreed to a call that policy asks about. */
  isApproved?: boolean;
}

/** `text` and `structured` are each complete on their own. */
export interface ToolResult {
  text: string;
  structured?: Record<string, unknown>;
  isError?: boolean;
  code?: ErrorCode;
  /** The answer to an earlier call; the tool didn't run. */
  fromCache?: true;
}

export type Next = () => Promise<ToolResult>;

/** Options in, a named function out; one concern. */
export type Middleware<C extends Call = ResolvedCall> = (call: C, next: Next) => Promise<ToolResult>;
