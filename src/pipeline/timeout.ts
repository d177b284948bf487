import type { Clock } from "../shared/clock.ts";
import { createDeadlines } from "../shared/deadlines.ts";
import { CamelError } from "../shared/errors.ts";
import type { Middleware, ResolvedCall } from "./call.ts";

/** How long a tool that was told to stop has to say how it ended. */
const GRACE_MS = 2_000;

/**
 * Ends a call after its time, or when the caller has gone; the tool's signal is aborted either way. What finishes all
 * the same is answered as finished: a change that was made must never be reported as stopped.
 */
export function timeout(options: { clock: Clock; seconds(call: ResolvedCall): number }): Middleware {
  const endAfter = createDeadlines(options.clock);
  return function timeout(call, next) {
    const seconds = options.seconds(call);
    const cancelled = (): CamelError =>
      new CamelError("cancelled", `${call.name} was cancelled by the caller.`);
    if (call.signal.aborted) throw cancelled();
    // Made when the tool asks for it: a quick tool never does, and making one takes longer than all else here.
    let controller: AbortController | undefined;
    let failure: CamelError | undefined;
    call.context.toolSignal = () => {
      controller ??= new AbortController();
      if (failure !== undefined) controller.abort(failure);
      return controller.signal;
    };
    const work = next();
    return new Promise((resolve, reject) => {
      let grace: { cancel(): void } | undefined;
      const end = (error: CamelError): void => {
        failure = error;
        controller?.abort(error);
        grace = options.clock.setTimeout(() => {
          stop();
          reject(error);
        }, GRACE_MS);
      };
      const deadline = endAfter(seconds * 1000, () => {
        end(
          new CamelError("timeout", `${call.name} took longer than ${seconds} s and was stopped.`, {
            next: "Ask for less in one call. The user can raise timeoutSeconds: of the tool's entry in limits.tools or clientTools, else of limits.",
          }),
        );
      });
      const onAbort = (): void => end(cancelled());
      call.signal.addEventListener("abort", onAbort, { once: true });
      const stop = (): void => {
        deadline.cancel();
        grace?.cancel();
        call.signal.removeEventListener("abort", onAbort);
      };
      work.then(
        (result) => {
          stop();
          resolve(result);
        },
        (error: unknown) => {
          stop();
          reject(failure ?? (error as Error));
        },
      );
    });
  };
}
