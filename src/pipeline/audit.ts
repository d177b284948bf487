import type { Clock } from "../shared/clock.ts";
import type { AuditEntry, AuditStore } from "../stores/audit.ts";
import type { Call, Middleware, ToolResult } from "./call.ts";
import { redact } from "./redact.ts";

/** Outermost, so that it sees refusals too: who called what, how it ended, how long it took. */
export function audit(options: { store: AuditStore; clock: Clock }): Middleware<Call> {
  const { store, clock } = options;
  return async function audit(call, next) {
    const started = clock.monotonic();
    const result = await next();
    store.append(entryOf(call, result, clock.now(), clock.monotonic() - started));
    return result;
  };
}

/** Made when it is written. Until then it keeps of the call what it needs, not the call and all that hangs on it. */
function entryOf(
  { id, name, caller, args }: Call,
  { isError = false, code, text, fromCache }: ToolResult,
  time: number,
  ms: number,
): () => AuditEntry {
  const error = isError ? text : undefined;
  const chars = text.length;
  return () => ({
    time: new Date(time).toISOString(),
    event: "tool_call",
    callId: id,
    tool: name.slice(0, 100),
    agent: caller.agentId,
    client: caller.client,
    ...(caller.token === undefined ? {} : { token: caller.token }),
    transport: caller.transport,
    session: caller.sessionId,
    depth: caller.depth,
    args: redact(args),
    outcome: isError ? (code ?? "error") : "ok",
    ...(fromCache === true ? { fromCache } : {}),
    ...(error === undefined ? {} : { error: redact(error, 500) }),
    chars,
    ms: Math.round(ms * 100) / 100,
  });
}
