import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";

/** One message of a chat, in the words of the endpoint. */
export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string | null;
  tool_calls?: ChatToolCall[];
  tool_call_id?: string;
}

export interface ChatToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

export interface ChatUsage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens?: number;
  /** Where the endpoint itself says what it cost. */
  costUsd?: number;
}

export interface ChatAnswer {
  text: string;
  toolCalls: ChatToolCall[];
  usage: ChatUsage | undefined;
}

export interface ChatEndpoint {
  baseUrl: string;
  apiKey: string | undefined;
  stallMs: number;
  clock: Clock;
}

export type ChatDelta = { kind: "text" | "thinking"; text: string };

const MOST_TRIES = 4;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
const LONGEST_ANSWER = 4_000_000;

/** An answer that may come if the same request is sent again. */
class Passing extends Error {
  readonly waitMs: number | undefined;
  constructor(message: string, waitMs?: number) {
    super(message);
    this.waitMs = waitMs;
  }
}

/**
 * One streamed chat completion. Busy, failing and cut-off answers are asked for again: nothing has been done with
 * half an answer, so that is safe; a listener may hear its beginning twice.
 */
export async function chat(
  endpoint: ChatEndpoint,
  body: Record<string, unknown>,
  signal: AbortSignal,
  onDelta: (delta: ChatDelta) => void,
): Promise<ChatAnswer> {
  let problem = "";
  for (let attempt = 0; attempt < MOST_TRIES; attempt++) {
    try {
      return await once(endpoint, body, signal, onDelta);
    } catch (error) {
      if (signal.aborted || !(error instanceof Passing)) throw error;
      problem = error.message;
      if (attempt === MOST_TRIES - 1) break;
      await wait(
        Math.min(LONGEST_WAIT_MS, error.waitMs ?? FIRST_WAIT_MS * 2 ** attempt),
        endpoint.clock,
        signal,
      );
    }
  }
  throw new CamelError("unavailable", `The model gave no answer in ${MOST_TRIES} tries: ${problem}`, {
    next: "Check runner.openai.baseUrl and the provider's state, then run it again.",
  });
}

async function once(
  endpoint: ChatEndpoint,
  body: Record<string, unknown>,
  outer: AbortSignal,
  onDelta: (delta: ChatDelta) => void,
): Promise<ChatAnswer> {
  const stalled = new AbortController();
  const signal = AbortSignal.any([outer, stalled.signal]);
  let timer = { cancel: (): void => {} };
  const alive = (): void => {
    timer.cancel();
    timer = endpoint.clock.setTimeout(() => {
      stalled.abort(new Passing(`it said nothing for ${endpoint.stallMs / 1000} s`));
    }, endpoint.stallMs);
  };
  try {
    alive();
    const response = await fetch(`${endpoint.baseUrl.replace(/\/+$/, "")}/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "text/event-stream",
        ...(endpoint.apiKey === undefined ? {} : { authorization: `Bearer ${endpoint.apiKey}` }),
      },
      body: JSON.stringify(body),
      signal,
      redirect: "error",
    });
    alive();
    if (!response.ok) throw await refusal(response);
    if (response.headers.get("content-type")?.includes("application/json") === true)
      return wholeAnswer((await response.json()) as Json, onDelta);
    return await readStream(response, alive, onDelta);
  } catch (error) {
    if (outer.aborted)
      throw outer.reason instanceof Error
        ? outer.reason
        : new CamelError("cancelled", "The run was stopped.");
    if (stalled.signal.aborted) throw stalled.signal.reason;
    if (error instanceof Passing || error instanceof CamelError) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    throw new Passing(`${error instanceof Error ? error.message : String(error)}${cause}`);
  } finally {
    timer.cancel();
  }
}

async function refusal(response: Response): Promise<Error> {
  const text = (await response.text().catch(() => "")).slice(0, 1_000);
  const message = `${response.status} ${messageIn(text) ?? text}`.trim();
  const passing = [408, 409, 425, 429].includes(response.status) || response.status >= 500;
  if (passing) {
    const after = Number(response.headers.get("retry-after") ?? Number.NaN);
    return new Passing(message, Number.isFinite(after) ? after * 1000 : undefined);
  }
  return new CamelError("unavailable", `The model's endpoint refuses: ${message}`, {
    next: "Check runner.openai (model, apiKey, baseUrl) in the config.",
  });
}

type Json = Record<string, unknown>;

function messageIn(text: string): string | undefined {
  try {
    const value = JSON.parse(text) as { error?: { message?: unknown } | string };
    const error = value.error;
    if (typeof error === "string") return error;
    return typeof error?.message === "string" ? error.message : undefined;
  } catch {
    return undefined;
  }
}

