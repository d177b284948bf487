import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import type { ToolDef, ToolLimits } from "../tools/tool.ts";
import type { Middleware } from "./call.ts";

/** So many calls of a tool by one caller in any window of that length. */
export function rateLimit(options: { clock: Clock; limitsOf(tool: ToolDef): ToolLimits }): Middleware {
  const windows = new Map<string, number[]>();
  return async function rateLimit(call, next) {
    const limit = options.limitsOf(call.tool).rateLimit;
    if (limit === undefined) return next();
    const now = options.clock.monotonic();
    const start = now - limit.perSeconds * 1000;
    if (windows.size > MOST_WINDOWS) forgetIdle(windows, start);
    const { agentId, client, token } = call.caller;
    // What a client calls itself it may change with every call; a token it can't.
    const key = `${call.tool.name}\0${agentId}\0${token ?? `client ${client}`}`;
    const recent = (windows.get(key) ?? []).filter((time) => time > start);
    windows.set(key, recent);
    const [oldest] = recent;
    if (oldest !== undefined && recent.length >= limit.calls) {
      const wait = Math.max(1, Math.ceil((oldest - start) / 1000));
      throw new CamelError(
        "rate_limited",
        `${call.tool.name} may be called ${limit.calls} times in ${limit.perSeconds} s.`,
        { next: `Wait ${wait} s, then repeat the call.`, details: { retryAfterSeconds: wait } },
      );
    }
    recent.push(now);
    return next();
  };
}

const MOST_WINDOWS = 10_000;

function forgetIdle(windows: Map<string, number[]>, start: number): void {
  for (const [key, times] of windows) if ((times.at(-1) ?? 0) <= start) windows.delete(key);
}
