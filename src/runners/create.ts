import type { RunnerConfig } from "../config/schema.ts";
import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import type { AgentTool } from "./agent-loop.ts";
import type { SecretSource } from "./api-key.ts";
import type { Runner } from "./runner.ts";

/** The user's scripts before a prompt goes out and after the answer; the first may block with a reason. */
export interface PromptHooks {
  beforePrompt(prompt: string, sessionId: string, signal: AbortSignal): Promise<string | undefined>;
  afterResponse(response: string, sessionId: string, signal: AbortSignal): Promise<void>;
}

export interface RunnerEnvironment {
  settings: RunnerConfig;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  hooks: PromptHooks;
  secret?: SecretSource;
  /** The tools the run may use, and the one door to them. */
  tools: () => readonly AgentTool[];
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
  const runner = await bareRunner(kind, environment);
  return (prompt, options, signal) =>
    withPromptHooks(environment.hooks, prompt, options.sessionId ?? "", signal, () =>
      runner(prompt, options, signal),
    );
}

async function bareRunner(kind: "command" | "openai", environment: RunnerEnvironment): Promise<Runner> {
  if (kind === "command") return (await import("./command.ts")).createCommandRunner(environment);
  const { openai } = environment.settings;
  if (openai === undefined) {
    throw new CamelError("unavailable", "No chat endpoint is configured.", {
      next: "Set runner.openai.model (and baseUrl, apiKey) in the config.",
    });
  }
  return (await import("./openai.ts")).createOpenAiRunner(openai, environment);
}

export async function withPromptHooks<T extends { text: string }>(
  hooks: PromptHooks,
  prompt: string,
  sessionId: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const reason = await hooks.beforePrompt(prompt, sessionId, signal);
  if (reason !== undefined) {
    throw new CamelError("blocked_by_hook", `A hook of the user blocks the prompt: ${reason}`, {
      next: "Change the prompt as the reason says.",
    });
  }
  const answer = await work();
  await hooks.afterResponse(answer.text, sessionId, signal);
  return answer;
}
