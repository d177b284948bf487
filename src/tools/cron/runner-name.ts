import type { Config } from "../../config/schema.ts";
import { CamelError } from "../../shared/errors.ts";
import type { Job } from "../../stores/jobs.ts";

export const RUNNER_NAMES = ["host", "command", "openai"] as const;
export type RunnerName = (typeof RUNNER_NAMES)[number];

/** Who answers the job's prompt: what the job says, else what the config says. */
export function runnerNameOf(job: Pick<Job, "runner">, settings: Config): RunnerName {
  if (job.runner === undefined) return settings.runner.use;
  const known = RUNNER_NAMES.find((name) => name === job.runner);
  if (known !== undefined) return known;
  // Another must not do in its place: it may cost money, or see what it should not.
  throw new CamelError("unavailable", `This version has no runner "${job.runner}".`, {
    next: `Update the job: its runner is one of ${RUNNER_NAMES.join(", ")}.`,
  });
}

/** In words, for answers; undefined where the config has no such runner. */
export function describeRunner(name: RunnerName, settings: Config): string | undefined {
  const { command, openai } = settings.runner;
  if (name === "host") return "you: the prompt waits in your inbox (cron action run hands it over)";
  if (name === "openai")
    return openai === undefined ? undefined : `the model ${openai.model} at ${openai.baseUrl}`;
  const program = command?.argv?.[0] ?? command?.preset;
  return program === undefined ? undefined : `the program ${program}`;
}
