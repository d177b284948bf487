import type { Middleware, ResolvedCall } from "./call.ts";

/** Lets pass what policy allows; what it asks about goes to the approval middleware, loaded by the first such call. */
export function approvalGate(
  load: () => Promise<Middleware>,
  stillAllowed: (call: ResolvedCall) => Promise<void>,
): Middleware {
  let loaded: Promise<Middleware> | undefined;
  return function approvalGate(call, next) {
    if (call.verdict?.decision !== "ask") return next();
    return asked(call, async () => {
      await stillAllowed(call);
      return next();
    });
  };

  async function asked(...[call, next]: Parameters<Middleware>): ReturnType<Middleware> {
    loaded ??= load();
    return (await loaded)(call, next);
  }
}
