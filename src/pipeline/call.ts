import type { ErrorCode } from "../shared/errors.ts";
import type { Caller, Progress, ToolContext } from "../tools/context.ts";
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
  /** Longest answer in characters; the configured cap where absent. Resource reads ask for more. */
  outputChars?: number;
}

/** A call whose tool exists for this caller and whose input has passed the schema. */
export interface ResolvedCall extends Call {
  tool: ToolDef;
  input: Record<string, unknown>;
  effect: Effect;
  touches: Touches;
  context: ToolContext;
}

/** `text` and `structured` are each complete on their own. */
export interface ToolResult {
  text: string;
  structured?: Record<string, unknown>;
  isError?: boolean;
  code?: ErrorCode;
}

export type Next = () => Promise<ToolResult>;

/** Options in, a named function out; one concern. */
export type Middleware<C extends Call = ResolvedCall> = (call: C, next: Next) => Promise<ToolResult>;
