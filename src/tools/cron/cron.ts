import { z } from "zod";
import { defineTool } from "../tool.ts";

const optionalText = (description: string) => z.string().nullable().optional().describe(description);

const schema = z.object({
  action: z
    .enum(["list", "add", "remove", "run", "update", "pause", "resume", "runs", "ack"])
    .describe("runs: history of a job. ack: take prompts out of the inbox."),
  id: optionalText("Job id. add: made if absent. Needed by all others but list, runs and ack."),
  name: optionalText("Display name."),
  schedule: optionalText(
    "Repeating: 30s, 5m, 1h, 1d, cron fields (0 9 * * 1-5; six with seconds; L W # work), @daily. Once: +20m, +2h, +1d, or an ISO 8601 time.",
  ),
  prompt: optionalText("What the agent is asked to do when the job fires."),
  tz: optionalText("IANA time zone, Europe/Berlin. Default: the user's."),
  runner: z
    .enum(["host", "command", "openai"])
    .nullable()
    .optional()
    .describe("Who answers: host puts the prompt into your inbox; the others must be configured."),
  overlap: z
    .enum(["skip", "queue", "replace", "allow"])
    .nullable()
    .optional()
    .describe("When due while its last run goes on. Default skip."),
  missed: z
    .enum(["once", "skip", "all"])
    .nullable()
    .optional()
    .describe("Times that passed while nothing ran. Default once: one run makes up for them."),
  missedWithin: optionalText("Older missed times are not made up for: 2h, 1d. Default 1d."),
  onInterrupted: z
    .enum(["report", "retry"])
    .nullable()
    .optional()
    .describe("A run that died half-way. Default report; retry only if running twice does no harm."),
  timeout: optionalText("Longest run: 90s, 15m."),
  maxRuns: z.number().int().nullable().optional().describe("Ends after so many runs."),
  until: optionalText("ISO 8601 time after which it does not fire."),
  jitter: optionalText("Spreads the times by up to this much: 30s, 5m."),
  run: z.number().int().nullable().optional().describe("runs: show this one whole."),
});

export type CronInput = z.output<typeof schema>;

export const cron = defineTool({
  name: "cron",
  title: "Scheduled jobs",
  description: `Jobs that fire at set times, also when this chat is over: list, add, update, remove, pause, resume, run now, runs (history), ack.
add needs schedule and prompt. A prompt that is due waits in the inbox: run hands it to you, ack clears it.`,
  tier: "core",
  schema,
  output: z.object({
    action: z.string(),
    summary: z.string(),
    job: z.record(z.string(), z.unknown()).optional(),
    jobs: z.array(z.record(z.string(), z.unknown())).optional(),
    runs: z.array(z.record(z.string(), z.unknown())).optional(),
    inbox: z.unknown().optional(),
    damaged: z.array(z.string()).optional(),
    usage: z.unknown().optional(),
    cut: z.boolean().optional(),
  }),
  effect: "schedule",
  idempotent: false,
  destructive: true,
  effectOf: (input) => (input.action === "list" || input.action === "runs" ? "read" : "schedule"),
  async touches(input, context) {
    if (input.action !== "run") return {};
    const { commandFor } = await import("./run-job.ts");
    const argv = await commandFor(input, context);
    return argv === undefined ? {} : { commands: [{ argv }] };
  },
  async execute(input, context) {
    // croner and the stores are loaded by the first call: a host that only lists tools doesn't wait for them.
    const { act } = await import("./actions.ts");
    return act(input, context);
  },
});
