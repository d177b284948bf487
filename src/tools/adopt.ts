import { z } from "zod";
import { CamelError } from "../shared/errors.ts";
import type { Effect, ToolDef, ToolLimits, ToolOutput } from "./tool.ts";

/**
 * A tool written for another framework: an object with a name and one of `func`, `invoke`, `call` or `run`. Its
 * effect is unknown, so it counts as the strongest unless it says otherwise.
 */
export interface ForeignTool {
  name: string;
  title?: string;
  description?: string;
  schema?: z.ZodObject;
  effect?: Effect;
  needsApproval?: boolean;
  /** What a person is asked. */
  approvalPrompt?: string;
  /** Arguments that are filled in where the call leaves them out. */
  approvalDefaults?: Record<string, unknown>;
  maxExecutionsPerRun?: number;
  cache?: boolean | { ttlMs?: number; scope?: "session" | "agent" | "global" };
  retry?: { maxRetries?: number; backoffMs?: number; circuitBreakerThreshold?: number };
  func?(input: Record<string, unknown>, context?: unknown): unknown;
  invoke?(input: Record<string, unknown>, context?: unknown): unknown;
  call?(input: Record<string, unknown>, context?: unknown): unknown;
  run?(input: Record<string, unknown>, context?: unknown): unknown;
}

export function adoptTool(foreign: ForeignTool): ToolDef {
  const method = (["func", "invoke", "call", "run"] as const).find(
    (name) => typeof foreign[name] === "function",
  );
  if (method === undefined) {
    throw new CamelError("invalid_input", `The tool "${foreign.name}" has nothing to call.`, {
      next: "Give it one of func, invoke, call or run.",
    });
  }
  const { approvalPrompt, approvalDefaults, needsApproval } = foreign;
  return {
    name: foreign.name,
    title: foreign.title ?? foreign.name,
    description: foreign.description ?? foreign.name,
    tier: "core",
    schema: foreign.schema ?? z.looseObject({}),
    effect: foreign.effect ?? "exec",
    // Its author asks for retries, so its author says that they do no harm.
    idempotent: foreign.retry !== undefined,
    limits: limitsOf(foreign),
    ...(needsApproval === undefined ? {} : { needsApproval }),
    ...(approvalPrompt === undefined
      ? {}
      : { approvalPrompt: (input) => `${approvalPrompt}\n${JSON.stringify(input)}` }),
    async execute(input, context): Promise<string | ToolOutput> {
      let output: unknown;
      try {
        output = await foreign[method]?.({ ...approvalDefaults, ...input }, { signal: context.signal });
      } catch (cause) {
        if (cause instanceof CamelError || context.signal.aborted) throw cause;
        throw new CamelError(
          "tool_failed",
          `${foreign.name}: ${cause instanceof Error ? cause.message : String(cause)}`,
          {
            cause,
            next: "Correct the arguments if the message says so; else tell the user.",
          },
        );
      }
      if (typeof output === "string") return output;
      const text = JSON.stringify(output, null, 1) ?? "done";
      const isObject = typeof output === "object" && output !== null && !Array.isArray(output);
      // Through JSON, so that what a host gets as data is what it gets as text.
      return isObject ? { text, structured: JSON.parse(text) as Record<string, unknown> } : text;
    },
  };
}

function limitsOf({ maxExecutionsPerRun, cache, retry }: ForeignTool): ToolLimits {
  return {
    maxExecutionsPerRun,
    cache:
      typeof cache === "object"
        ? { scope: cache.scope, ttlSeconds: cache.ttlMs === undefined ? undefined : cache.ttlMs / 1000 }
        : cache,
    retry:
      retry === undefined
        ? undefined
        : { maxRetries: retry.maxRetries, backoffMs: retry.backoffMs, codes: ["tool_failed", "timeout"] },
    circuitBreaker:
      retry?.circuitBreakerThreshold === undefined ? undefined : { threshold: retry.circuitBreakerThreshold },
  };
}
