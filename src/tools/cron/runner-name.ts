import type { Config } from "../../config.ts";
import type { Job } from "../../stores/jobs.ts";

export const RUNNER_NAMES = ["host", "command", "openai"] as const;
export type RunnerName = (typeof RUNNER_NAMES)[number];

/** Who answers the job's prompt: what the job says, else what the config says. */
export function runnerNameOf(job: Pick<Job, "runner">, settings: Config): RunnerName {
  return RUNNER_NAMES.find((name) => name === job.runner) ?? settings.runner.use;
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
