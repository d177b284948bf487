import { toCamelError } from "../shared/errors.ts";
import type { Call, Middleware, ToolResult } from "./call.ts";

const RUNNING = Promise.resolve();

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
    let last: Promise<ToolResult> | undefined;
    const next = (): Promise<ToolResult> =>
      (last = last === undefined ? run(call, index + 1) : again(last, call, index));
    try {
      return current === undefined ? terminal(call) : current(call, next);
    } catch (thrown) {
      // A middleware needn't be async: most have nothing to wait for, and each await takes its time.
      return Promise.reject(toCamelError(thrown));
    }
  };
  const again = async (last: Promise<ToolResult>, call: C, index: number): Promise<ToolResult> => {
    const hasFailed = await Promise.race([last, RUNNING]).then(
      () => false,
      () => true,
    );
    if (!hasFailed) throw new Error(`next() called twice by ${middleware[index]?.name || "a middleware"}`);
    return run(call, index + 1);
  };
  return (call) => run(call, 0);
}