/** Server-sent events; `data: [DONE]` ends them. What ends before that, or before a finish_reason, was cut off. */
async function readStream(
  response: Response,
  alive: () => void,
  onDelta: (delta: ChatDelta) => void,
): Promise<ChatAnswer> {
  const answer = new Accumulator(onDelta);
  const decoder = new TextDecoder();
  let rest = "";
  let done = false;
  const take = (line: string): void => {
    if (!line.startsWith("data:")) return;
    const data = line.slice(5).trim();
    if (data === "[DONE]") done = true;
    else if (data !== "") answer.add(parseChunk(data));
  };
  for await (const chunk of response.body ?? []) {
    alive();
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const lines = rest.split(/\r\n|\n|\r/);
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
    if (done) break;
  }
  if (!done) take(rest);
  if (!done && !answer.finished) throw new Passing("the stream was cut off");
  return answer.result();
}

function parseChunk(data: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw new Passing("the stream held something that is not JSON");
  }
  if (typeof value !== "object" || value === null)
    throw new Passing("the stream held something that is no object");
  const { error } = value as { error?: { message?: unknown } | null };
  if (error !== undefined && error !== null)
    throw new Passing(
      `it broke off: ${typeof error.message === "string" ? error.message : "no reason given"}`,
    );
  return value as Json;
}

interface Delta {
  content?: string | null;
  reasoning?: string | null;
  reasoning_content?: string | null;
  tool_calls?: { index?: number; id?: string; function?: { name?: string; arguments?: string } }[];
}

/** Tool calls come in pieces: the first names the tool, the rest are bits of its arguments. */
class Accumulator {
  finished = false;
  #text = "";
  #usage: ChatUsage | undefined;
  readonly #calls = new Map<number, ChatToolCall>();
  readonly #onDelta: (delta: ChatDelta) => void;

  constructor(onDelta: (delta: ChatDelta) => void) {
    this.#onDelta = onDelta;
  }

  add(chunk: Json): void {
    const [choice] = (chunk["choices"] ?? []) as {
      delta?: Delta;
      message?: Delta;
      finish_reason?: string | null;
    }[];
    const delta = choice?.delta ?? choice?.message;
    const thinking = delta?.reasoning_content ?? delta?.reasoning;
    if (typeof thinking === "string" && thinking !== "") this.#onDelta({ kind: "thinking", text: thinking });
    if (typeof delta?.content === "string" && delta.content !== "") {
      this.#text += delta.content;
      if (this.#text.length > LONGEST_ANSWER)
        throw new CamelError("too_large", "The model's answer never ends.");
      this.#onDelta({ kind: "text", text: delta.content });
    }
    for (const [position, part] of (delta?.tool_calls ?? []).entries()) {
      const index = part.index ?? position;
      const call = this.#calls.get(index) ?? {
        id: part.id ?? `call_${index}`,
        type: "function",
        function: { name: "", arguments: "" },
      };
      if (part.id !== undefined && part.id !== "") call.id = part.id;
      call.function.name += part.function?.name ?? "";
      call.function.arguments += part.function?.arguments ?? "";
      this.#calls.set(index, call);
    }
    if (typeof choice?.finish_reason === "string") this.finished = true;
    const usage = usageIn(chunk["usage"]);
    if (usage !== undefined) this.#usage = usage;
  }

  result(): ChatAnswer {
    return { text: this.#text, toolCalls: [...this.#calls.values()], usage: this.#usage };
  }
}

function wholeAnswer(body: Json, onDelta: (delta: ChatDelta) => void): ChatAnswer {
  const answer = new Accumulator(onDelta);
  answer.add(body);
  return answer.result();
}

function usageIn(value: unknown): ChatUsage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { prompt_tokens, completion_tokens, prompt_tokens_details, cost } = value as {
    prompt_tokens?: unknown;
    completion_tokens?: unknown;
    prompt_tokens_details?: { cached_tokens?: unknown };
    cost?: unknown;
  };
  const cached = prompt_tokens_details?.cached_tokens;
  return {
    inputTokens: typeof prompt_tokens === "number" ? prompt_tokens : 0,
    outputTokens: typeof completion_tokens === "number" ? completion_tokens : 0,
    ...(typeof cached === "number" && cached > 0 ? { cacheReadTokens: cached } : {}),
    ...(typeof cost === "number" ? { costUsd: cost } : {}),
  };
}

function wait(milliseconds: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimeout(resolve, milliseconds);
    signal.addEventListener(
      "abort",
      () => {
        timer.cancel();
        resolve();
      },
      { once: true },
    );
  });
}
