import type { RunnerConfig } from "../config/schema.ts";
import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import { matchesName } from "../shared/glob.ts";
import { newId } from "../shared/ids.ts";
import { isObject } from "../shared/is-object.ts";
import type { ChatAnswer, ChatMessage, ChatToolCall } from "./chat-answer.ts";
import { chat, type ChatEndpoint } from "./chat-stream.ts";

/** What happens in a run, for whoever watches it. */
export type AgentEvent =
  | { type: "init"; sessionId: string }
  | { type: "tool_call"; id: string; name: string; args: Record<string, unknown> }
  | { type: "tool_result"; id: string; name: string; preview: string }
  | { type: "stream_text"; text: string }
  | { type: "chunk"; text: string }
  | { type: "thinking"; state: "start" | "end" }
  | { type: "thinking_delta"; text: string }
  | { type: "usage"; inputTokens: number; outputTokens: number; cacheReadTokens?: number }
  | { type: "approval_request"; id: string; toolName: string; preview: string }
  | { type: "approval_resolved"; id: string; decision: string };

export interface AgentTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

export type AgentModel = NonNullable<RunnerConfig["openai"]>;

export interface AgentLoop {
  prompt: string;
  history?: readonly { role: "user" | "assistant"; content: string }[];
  system?: string | undefined;
  model: AgentModel;
  apiKey: string | undefined;
  tools: readonly AgentTool[];
  callTool: (
    name: string,
    args: unknown,
    signal: AbortSignal,
  ) => Promise<{ text: string; isError?: boolean }>;
  signal: AbortSignal;
  clock: Clock;
  sessionId?: string | undefined;
  maxBudgetUsd?: number | undefined;
  onEvent?: ((event: AgentEvent) => void) | undefined;
  /** What the run has cost so far, after each answer that says so: a run that fails has cost money, too. */
  onSpent?: ((costUsd: number) => void) | undefined;
}

export interface AgentUsage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens?: number;
  costUsd?: number;
}

export interface RunResult {
  response: string;
  /** What to append to the history: the prompt and the answer. */
  newMessages: { role: "user" | "assistant"; content: string }[];
  usage: AgentUsage | null;
  sessionId: string;
}

const PREVIEW = 150;

/** Endings after which nothing at all is no answer. */
const WITHHELD: Record<string, string> = {
  content_filter: "the endpoint withheld it",
  length: "all the tokens it may use went into thinking",
};

/** Think and act: ask the model, run the tools it wants, give it their results, until it answers without one. */
export async function runAgentLoop(loop: AgentLoop): Promise<RunResult> {
  const { model, clock } = loop;
  const sessionId = loop.sessionId ?? newId("ses");
  const emit = (event: AgentEvent): void => loop.onEvent?.(event);
  emit({ type: "init", sessionId });
  const endpoint: ChatEndpoint = {
    baseUrl: model.baseUrl,
    apiKey: loop.apiKey,
    stallMs: model.stallSeconds * 1000,
    clock,
  };
  const tools = loop.tools.filter((tool) => mayUse(tool.name, model.tools));
  const messages: ChatMessage[] = [
    ...(loop.system === undefined ? [] : [{ role: "system" as const, content: loop.system }]),
    ...(loop.history ?? []).map((message) => ({ ...message })),
    { role: "user", content: loop.prompt },
  ];
  const total: AgentUsage = { inputTokens: 0, outputTokens: 0 };
  let counted = false;

  const ask = async (withTools: boolean): Promise<ChatAnswer> => {
    const thinking = createThinkingEvents(emit);
    const answer = await chat(
      endpoint,
      {
        ...requestOf(model, messages),
        ...(withTools && tools.length > 0
          ? { tools: tools.map((tool) => ({ type: "function", function: tool })) }
          : {}),
      },
      loop.signal,
      (delta) => {
        thinking.next(delta.kind === "thinking");
        emit(
          delta.kind === "thinking"
            ? { type: "thinking_delta", text: delta.text }
            : { type: "stream_text", text: delta.text },
        );
      },
    );
    thinking.next(false);
    if (answer.usage !== undefined) {
      counted = true;
      addUsage(total, answer.usage, model);
      if (total.costUsd !== undefined) loop.onSpent?.(total.costUsd);
      const { inputTokens, outputTokens, cacheReadTokens } = answer.usage;
      emit({
        type: "usage",
        inputTokens,
        outputTokens,
        ...(cacheReadTokens === undefined ? {} : { cacheReadTokens }),
      });
    }
    return answer;
  };

  let response = "";
  const accept = ({ text, toolCalls, ending }: ChatAnswer): void => {
    response = text;
    if (text !== "" || toolCalls.length > 0 || ending === undefined || !(ending in WITHHELD)) return;
    throw new CamelError("unavailable", `The model's answer is empty: ${WITHHELD[ending]} (${ending}).`, {
      next: "Change the prompt, or runner.openai in the config.",
    });
  };
  for (let turn = 0; turn < model.maxTurns; turn++) {
    const answer = await ask(true);
    const { text, toolCalls } = answer;
    accept(answer);
    messages.push({
      role: "assistant",
      content: text === "" ? null : text,
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    });
    if (toolCalls.length === 0) break;
    for (const call of toolCalls) messages.push(await useTool(call, loop, tools, emit));
    if (loop.maxBudgetUsd !== undefined && (total.costUsd ?? 0) >= loop.maxBudgetUsd) break;
  }
  // It ended on a tool's result: one more question, without tools, so that the run has an answer.
  if (messages.at(-1)?.role === "tool") accept(await ask(false));
  emit({ type: "chunk", text: response });
  return {
    response,
    newMessages: [
      { role: "user", content: loop.prompt },
      { role: "assistant", content: response },
    ],
    usage: counted ? total : null,
    sessionId,
  };
}

