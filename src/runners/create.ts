import type { RunnerConfig } from "../config.ts";
import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import { createCommandRunner } from "./command.ts";
import type { Runner } from "./runner.ts";

export interface RunnerEnvironment {
  settings: RunnerConfig;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  /** The tools the run may use, and the one door to them. */
  tools: () => readonly { name: string; description: string; parameters: Record<string, unknown> }[];
  callTool: (
    name: string,
    args: unknown,
    signal: AbortSignal,
  ) => Promise<{ text: string; isError?: boolean }>;
}

export async function createRunner(
  kind: "command" | "openai",
  environment: RunnerEnvironment,
): Promise<Runner> {
  if (kind === "command") return createCommandRunner(environment);
  const { openai } = environment.settings;
  if (openai === undefined) {
    throw new CamelError("unavailable", "No chat endpoint is configured.", {
      next: "Set runner.openai.model (and baseUrl, apiKey) in the config.",
    });
  }
  const { createOpenAiRunner } = await import("./openai.ts");
  return createOpenAiRunner(openai, environment);
}
