import { CamelError } from "../shared/errors.ts";
import type { ResultStore } from "../stores/results.ts";
import { errorResult } from "./answer-errors.ts";
import type { Call, Middleware, ToolResult } from "./call.ts";

/**
 * Hosts cut long results in their own ways (some at 8,000 characters). Ours are cut first, at a line end, and
 * say how to get the rest; the whole is archived for get_tool_response.
 */
export function shapeOutput(options: { results: ResultStore; outputChars: () => number }): Middleware<Call> {
  return async function shapeOutput(call, next) {
    const result = await next();
    const cap = call.outputChars ?? options.outputChars();
    const structuredSize = result.structured === undefined ? 0 : jsonSize(result.structured);
    if (structuredSize === undefined)
      return errorResult(
        new CamelError("tool_failed", `${call.name} answered with data that JSON can't hold.`, {
          next: "Nothing in the call is wrong. Tell the user, whose tool it is.",
        }),
      );
    if (result.text.length <= cap && structuredSize <= cap * STRUCTURED_ALLOWANCE) return result;
    // The text alone is archived: it is complete on its own.
    const whole = result.text;
    const id = await options.results.put(call.caller.agentId, whole).catch(() => undefined);
    return cut(result, whole, cap, id);
  };
}

/** JSON escapes and field names take room that the text doesn't need. */
const STRUCTURED_ALLOWANCE = 1.5;

/** Undefined for what can't be sent: a tool of somebody else's may answer with a cycle or a bigint. */
function jsonSize(value: unknown): number | undefined {
  try {
    return JSON.stringify(value).length;
  } catch {
    return undefined;
  }
}

function cut(result: ToolResult, whole: string, cap: number, id: string | undefined): ToolResult {
  const shown = cutAtLineEnd(whole, cap - 250);
  const note = `[Cut: ${shown.length} of ${whole.length} characters shown. ${restAt(id, shown.length)}]`;
  return {
    ...result,
    text: shown.length < whole.length ? `${shown}${shown.endsWith("\n") ? "" : "\n"}${note}` : whole,
    ...(result.structured === undefined
      ? {}
      : { structured: cutStructured(result.structured, cap, shown.length, id) }),
  };
}

function restAt(id: string | undefined, offset: number): string {
  return id === undefined
    ? "The rest could not be archived; ask for less at once."
    : `Call get_tool_response with {"id":"${id}","offset":${offset}} for the rest.`;
}

/** The longest prefix of at most `room` characters that ends a line; a single endless line is cut inside. */
export function cutAtLineEnd(text: string, room: number): string {
  if (text.length <= room) return text;
  const end = text.lastIndexOf("\n", room - 1);
  if (end > room / 2) return text.slice(0, end + 1);
  const last = text.charCodeAt(room - 1);
  // Never half of a surrogate pair.
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? room - 1 : room);
}

/**
 * Shortens the longest strings and lists until the whole fits; its shape stays what the output schema says. Who sees
 * only this goes on in the archived text: where one string was shortened, after as much as was shown of it (the text
 * holds it too, so nothing is skipped); else from the text's beginning.
 */
function cutStructured(
  structured: Record<string, unknown>,
  cap: number,
  shownOfText: number,
  id: string | undefined,
): Record<string, unknown> {
  let longest = cap;
  let most = 200;
  let current = structured;
  let kept: number[] = [];
  while ((jsonSize(current) ?? 0) > cap * STRUCTURED_ALLOWANCE - 300 && longest > 50) {
    kept = [];
    current = shrink(structured, longest, most, kept) as Record<string, unknown>;
    longest = Math.floor(longest * 0.75);
    most = Math.max(1, Math.floor(most * 0.75));
  }
  if (current === structured) return structured;
  const [only = 0, ...others] = kept;
  const offset = others.length === 0 ? Math.min(only, shownOfText) : 0;
  const note = `[Shortened. ${restAt(id, offset)}]`;
  return { ...current, cut: { note, ...(id === undefined ? {} : { id, offset }) } };
}

/** `kept` gets the length of each shortened string, and 0 for each shortened list. */
function shrink(value: unknown, longest: number, most: number, kept: number[]): unknown {
  if (typeof value === "string") {
    const short = cutAtLineEnd(value, longest);
    if (short.length < value.length) kept.push(short.length);
    return short;
  }
  if (Array.isArray(value)) {
    if (value.length > most) kept.push(0);
    return value.slice(0, most).map((item) => shrink(item, longest, most, kept));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, shrink(item, longest, most, kept)]),
    );
  }
  return value;
}
