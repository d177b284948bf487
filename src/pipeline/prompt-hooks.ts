import type { HookRunner } from "./hooks.ts";

/** The user's scripts around a prompt that a runner sends. */
export function createPromptHooks(runner: HookRunner): {
  beforePrompt(prompt: string, session: string, signal: AbortSignal): Promise<string | undefined>;
  afterResponse(response: string, session: string, signal: AbortSignal): Promise<void>;
} {
  return {
    beforePrompt: (prompt, session, signal) =>
      runner.run(
        "before_prompt",
        { point: "before_prompt", session, message: prompt },
        { SESSION: session, MESSAGE: prompt },
        signal,
      ),
    async afterResponse(response, session, signal) {
      await runner.run(
        "after_response",
        { point: "after_response", session, response },
        { SESSION: session, RESPONSE: response },
        signal,
      );
    },
  };
}
