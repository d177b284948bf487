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
    if (current === undefined) return terminal(call);
    let called = false;
    return current(call, async () => {
      if (called) throw new Error(`next() called twice by ${current.name || "a middleware"}`);
      called = true;
      try {
        return await run(call, index + 1);
      } catch (error) {
        called = false;
        throw error;
      }
    });
  };
  // async: a middleware that throws before its first await rejects like any other.
  return async (call) => run(call, 0);
}
