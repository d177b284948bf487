import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import type { Middleware, ResolvedCall } from "./call.ts";

/** Ends a call after its time, or when the caller has gone; the tool's signal is aborted either way. */
export function timeout(options: { clock: Clock; seconds(call: ResolvedCall): number }): Middleware {
  return async function timeout(call, next) {
    const seconds = options.seconds(call);
    const controller = new AbortController();
    const cancelled = (): CamelError =>
      new CamelError("cancelled", `${call.name} was cancelled by the caller.`);
    if (call.signal.aborted) throw cancelled();
    const context = { ...call.context, signal: controller.signal };
    call.context = context;
    let stop = (): void => {};
    const ended = new Promise<never>((_, reject) => {
      const end = (error: CamelError): void => {
        controller.abort(error);
        reject(error);
      };
      const timer = options.clock.setTimeout(() => {
        end(
          new CamelError("timeout", `${call.name} took longer than ${seconds} s and was stopped.`, {
            next: "Ask for less in one call, or raise limits.timeoutSeconds in the config.",
          }),
        );
      }, seconds * 1000);
      const onAbort = (): void => end(cancelled());
      call.signal.addEventListener("abort", onAbort, { once: true });
      stop = () => {
        timer.cancel();
        call.signal.removeEventListener("abort", onAbort);
      };
    });
    try {
      return await Promise.race([next(), ended]);
    } finally {
      stop();
    }
  };
}
