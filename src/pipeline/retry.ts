import type { Clock } from "../shared/clock.ts";
import { CamelError, toCamelError } from "../shared/errors.ts";
import type { ToolDef, ToolLimits } from "../tools/tool.ts";
import type { Middleware, Next, ResolvedCall, ToolResult } from "./call.ts";

const DEFAULT_BACKOFF_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** Tries again what may work the second time, and only what leaves the world as once when done twice. */
export function retry(options: {
  clock: Clock;
  random: () => number;
  limitsOf(tool: ToolDef): ToolLimits;
}): Middleware {
  return function retry(call, next) {
    const setting = options.limitsOf(call.tool).retry;
    return setting === undefined || call.tool.idempotent !== true ? next() : repeat(setting, call, next);
  };

  async function repeat(
    setting: NonNullable<ToolLimits["retry"]>,
    call: ResolvedCall,
    next: Next,
  ): Promise<ToolResult> {
    const { maxRetries = 2, backoffMs = DEFAULT_BACKOFF_MS, codes, shouldRetry } = setting;
    let failure: CamelError | undefined;
    for (let attempt = 0; ; attempt++) {
      try {
        return await next();
      } catch (thrown) {
        // That the breaker opened meanwhile says less than what opened it.
        const error = toCamelError(thrown);
        if (error.code === "circuit_open" && failure !== undefined) throw failure;
        failure = error;
        const worthIt = codes === undefined ? error.retryable : codes.includes(error.code);
        if (!worthIt || attempt >= maxRetries || error.code === "cancelled" || call.signal.aborted)
          throw error;
        if (shouldRetry?.(error.cause ?? error) === false) throw error;
        // Half of the pause is chance, so that many callers don't come back in step.
        const pause = Math.min(backoffMs * 2 ** attempt, LONGEST_PAUSE_MS);
        await wait(pause / 2 + (options.random() * pause) / 2, call.signal, options.clock);
      }
    }
  }
}

function wait(milliseconds: number, signal: AbortSignal, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      timer.cancel();
      reject(new CamelError("cancelled", "The call was cancelled between two attempts."));
    };
    const timer = clock.setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", stop, { once: true });
  });
}
