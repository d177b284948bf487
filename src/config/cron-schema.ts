import { z } from "zod";

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
  runner: z.enum(["host", "command", "openai"]).optional().describe("Who answers; default: runner.use."),
  overlap: z
    .enum(["skip", "queue", "replace", "allow"])
    .default("skip")
    .describe("When due while its last run goes on."),
  missed: z
    .enum(["once", "skip", "all"])
    .default("once")
    .describe("Times that passed while nothing ran: one run for all, none, or one each."),
  missedWithinSeconds: seconds.default(86_400).describe("Older missed times are not made up for."),
  onInterrupted: z.enum(["report", "retry"]).default("report").describe("A run that died half-way."),
  timeoutSeconds: seconds.optional().describe("Longest run; default: runner.timeoutSeconds."),
  maxRuns: z.number().int().min(1).optional().describe("Ends after so many runs."),
  until: z.string().min(1).optional().describe("ISO 8601 time after which it does not fire."),
  jitterSeconds: z.number().min(0).max(3_600).default(0).describe("Spreads the times by up to this much."),
  enabled: z.boolean().default(true),
});

export const runnerSchema = z.strictObject({
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
    .optional()
    .describe("For use: command. A preset of a known program, or the argv of any other."),
  openai: z
    .strictObject({
      model: z.string().min(1),
      apiKey: z
        .string()
        .min(1)
        .optional()
        .describe("env:NAME, secret://NAME (see `camel-mcp secret`), or the key itself."),
      baseUrl: z.url().default("https://api.openai.com/v1"),
      provider: z.enum(["openai", "anthropic", "openrouter", "ollama", "other"]).default("openai"),
      thinking: z.string().min(1).default("off"),
      effort: z.enum(["low", "medium", "high", "max"]).optional(),
      maxTurns: z.number().int().min(1).max(200).default(25),
      system: z.string().optional(),
      tools: z
        .strictObject({
          allow: z.array(z.string().min(1)).default([]),
          deny: z.array(z.string().min(1)).default([]),
        })
        .prefault({})
        .describe("Narrows what a run may use; policy holds besides."),
      stallSeconds: seconds.default(120).describe("A stream that says nothing for this long has failed."),
      pricePerMillion: z
        .strictObject({ input: z.number().min(0), output: z.number().min(0) })
        .optional()
        .describe("US dollars; the cost of a run is counted with it."),
    })
    .optional()
    .describe("For use: openai. A chat-completions endpoint; the run may call this server's tools."),
});

export const cronSchema = z.strictObject({
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
  maxCostPerDayUsd: z
    .number()
    .min(0)
    .default(20)
    .describe("Known cost of all runs, UTC day; more runs are refused."),
  keepRuns: z.number().int().min(1).default(200).describe("Finished runs kept for each job."),
  allowFromRuns: z.boolean().default(false).describe("true: a job's run may add and change jobs."),
  shared: z.boolean().default(false).describe("true: every agent sees and touches every agent's jobs."),
  jobs: z
    .array(configJobSchema)
    .default([])
    .describe("Jobs that are always there. The cron tool can pause them, not change them."),
});

export type ConfigJob = z.output<typeof configJobSchema>;
export type RunnerConfig = z.output<typeof runnerSchema>;
