import { z } from "zod";

/**
 * The configuration: one schema gives the types, the defaults, the editor's JSON schema and the checks.
 * Loading, merging and reloading are in config-load.ts.
 */
const nameGlobs = z.array(z.string().min(1));

const toolsSchema = z.strictObject({
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

const ruleSchema = z.strictObject({
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

const policyShape = {
  tools: toolsSchema.prefault({}),
  autonomy: autonomySchema.prefault({}),
  rules: z
    .array(ruleSchema)
    .default([])
    .describe("Allow, ask or deny by tool, path and command. The strictest match wins."),
};

const scopeSchema = z.strictObject({
  match: z
    .strictObject({
      agent: z.string().min(1).optional(),
      client: z.string().min(1).optional(),
      token: z.string().min(1).optional(),
      depth: z.number().int().min(0).optional().describe("Callers at this depth or deeper."),
    })
    .describe("Who this scope is about; all given fields must match. Globs."),
  ...policyShape,
});

const seconds = z.number().positive();

/** Fields that a job has wherever it comes from; the tool's own parameters say the same in its words. */
const configJobSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)
    .describe("Lower-case letters, digits, dash, underscore."),
  name: z.string().min(1).max(200).optional(),
  schedule: z.string().min(1).describe("30s 5m 1h 1d, cron fields, @daily, or an ISO time for once."),
  prompt: z.string().min(1).describe("What the agent is asked to do."),
  tz: z.string().min(1).optional().describe("IANA time zone; default: cron.timezone."),
  agent: z.string().min(1).default("main").describe("Whose job it is."),
  runner: z.enum(["host", "command", "openai"]).optional(),
  overlap: z.enum(["skip", "queue", "replace", "allow"]).default("skip"),
  missed: z.enum(["once", "skip", "all"]).default("once"),
  missedWithinSeconds: seconds.default(86_400),
  onInterrupted: z.enum(["report", "retry"]).default("report"),
  timeoutSeconds: seconds.optional(),
  maxRuns: z.number().int().min(1).optional(),
  until: z.string().min(1).optional(),
  jitterSeconds: z.number().min(0).max(3_600).default(0),
  enabled: z.boolean().default(true),
});

const runnerSchema = z.strictObject({
  use: z
    .enum(["host", "command", "openai"])
    .default("host")
    .describe(
      "Who answers a job's prompt. host: it waits in the agent's inbox. command: a program. openai: a chat endpoint.",
    ),
  timeoutSeconds: seconds.max(86_400).default(900).describe("A run is ended after this time."),
  outputBytes: z.number().int().min(1_000).max(5_000_000).default(200_000).describe("More output is cut."),
  history: z
    .number()
    .int()
    .min(0)
    .max(20)
    .default(0)
    .describe("How many of the job's last results go before its prompt."),
  command: z
    .strictObject({
      preset: z.enum(["claude", "codex", "gemini", "copilot", "opencode"]).optional(),
      argv: z
        .array(z.string().min(1))
        .min(1)
        .optional()
        .describe("Program and arguments, never a shell string. The prompt comes on stdin."),
      args: z.array(z.string()).default([]).describe("Added to the preset's own arguments."),
      env: z.record(z.string(), z.string()).default({}).describe("Added to the environment."),
      cwd: z.string().min(1).optional().describe("Default: the workspace the job was added in."),
    })
    .optional(),
  openai: z
    .strictObject({
      model: z.string().min(1),
      apiKey: z
        .string()
        .min(1)
        .optional()
        .describe("env:NAME (or secret://NAME where a secret store is set up); a bare key works too."),
      baseUrl: z.url().default("https://api.openai.com/v1"),
      provider: z.enum(["openai", "anthropic", "openrouter", "ollama", "other"]).default("openai"),
      thinking: z.string().min(1).default("off"),
      effort: z.enum(["low", "medium", "high", "max"]).optional(),
      maxTurns: z.number().int().min(1).max(200).default(25),
      system: z.string().optional(),
      tools: toolsSchema.prefault({}),
      stallSeconds: seconds.default(120).describe("A stream that says nothing for this long has failed."),
      pricePerMillion: z
        .strictObject({ input: z.number().min(0), output: z.number().min(0) })
        .optional()
        .describe("US dollars; the cost of a run is counted with it."),
    })
    .optional(),
});

const cronSchema = z.strictObject({
  enabled: z.boolean().default(true).describe("false: nothing fires from this process."),
  timezone: z.string().min(1).optional().describe("Default zone of jobs; else the system's."),
  announce: z.boolean().default(true).describe("One line on other tools' results while a prompt waits."),
  minIntervalSeconds: seconds.default(60).describe("Shortest interval of a job whose runner costs money."),
  maxJobs: z.number().int().min(1).default(1_000).describe("Runtime jobs an agent may have."),
  maxRunsPerDay: z
    .number()
    .int()
    .min(1)
    .default(500)
    .describe("Of all jobs that are not for the inbox, UTC day."),
  maxCostPerDayUsd: z.number().min(0).default(20),
  keepRuns: z.number().int().min(1).default(200).describe("Finished runs kept for each job."),
  allowFromRuns: z.boolean().default(false).describe("true: a job's run may add and change jobs."),
  shared: z.boolean().default(false).describe("true: every agent sees and touches every agent's jobs."),
  jobs: z.array(configJobSchema).default([]),
});

export const configSchema = z.strictObject({
  ...policyShape,
  cron: cronSchema.prefault({}),
  runner: runnerSchema.prefault({}),
  tools: z
    .strictObject({
      ...toolsSchema.shape,
      tier: z
        .enum(["core", "extended", "full"])
        .default("extended")
        .describe("core: the five tools. extended: plus their helpers. full: everything."),
      prefix: z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,15}$/)
        .optional()
        .describe("Put before every tool's name, for hosts that add no prefix of their own."),
    })
    .prefault({}),
  scopes: z
    .array(scopeSchema)
    .default([])
    .describe("Narrower policy for some callers. A scope can never widen."),
  limits: z
    .strictObject({
      timeoutSeconds: seconds.default(50).describe("A call is ended after this time."),
      outputChars: z
        .number()
        .int()
        .min(500)
        .max(20_000)
        .default(8_000)
        .describe("Longer results are cut at a line end; get_tool_response pages through the rest."),
    })
    .prefault({}),
  memory: z
    .strictObject({
      root: z
        .string()
        .min(1)
        .optional()
        .describe("Folder with MEMORY.md and memory/. Default: the workspace."),
      ranking: z
        .enum(["passages", "keyword"])
        .default("passages")
        .describe("passages: ranked passages. keyword: a plain count of query words, to compare with."),
      shared: z
        .array(
          z.strictObject({
            name: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/),
            root: z.string().min(1),
            agents: z
              .array(z.string().min(1))
              .default(["*"])
              .describe("Globs of the agents that may read it."),
          }),
        )
        .default([])
        .describe("Other folders with memory files, searched too, read-only, shown as shared/NAME/…"),
    })
    .prefault({}),
  audit: z
    .strictObject({
      enabled: z.boolean().default(true),
      maxBytes: z
        .number()
        .int()
        .min(10_000)
        .default(10_000_000)
        .describe("The log is rotated past this size."),
      keep: z.number().int().min(0).default(5).describe("How many rotated logs are kept."),
    })
    .prefault({}),
  results: z
    .strictObject({
      maxAgeHours: z.number().positive().default(24),
      maxCount: z.number().int().min(1).default(200).describe("Archived results kept for each agent."),
    })
    .prefault({}),
  http: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default("127.0.0.1")
        .describe("Any other address than loopback demands tokens."),
      port: z.number().int().min(0).max(65_535).default(7_800),
      allowedHosts: z
        .array(z.string().min(1))
        .default([])
        .describe("Host names accepted besides loopback and `host`."),
      allowedOrigins: z
        .array(z.string().min(1))
        .default([])
        .describe("Browser origins' host names accepted besides loopback."),
      maxBodyBytes: z.number().int().min(1_024).max(16_000_000).default(4_000_000),
      maxSessions: z.number().int().min(1).default(200),
      maxConcurrent: z
        .number()
        .int()
        .min(1)
        .default(256)
        .describe("Requests served at once; more are answered 503."),
      idleSeconds: seconds.default(1_800).describe("A session nobody uses is closed after this time."),
    })
    .prefault({}),
});

export type Config = z.output<typeof configSchema>;
export type PolicyConfig = Pick<Config, "autonomy" | "rules"> & {
  tools: { allow: string[]; deny: string[] };
};
export type Rule = z.output<typeof ruleSchema>;
export type ConfigJob = z.output<typeof configJobSchema>;
export type RunnerConfig = z.output<typeof runnerSchema>;
export type ScopeMatch = z.output<typeof scopeSchema>["match"];

export const defaultConfig: Config = configSchema.parse({});

export function configJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(configSchema, { io: "input" }), title: "camel-mcp configuration" };
}
