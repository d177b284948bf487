import { toCamelError } from "../shared/errors.ts";
import type { Call, Middleware, ToolResult } from "./call.ts";

/**
 * First in the array is outermost. Calling `next` again would run the tool again, so it is an error unless the
 * attempt before it failed: only a retry does that.
 */
export function compose<C extends Call>(
  middleware: readonly Middleware<C>[],
  terminal: (call: C) => Promise<ToolResult>,
): (call: C) => Promise<ToolResult> {
  const run = (call: C, index: number): Promise<ToolResult> => {
    const current = middleware[index];
    let called = false;
    const next = (): Promise<ToolResult> => {
      if (called)
        return Promise.reject(new Error(`next() called twice by ${current?.name || "a middleware"}`));
      called = true;
      const rest = run(call, index + 1);
      // First to hear of a failure, so that whoever catches it may call again.
      rest.catch(() => (called = false));
      return rest;
    };
    try {
      return current === undefined ? terminal(call) : current(call, next);
    } catch (thrown) {
      // A middleware needn't be async: most have nothing to wait for, and each await takes its time.
      return Promise.reject(toCamelError(thrown));
    }
  };
  return (call) => run(call, 0);
}
