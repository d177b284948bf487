import type { Camel } from "./camel.ts";
import { runnerSchema } from "./config/cron-schema.ts";
import { libraryCaller } from "./call-tool.ts";
import type { AgentEvent, RunResult } from "./runners/agent-loop.ts";
import { LONGEST_TIMER_MS, systemClock } from "./shared/clock.ts";
import { CamelError } from "./shared/errors.ts";
import { newId } from "./shared/ids.ts";
import { functionOf } from "./server/describe-tool.ts";

export interface AgentOptions {
  /** Whose tools, policy, hooks and approvals the run has. */
  camel: Camel;
  message: string;
  history?: readonly { role: "user" | "assistant"; content: string }[];
  systemPrompt?: string;
  /** Each of these: default, what runner.openai in the config says. */
  model?: string;
  apiKey?: string;
  baseUrl?: string;
  provider?: "openai" | "anthropic" | "openrouter" | "ollama" | "other";
  thinking?: string;
  effort?: "low" | "medium" | "high" | "max";
  maxTurns?: number;
  toolPolicy?: { allow: string[]; deny: string[] };
  signal?: AbortSignal;
  timeoutMs?: number;
  maxBudgetUsd?: number;
  agentId?: string;
  sessionId?: string;
  env?: NodeJS.ProcessEnv;
  onEvent?: (event: AgentEvent) => void;
}

/** An agent on an OpenAI-compatible endpoint with this package's tools; every tool call passes the whole policy. */
export async function runAgent(options: AgentOptions): Promise<RunResult> {
  const { camel } = options;
  const configured = camel.config().settings.runner.openai;
  if ((options.model ?? configured?.model) === undefined)
    throw new CamelError("invalid_config", "No model is named.", { next: "Pass `model`." });
  const { openai: model } = runnerSchema.parse({
    openai: {
      ...configured,
      ...defined({
        model: options.model,
        apiKey: options.apiKey,
        baseUrl: options.baseUrl,
        provider: options.provider,
        thinking: options.thinking,
        effort: options.effort,
        maxTurns: options.maxTurns,
        tools: options.toolPolicy,
      }),
    },
  });
  if (model === undefined) throw new CamelError("invalid_config", "No model is named.");
  const sessionId = options.sessionId ?? newId("ses");
  const signals = [
    ...(options.signal === undefined ? [] : [options.signal]),
    ...(options.timeoutMs === undefined
      ? []
      : [AbortSignal.timeout(Math.min(options.timeoutMs, LONGEST_TIMER_MS))]),
  ];
  const signal = signals.length === 0 ? new AbortController().signal : AbortSignal.any(signals);
  const caller = libraryCaller(options.agentId, sessionId);
  const [{ runAgentLoop }, { resolveApiKey }, { withPromptHooks }] = await Promise.all([
    import("./runners/agent-loop.ts"),
    import("./runners/api-key.ts"),
    import("./runners/create.ts"),
  ]);
  const stops = (["approval_request", "approval_resolved"] as const).map((type) =>
    // Other runs and hosts may use the same camel.
    camel.on(type, (event) => {
      if (event.sessionId === sessionId) options.onEvent?.(event);
    }),
  );
  try {
    const { run } = await withPromptHooks(camel.promptHooks, options.message, sessionId, signal, async () => {
      const result = await runAgentLoop({
        prompt: options.message,
        history: options.history ?? [],
        system: options.systemPrompt ?? model.system,
        model,
        apiKey: await resolveApiKey(model.apiKey, options.env ?? process.env, (name) => camel.secret(name)),
        tools: camel.dispatcher.list(caller).map(functionOf),
        callTool: (name, args, toolSignal) =>
          camel.dispatcher.call({ id: newId("call"), name, args, caller, signal: toolSignal }),
        signal,
        clock: systemClock,
        sessionId,
        maxBudgetUsd: options.maxBudgetUsd,
        onEvent: options.onEvent,
      });
      return { text: result.response, run: result };
    });
    return run;
  } catch (error) {
    const isLate = signal.aborted && signal.reason instanceof Error && signal.reason.name === "TimeoutError";
    if (!isLate || error instanceof CamelError) throw error;
    throw new CamelError("timeout", `The run took longer than ${options.timeoutMs ?? "its"} ms.`, {
      cause: error,
      next: "Give it more time (timeoutMs), or less to do.",
    });
  } finally {
    for (const stop of stops) stop();
  }
}

function defined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