function mayUse(name: string, { allow, deny }: AgentModel["tools"]): boolean {
  if (deny.some((pattern) => matchesName(pattern, name))) return false;
  return allow.length === 0 || allow.some((pattern) => matchesName(pattern, name));
}

async function useTool(
  call: ChatToolCall,
  loop: AgentLoop,
  tools: readonly AgentTool[],
  emit: (event: AgentEvent) => void,
): Promise<ChatMessage> {
  const { name } = call.function;
  const args = parseArguments(call.function.arguments);
  emit({ type: "tool_call", id: call.id, name, args: args ?? {} });
  const answer =
    args === undefined
      ? "The arguments are not a JSON object. Send the call again."
      : tools.some((tool) => tool.name === name)
        ? (await loop.callTool(name, args, loop.signal)).text
        : `There is no tool "${name}" in this run. Available: ${tools.map((tool) => tool.name).join(", ")}.`;
  if (loop.signal.aborted) {
    throw loop.signal.reason instanceof Error
      ? loop.signal.reason
      : new CamelError("cancelled", "The run was stopped.");
  }
  emit({ type: "tool_result", id: call.id, name, preview: answer.slice(0, PREVIEW) });
  return { role: "tool", tool_call_id: call.id, content: answer };
}

function parseArguments(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() === "" ? "{}" : text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Thinking and effort in the words each kind of endpoint takes; one that knows neither gets neither. */
function requestOf(model: AgentModel, messages: readonly ChatMessage[]): Record<string, unknown> {
  const base = { model: model.model, messages, stream: true, stream_options: { include_usage: true } };
  const wants = model.thinking !== "off" || model.effort !== undefined;
  if (!wants) return base;
  const effort = model.effort === "max" ? "high" : (model.effort ?? "medium");
  switch (model.provider) {
    case "openai":
      return { ...base, reasoning_effort: effort };
    case "openrouter":
      return { ...base, reasoning: { effort } };
    case "anthropic":
      return { ...base, thinking: { type: "enabled", budget_tokens: THINKING_TOKENS[effort] } };
    case "ollama":
      return { ...base, think: true };
    case "other":
      return base;
  }
}

const THINKING_TOKENS = { low: 2_048, medium: 8_192, high: 24_576 };

function addUsage(total: AgentUsage, usage: NonNullable<ChatAnswer["usage"]>, model: AgentModel): void {
  total.inputTokens += usage.inputTokens;
  total.outputTokens += usage.outputTokens;
  if (usage.cacheReadTokens !== undefined)
    total.cacheReadTokens = (total.cacheReadTokens ?? 0) + usage.cacheReadTokens;
  const { pricePerMillion: price } = model;
  const cost =
    usage.costUsd ??
    (price === undefined
      ? undefined
      : (usage.inputTokens * price.input + usage.outputTokens * price.output) / 1_000_000);
  if (cost !== undefined) total.costUsd = (total.costUsd ?? 0) + cost;
}

function createThinkingEvents(emit: (event: AgentEvent) => void): { next(isThinking: boolean): void } {
  let open = false;
  return {
    next(isThinking) {
      if (isThinking === open) return;
      open = isThinking;
      emit({ type: "thinking", state: isThinking ? "start" : "end" });
    },
  };
}
