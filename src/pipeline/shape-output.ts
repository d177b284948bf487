import type { ResultStore } from "../stores/results.ts";
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
    if (result.text.length <= cap && structuredSize <= cap * STRUCTURED_ALLOWANCE) return result;
    // The text alone is archived: it is complete on its own.
    const whole = result.text;
    const id = await options.results.put(call.caller.agentId, whole).catch(() => undefined);
    return cut(result, whole, cap, id);
  };
}

/** JSON escapes and field names take room that the text doesn't need. */
const STRUCTURED_ALLOWANCE = 1.5;

function jsonSize(value: unknown): number {
  return JSON.stringify(value).length;
}

function cut(result: ToolResult, whole: string, cap: number, id: string | undefined): ToolResult {
  const room = cap - 250;
  const shown = cutAtLineEnd(whole, room);
  const rest = whole.length - shown.length;
  const how = (offset: number, what: string): string =>
    id === undefined
      ? "The rest could not be archived; ask for less at once."
      : `Call get_tool_response with {"id":"${id}","offset":${offset}} for ${what}.`;
  const note = `[Cut: ${shown.length} of ${whole.length} characters shown. ${how(shown.length, "the rest")}]`;
  return {
    ...result,
    text: rest > 0 ? `${shown}${shown.endsWith("\n") ? "" : "\n"}${note}` : whole,
    ...(result.structured === undefined
      ? {}
      : {
          // Its cuts are elsewhere than the text's, so the whole text is what completes it.
          structured: cutStructured(
            result.structured,
            cap,
            `[Cut: lists and texts are shortened. ${how(0, "the whole as text")}]`,
            id,
          ),
        }),
  };
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

/** Shortens the longest strings and lists until the whole fits; its shape stays what the output schema says. */
function cutStructured(
  structured: Record<string, unknown>,
  cap: number,
  note: string,
  id: string | undefined,
): Record<string, unknown> {
  let longest = cap;
  let most = 200;
  let current = structured;
  while (jsonSize(current) > cap * STRUCTURED_ALLOWANCE - 300 && longest > 50) {
    current = shrink(structured, longest, most) as Record<string, unknown>;
    longest = Math.floor(longest * 0.75);
    most = Math.max(1, Math.floor(most * 0.75));
  }
  return current === structured
    ? structured
    : { ...current, cut: { note, ...(id === undefined ? {} : { id }) } };
}

function shrink(value: unknown, longest: number, most: number): unknown {
  if (typeof value === "string") return cutAtLineEnd(value, longest);
  if (Array.isArray(value)) return value.slice(0, most).map((item) => shrink(item, longest, most));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shrink(item, longest, most)]));
  }
  return value;
}
