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
  /** Why it ended, in the endpoint's word: stop, tool_calls, length, content_filter, ... */
  ending: string | undefined;
}

export type ChatDelta = { kind: "text" | "thinking"; text: string };

export type Json = Record<string, unknown>;

interface ToolCallPart {
  index?: number;
  id?: string | null;
  function?: { name?: string | null; arguments?: string | null };
}

interface Delta {
  content?: unknown;
  /** In place of content, where the model will not. */
  refusal?: string | null;
  reasoning?: string | null;
  reasoning_content?: string | null;
  tool_calls?: ToolCallPart[] | null;
}

/** Puts an answer together from its pieces, or from the one piece of an endpoint that doesn't stream. */
export class Accumulator {
  finished = false;
  #hasChoice = false;
  #text = "";
  #ending: string | undefined;
  #usage: ChatUsage | undefined;
  readonly #calls: { index: number; call: ChatToolCall }[] = [];
  readonly #onDelta: (delta: ChatDelta) => void;

  constructor(onDelta: (delta: ChatDelta) => void) {
    this.#onDelta = onDelta;
  }

  /** Nothing of what came was an answer. */
  get isEmpty(): boolean {
    return !this.#hasChoice;
  }

  add(chunk: Json): void {
    const choices = Array.isArray(chunk["choices"]) ? (chunk["choices"] as Json[]) : [];
    const choice = choices[0] as
      | { delta?: Delta; message?: Delta; finish_reason?: string | null }
      | undefined;
    if (choice !== undefined) this.#hasChoice = true;
    const delta = choice?.delta ?? choice?.message;
    const thinking = delta?.reasoning_content ?? delta?.reasoning;
    if (typeof thinking === "string" && thinking !== "") this.#onDelta({ kind: "thinking", text: thinking });
    const text = textOf(delta?.content) + (delta?.refusal ?? "");
    if (text !== "") {
      this.#text += text;
      this.#onDelta({ kind: "text", text });
    }
    for (const [position, part] of (delta?.tool_calls ?? []).entries()) this.#addToCall(part, position);
    if (typeof choice?.finish_reason === "string") {
      this.finished = true;
      this.#ending = choice.finish_reason;
    }
    this.#usage = usageIn(chunk["usage"]) ?? this.#usage;
  }

  /** Tool calls come in pieces: the first names the tool, the rest are bits of its arguments. */
  #addToCall(part: ToolCallPart, position: number): void {
    const index = part.index ?? position;
    const id = part.id ?? "";
    const known = this.#calls.findLast((one) => one.index === index)?.call;
    // Some endpoints give every one of several calls the same index; another id is another call.
    const isAnother = known !== undefined && id !== "" && id !== known.id && known.id !== "";
    const call: ChatToolCall =
      known === undefined || isAnother
        ? { id: "", type: "function", function: { name: "", arguments: "" } }
        : known;
    if (call !== known) this.#calls.push({ index, call });
    if (id !== "") call.id = id;
    const name = part.function?.name ?? "";
    // And some repeat the name with every bit of the arguments.
    if (name !== call.function.name) call.function.name += name;
    call.function.arguments += part.function?.arguments ?? "";
  }

  result(): ChatAnswer {
    const toolCalls = this.#calls.map(({ call }, number) => ({ ...call, id: call.id || `call_${number}` }));
    return { text: this.#text, toolCalls, usage: this.#usage, ending: this.#ending };
  }
}

/** Text, or parts of which some are text. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as { text?: unknown }[]).map(({ text }) => (typeof text === "string" ? text : "")).join("");
}

function usageIn(value: unknown): ChatUsage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { prompt_tokens, completion_tokens, prompt_tokens_details, cost } = value as {
    prompt_tokens?: unknown;
    completion_tokens?: unknown;
    prompt_tokens_details?: { cached_tokens?: unknown } | null;
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
