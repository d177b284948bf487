import type { Clock } from "../shared/clock.ts";
import type { AuditStore } from "../stores/audit.ts";
import type { Call, Middleware } from "./call.ts";
import { redact } from "./redact.ts";

/** Outermost, so that it sees refusals too: who called what, how it ended, how long it took. */
export function audit(options: { store: AuditStore; clock: Clock }): Middleware<Call> {
  const { store, clock } = options;
  return async function audit(call, next) {
    const started = clock.monotonic();
    const result = await next();
    const ended = clock.monotonic();
    const time = clock.now();
    store.append(() => ({
      time: new Date(time).toISOString(),
      event: "tool_call",
      callId: call.id,
      tool: call.name.slice(0, 100),
      agent: call.caller.agentId,
      client: call.caller.client,
      ...(call.caller.token === undefined ? {} : { token: call.caller.token }),
      transport: call.caller.transport,
      session: call.caller.sessionId,
      depth: call.caller.depth,
      args: redact(call.args),
      outcome: result.isError === true ? (result.code ?? "error") : "ok",
      ...(result.isError === true ? { error: redact(result.text, 500) } : {}),
      chars: result.text.length,
      ms: Math.round((ended - started) * 100) / 100,
    }));
    return result;
  };
}
