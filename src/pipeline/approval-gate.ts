import type { Middleware } from "./call.ts";

/** Lets pass what policy allows; what it asks about goes to the approval middleware, loaded by the first such call. */
export function approvalGate(load: () => Promise<Middleware>): Middleware {
  let loaded: Promise<Middleware> | undefined;
  return function approvalGate(call, next) {
    if (call.verdict?.decision !== "ask") return next();
    loaded ??= load();
    return loaded.then((approval) => approval(call, next));
  };
}
