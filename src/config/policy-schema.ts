import { z } from "zod";
import { ERROR_CODES, type ErrorCode } from "../shared/errors.ts";

/** The part of the config's schema that says who may do what, how often, and who is asked. */
const nameGlobs = z.array(z.string().min(1));

export const toolsSchema = z.strictObject({
  allow: nameGlobs
    .default([])
    .describe("If not empty, only these tools may be used. Names or globs (`memory_*`)."),
  deny: nameGlobs
    .default([])
    .describe("These tools are never available, whatever `allow` says. Names or globs."),
});

const autonomySchema = z.strictObject({
  level: z
    .enum(["readonly", "supervised", "full"])
    .default("full")
    .describe(
      "readonly: only tools that read. supervised: everything else asks. full: allowed unless a rule says no.",
    ),
  forbiddenPaths: z
    .array(z.string().min(1))
    .default([])
    .describe("Folders or globs no tool may touch, added to the built-in ones. `~` is the user's home."),
  sensitiveFiles: z
    .array(z.string().min(1))
    .default([])
    .describe("Globs of files with secrets no tool may read or write, added to the built-in ones."),
  allowSensitiveFiles: z
    .boolean()
    .default(false)
    .describe("Turns the built-in list of sensitive files off. Only the user's own config file may do this."),
});

export const ruleSchema = z.strictObject({
  tool: z.string().min(1).describe("Name or glob of the tools this rule is about."),
  path: z
    .string()
    .min(1)
    .optional()
    .describe("Glob, relative to the workspace or absolute. Matches if any touched path matches."),
  command: z.string().min(1).optional().describe("Glob over a command's argv joined by spaces."),
  decision: z.enum(["allow", "ask", "deny"]),
  reason: z.string().min(1).optional().describe("Shown to the model when the rule refuses."),
  match: z
    .array(z.string().min(1))
    .optional()
    .describe("Examples this rule must match; checked when the file is loaded."),
  notMatch: z
    .array(z.string().min(1))
    .optional()
    .describe("Examples this rule must not match; checked when the file is loaded."),
});

export const policyShape = {
  tools: toolsSchema.prefault({}),
  autonomy: autonomySchema.prefault({}),
  rules: z
    .array(ruleSchema)
    .default([])
    .describe("Allow, ask or deny by tool, path and command. The strictest match wins."),
};

export const scopeSchema = z.strictObject({
  match: z
    .strictObject({
      agent: z.string().min(1).optional(),
      client: z.string().min(1).optional(),
      token: z.string().min(1).optional(),
      depth: z.number().int().min(0).optional().describe("Callers at this depth or deeper."),
    })
    .describe("Who this scope is about; all given fields must match. Globs."),
  ...policyShape,
  autonomy: autonomySchema
    .extend({
      allowSensitiveFiles: z
        .boolean()
        .optional()
        .describe(
          "false: the built-in list of sensitive files holds here, whatever the base says. Default: as the base.",
        ),
    })
    .prefault({}),
});

export const seconds = z.number().positive();

export const toolLimitsSchema = z.strictObject({
  tool: z.string().min(1).describe("Name or glob of the tools these limits are about."),
  rateLimit: z
    .strictObject({ calls: z.number().int().min(1), perSeconds: seconds })
    .optional()
    .describe("So many calls by one caller in any window of that length."),
  maxExecutionsPerRun: z.number().int().min(1).optional().describe("Calls in one session."),
  timeoutSeconds: seconds.optional(),
  cache: z
    .union([
      z.boolean(),
      z.strictObject({
        fields: z
          .array(z.string().min(1))
          .optional()
          .describe("Parameters that make up the key. Default: all."),
        ttlSeconds: seconds.optional().describe("How long an answer is good. Default: 300."),
        scope: z
          .enum(["session", "agent", "global"])
          .optional()
          .describe("Who shares an answer. Default: session."),
      }),
    ])
    .optional()
    .describe(
      "true, or `{ fields, ttlSeconds, scope }`: the parameters that make up the key (default all), how long an answer is good (300), and who shares it: session, agent (the sessions of one client) or global (all clients that policy treats alike). Only calls that read are cached, and never for another agent.",
    ),
  retry: z
    .strictObject({
      maxRetries: z.number().int().min(0).max(10).optional().describe("Default: 2."),
      backoffMs: z
        .number()
        .int()
        .min(1)
        .optional()
        .describe("The first pause; each is twice the last, half of it by chance. Default: 500."),
      codes: z
        .array(z.enum(Object.keys(ERROR_CODES) as ErrorCode[]))
        .optional()
        .describe("Error codes worth a retry. Default: those that errors.md calls retryable."),
    })
    .optional()
    .describe("Only idempotent tools are tried again."),
  circuitBreaker: z
    .strictObject({
      threshold: z.number().int().min(1),
      cooldownSeconds: seconds.optional().describe("Default: 60."),
    })
    .optional()
    .describe("After so many failures in a row the tool is refused until the cool-down is over."),
});

export const approvalsSchema = z.strictObject({
  mode: z
    .enum(["off", "smart", "always"])
    .default("off")
    .describe("off: only rules ask. smart: everything but reading asks. always: every call asks."),
  allowlist: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Calls that needn't ask: `Tool`, or `Tool:pattern` for the paths, commands and addresses it touches.",
    ),
  timeoutSeconds: seconds.default(120).describe("How long a person has to answer."),
  fallback: z
    .enum(["deny", "allow"])
    .default("deny")
    .describe("What happens when nobody answers in that time."),
  elicitation: z
    .enum(["auto", "off"])
    .default("auto")
    .describe("auto: ask in the host where it can show a question. off: for hosts that choke on one."),
  forward: z
    .strictObject({
      command: z
        .array(z.string())
        .min(1)
        .optional()
        .describe(
          "Gets the request as JSON on stdin. Exit 0 approves, 1 denies, anything else decides nothing.",
        ),
      webhook: z.url().optional().describe("Gets the request as JSON with signed links to approve or deny."),
      replyUrl: z
        .url()
        .optional()
        .describe("Address of `camel-mcp serve` as the reader of the webhook sees it."),
    })
    .refine(({ command, webhook }) => command !== undefined || webhook !== undefined, {
      error: "name a command or a webhook; without one nobody is told.",
    })
    .optional()
    .describe("Who else is told about a request that waits."),
});

export const hooksSchema = z.strictObject({
  enabled: z.boolean().default(false).describe("Runs the scripts in hooks/ of the state directory."),
  timeoutSeconds: seconds.default(10).describe("A script is ended after this time."),
});
