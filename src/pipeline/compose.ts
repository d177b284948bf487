import type { Call, Middleware, ToolResult } from "./call.ts";

/** First in the array is outermost. Calling `next` twice would run the tool twice, so it is an error. */
export function compose<C extends Call>(
  middleware: readonly Middleware<C>[],
  terminal: (call: C) => Promise<ToolResult>,
): (call: C) => Promise<ToolResult> {
  const run = (call: C, index: number): Promise<ToolResult> => {
    const current = middleware[index];
    if (current === undefined) return terminal(call);
    let called = false;
    return current(call, () => {
      if (called)
        return Promise.reject(new Error(`next() called twice by ${current.name || "a middleware"}`));
      called = true;
      return run(call, index + 1);
    });
  };
  // async: a middleware that throws before its first await rejects like any other.
  return async (call) => run(call, 0);
}
