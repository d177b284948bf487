import type { z } from "zod";
import type { Identity, ToolContext } from "./context.ts";

/**
 * What a call does to the world, at its strongest. Policy decides on this and never on a tool's name.
 * `read` looks; `write` changes the user's files; `exec` runs a program; `network` talks to a host;
 * `schedule` makes something happen later; `extend` adds a tool.
 */
export type Effect = "read" | "write" | "exec" | "network" | "schedule" | "extend";

export type Tier = "core" | "extended" | "full";

/** A file the call would read or write. `path` is absolute, lexically resolved; access checks containment. */
export interface TouchedPath {
  path: string;
  access: "read" | "write" | "delete";
}

/** A program the call would start: already argv, never a string for a shell. */
export interface TouchedCommand {
  argv: readonly string[];
}

export interface Touches {
  paths?: readonly TouchedPath[];
  commands?: readonly TouchedCommand[];
  urls?: readonly string[];
  /** `needed`: asks, unless an allow rule answers. `given`: a person approved it before, so autonomy asks no more. */
  approval?: { state: "needed" | "given"; why: string };
}

/** `text` and `structured` are each complete on their own: hosts show the model only one of them. */
export interface ToolOutput {
  text: string;
  structured?: Record<string, unknown>;
}

/** Limits a tool comes with; `limits.tools` in the config overrides each field. Times are in seconds. */
export interface ToolLimits {
  rateLimit?: { calls: number; perSeconds: number } | undefined;
  /** Calls of this tool in one session. */
  maxExecutionsPerRun?: number | undefined;
  timeoutSeconds?: number | undefined;
  /** Only for calls that read. `fields`: the parameters that make up the key; default all. */
  cache?:
    | boolean
    | {
        fields?: readonly string[] | undefined;
        /** Makes the key from the input, where that takes more than fields. Not in the config. */
        keyFn?: ((input: Record<string, unknown>) => unknown) | undefined;
        ttlSeconds?: number | undefined;
        scope?: "session" | "agent" | "global" | undefined;
      }
    | undefined;
  /** Only for tools that say they are idempotent. `codes`: the error codes worth a retry; default the retryable ones. */
  retry?:
    | {
        maxRetries?: number | undefined;
        backoffMs?: number | undefined;
        codes?: readonly string[] | undefined;
        /** Has the last word on an error worth a retry. Not in the config. */
        shouldRetry?: ((error: unknown) => boolean) | undefined;
      }
    | undefined;
  /** After so many failures in a row the tool is refused until the cool-down is over. */
  circuitBreaker?: { threshold: number; cooldownSeconds?: number | undefined } | undefined;
}

export interface ToolDef<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject | undefined = z.ZodObject | undefined,
> {
  name: string;
  title: string;
  description: string;
  tier: Tier;
  /** Parameters. Optional ones are `.nullable().optional()`, because some hosts send null for "not given". */
  schema: Input;
  /** Shape of `structured`; with it every success carries `structured`. */
  output?: Output;
  /** What hosts are shown instead of the schema made from `schema`. */
  inputSchema?: Record<string, unknown>;
  /** Checks the arguments instead of `schema`; throws `invalid_input`. */
  parse?(args: unknown): Record<string, unknown>;
  effect: Effect;
  /** True where the call may reach other machines. Defaults to what `effect` says. */
  openWorld?: boolean;
  /** Changes with the tool's definition, where that can change: an approval holds for one definition. */
  fingerprint?: string;
  /** Who made the tool, where an agent did: it never has more rights than they have. */
  maker?: Identity;
  /** The same call twice leaves the world as once; only then may anything be retried. */
  idempotent?: boolean;
  /** True where a write may remove or replace what was there. Defaults to true for every effect but `read`. */
  destructive?: boolean;
  /** It writes through the checkpoint store, so nobody has to keep its files for it. */
  keepsCheckpoints?: boolean;
  /** The effect of this very input where it is weaker than `effect` (an action that only lists). */
  effectOf?(input: z.output<Input>): Effect;
  /** What this call would touch, from the parsed input alone; policy and approval judge it before `execute`. */
  touches?(input: z.output<Input>, context: ToolContext): Touches | Promise<Touches>;
  limits?: ToolLimits;
  /** Always asks a person, whatever the approval mode; a function decides by input. */
  needsApproval?: boolean | ((input: z.output<Input>) => boolean);
  /** What a person is shown when the call needs approval. A text stands above the arguments; a function replaces them. */
  approvalPrompt?: string | ((input: z.output<Input>, context: ToolContext) => string | Promise<string>);
  /** Arguments that are filled in where the call leaves them out, before a person sees it. */
  approvalDefaults?: Record<string, unknown>;
  execute(input: z.output<Input>, context: ToolContext): Promise<string | ToolOutput>;
}

/** Types the handlers from the schema; returns its argument. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject | undefined = undefined>(
  tool: ToolDef<Input, Output>,
): ToolDef {
  // The list of tools is heterogeneous; each one's own input type is only needed where it is defined.
  return tool;
}
