import { z } from "zod";
import { CamelError, messageOf } from "../shared/errors.ts";
import { isObject } from "../shared/is-object.ts";
import { createInputParser } from "./dynamic/json-schema.ts";
import type { Effect, ToolDef, ToolLimits, ToolOutput } from "./tool.ts";

/**
 * A tool written for another framework: an object with a name and one of `invoke`, `call`, `run` or `func`. Its
 * effect is unknown, so it counts as the strongest unless it says otherwise.
 */
export interface ForeignTool {
  name: string;
  title?: string;
  description?: string;
  /** A zod object, or a JSON Schema of the arguments. */
  schema?: z.ZodObject | Record<string, unknown>;
  /** What tools of MCP servers call it. */
  inputSchema?: Record<string, unknown>;
  effect?: Effect;
  needsApproval?: boolean | ((input: Record<string, unknown>) => boolean);
  approvalPrompt?: string | ((input: Record<string, unknown>) => string | Promise<string>);
  approvalDefaults?: Record<string, unknown>;
  maxExecutionsPerRun?: number;
  cache?:
    | boolean
    | {
        keyFn?: (input: Record<string, unknown>) => unknown;
        ttlMs?: number;
        scope?: "session" | "agent" | "global";
      };
  retry?: {
    maxRetries?: number;
    backoffMs?: number;
    shouldRetry?: (error: unknown) => boolean;
    circuitBreakerThreshold?: number;
  };
  invoke?(input: Record<string, unknown>, context?: unknown): unknown;
  call?(input: Record<string, unknown>, context?: unknown): unknown;
  run?(input: Record<string, unknown>, context?: unknown): unknown;
  func?(input: Record<string, unknown>, context?: unknown): unknown;
}

/** For users of the library: types the handlers from the schema; a tool of another framework is adopted. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject | undefined = undefined>(
  tool: ToolDef<Input, Output>,
): ToolDef;
export function defineTool(tool: ForeignTool): ToolDef;
export function defineTool(tool: ToolDef | ForeignTool): ToolDef {
  return "execute" in tool ? tool : adoptTool(tool);
}

export function adoptTool(foreign: ForeignTool): ToolDef {
  const { name, approvalPrompt, approvalDefaults, needsApproval } = foreign;
  // The way a framework itself calls its tools comes first: `func` may be what the others wrap.
  const method = (["invoke", "call", "run", "func"] as const).find(
    (one) => typeof foreign[one] === "function",
  );
  if (method === undefined) {
    throw new CamelError("invalid_input", `The tool "${name}" has nothing to call.`, {
      next: "Give it one of invoke, call, run or func.",
    });
  }
  return {
    name,
    title: foreign.title ?? name,
    description: foreign.description ?? name,
    tier: "core",
    ...schemaOf(foreign),
    effect: foreign.effect ?? "exec",
    // Its author asks for retries, so its author says that they do no harm.
    idempotent: foreign.retry !== undefined,
    limits: limitsOf(foreign),
    ...(needsApproval === undefined ? {} : { needsApproval }),
    ...(approvalPrompt === undefined ? {} : { approvalPrompt }),
    ...(approvalDefaults === undefined ? {} : { approvalDefaults }),
    async execute(input, context) {
      try {
        return outputOf(name, await foreign[method]?.(input, { signal: context.signal }));
      } catch (cause) {
        if (cause instanceof CamelError || context.signal.aborted) throw cause;
        throw failure(name, messageOf(cause), cause);
      }
    },
  };
}

function schemaOf({
  name,
  schema,
  inputSchema,
}: ForeignTool): Pick<ToolDef, "schema" | "inputSchema" | "parse"> {
  if (schema instanceof z.ZodObject) return { schema };
  const described = schema ?? inputSchema;
  return described === undefined
    ? { schema: z.looseObject({}) }
    : { schema: z.looseObject({}), inputSchema: described, parse: createInputParser(name, described) };
}

const contentSchema = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).min(1),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean().optional(),
});

function outputOf(name: string, output: unknown): string | ToolOutput {
  if (typeof output === "string") return output;
  const mcp = contentSchema.safeParse(output);
  if (mcp.success) {
    const { content, structuredContent, isError } = mcp.data;
    const text = content.map((part) => part.text ?? `[${part.type}]`).join("\n");
    if (isError === true) throw failure(name, text);
    return structuredContent === undefined ? text : { text, structured: structuredContent };
  }
  const text = JSON.stringify(output, null, 1) ?? "done";
  // Through JSON, so that what a host gets as data is what it gets as text.
  return isObject(output) ? { text, structured: JSON.parse(text) as Record<string, unknown> } : text;
}

function failure(name: string, message: string, cause?: unknown): CamelError {
  return new CamelError("tool_failed", `${name}: ${message}`, {
    cause,
    next: "Correct the arguments if the message says so; else tell the user.",
  });
}

function limitsOf({ maxExecutionsPerRun, cache, retry }: ForeignTool): ToolLimits {
  return {
    maxExecutionsPerRun,
    cache:
      typeof cache === "object"
        ? {
            keyFn: cache.keyFn,
            scope: cache.scope,
            ttlSeconds: cache.ttlMs === undefined ? undefined : cache.ttlMs / 1000,
          }
        : cache,
    retry:
      retry === undefined
        ? undefined
        : {
            maxRetries: retry.maxRetries,
            backoffMs: retry.backoffMs,
            shouldRetry: retry.shouldRetry,
            codes: ["tool_failed", "timeout"],
          },
    circuitBreaker:
      retry?.circuitBreakerThreshold === undefined ? undefined : { threshold: retry.circuitBreakerThreshold },
  };
}
