import type { Clock } from "../shared/clock.ts";
import { CamelError, messageOf } from "../shared/errors.ts";
import { Accumulator, type ChatAnswer, type ChatDelta, type Json } from "./chat-answer.ts";

export interface ChatEndpoint {
  baseUrl: string;
  apiKey: string | undefined;
  stallMs: number;
  clock: Clock;
}

const MOST_TRIES = 4;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** No answer is longer, with all that surrounds it; an endpoint that goes on is not one. */
const LONGEST_STREAM = 16_000_000;
/** After the last piece only the usage is to come, and some endpoints neither send it nor close. */
const LAST_WORD_MS = 10_000;

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
  const alive = (isFinished = false): void => {
    timer.cancel();
    timer = endpoint.clock.setTimeout(
      () => stalled.abort(new Passing(`it said nothing for ${endpoint.stallMs / 1000} s`)),
      isFinished ? Math.min(LAST_WORD_MS, endpoint.stallMs) : endpoint.stallMs,
    );
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
    if (!response.ok) throw await refusal(response, endpoint.clock);
    const answer = new Accumulator(onDelta);
    if (response.headers.get("content-type")?.includes("application/json") === true)
      answer.add(parseChunk(await response.text()));
    else await readStream(response, alive, answer);
    if (outer.aborted) throw outer.reason;
    if (answer.isEmpty) throw new Passing("it held no answer");
    return answer.result();
  } catch (error) {
    if (outer.aborted)
      throw outer.reason instanceof Error
        ? outer.reason
        : new CamelError("cancelled", "The run was stopped.");
    if (stalled.signal.aborted) throw stalled.signal.reason;
    if (error instanceof Passing || error instanceof CamelError) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    throw new Passing(`${messageOf(error)}${cause}`);
  } finally {
    timer.cancel();
  }
}

async function refusal(response: Response, clock: Clock): Promise<Error> {
  const text = (await response.text().catch(() => "")).slice(0, 1_000);
  const message = `${response.status} ${messageIn(text) ?? text}`.trim();
  const passing = [408, 409, 425, 429].includes(response.status) || response.status >= 500;
  if (passing) return new Passing(message, waitAskedFor(response.headers, clock));
  return new CamelError("unavailable", `The model's endpoint refuses: ${message}`, {
    next: "Check runner.openai (model, apiKey, baseUrl) in the config.",
  });
}

/** `retry-after` is a number of seconds or a date; some send milliseconds beside it. */
function waitAskedFor(headers: Headers, clock: Clock): number | undefined {
  const exact = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(exact)) return Math.max(0, exact);
  const after = headers.get("retry-after") ?? "";
  const wait = /^[\d.]+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - clock.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

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
  alive: (isFinished: boolean) => void,
  answer: Accumulator,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  let read = 0;
  let done = false;
  const take = (line: string): void => {
    if (!line.startsWith("data:")) return;
    const data = line.slice(5).trim();
    if (data === "[DONE]") done = true;
    else if (data !== "") answer.add(parseChunk(data));
  };
  try {
    for await (const chunk of response.body ?? []) {
      const bytes = chunk as Uint8Array;
      read += bytes.length;
      if (read > LONGEST_STREAM) throw new CamelError("too_large", "The model's answer never ends.");
      rest += decoder.decode(bytes, { stream: true });
      const lines = rest.split(/\r\n|\n|\r/);
      rest = lines.pop() ?? "";
      for (const line of lines) take(line);
      if (done) return;
      alive(answer.finished);
    }
    take(rest);
  } catch (error) {
    // The answer is whole; asking again for what comes after it would be paid for twice.
    if (!answer.finished || error instanceof CamelError) throw error;
  }
  if (!done && !answer.finished) throw new Passing("the stream was cut off");
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
  const { error } = value as { error?: unknown };
  if (error !== undefined && error !== null)
    throw new Passing(`it broke off: ${messageIn(data) ?? "no reason given"}`);
  return value as Json;
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
