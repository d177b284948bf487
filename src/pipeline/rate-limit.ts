import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import type { ToolDef, ToolLimits } from "../tools/tool.ts";
import type { Middleware } from "./call.ts";

/** So many calls of a tool by one caller in any window of that length. */
export function rateLimit(options: { clock: Clock; limitsOf(tool: ToolDef): ToolLimits }): Middleware {
  const windows = new Map<string, Window>();
  return function rateLimit(call, next) {
    const limit = options.limitsOf(call.tool).rateLimit;
    if (limit === undefined) return next();
    const now = options.clock.monotonic();
    const start = now - limit.perSeconds * 1000;
    if (windows.size > MOST_WINDOWS) forgetIdle(windows, start);
    const { agentId, client, token } = call.caller;
    // What a client calls itself it may change with every call; a token it can't.
    const key = `${call.tool.name}\0${agentId}\0${token ?? `client ${client}`}`;
    const window = windows.get(key) ?? { times: [], first: 0 };
    windows.set(key, window);
    forgetUntil(window, start);
    const oldest = window.times[window.first];
    if (oldest !== undefined && window.times.length - window.first >= limit.calls) {
      const wait = Math.max(1, Math.ceil((oldest - start) / 1000));
      throw new CamelError(
        "rate_limited",
        `${call.tool.name} may be called ${limit.calls} times in ${limit.perSeconds} s.`,
        { next: `Wait ${wait} s, then repeat the call.`, details: { retryAfterSeconds: wait } },
      );
    }
    window.times.push(now);
    return next();
  };
}

/** When calls were made, in order; those before `first` have left the window. */
interface Window {
  times: number[];
  first: number;
}

const MOST_WINDOWS = 10_000;

/** Moves a mark instead of the array, which is shortened only when half of it is over: a call costs the same at any rate. */
function forgetUntil(window: Window, start: number): void {
  const { times } = window;
  while (window.first < times.length && (times[window.first] ?? 0) <= start) window.first += 1;
  if (window.first * 2 <= times.length) return;
  times.splice(0, window.first);
  window.first = 0;
}

function forgetIdle(windows: Map<string, Window>, start: number): void {
  for (const [key, { times }] of windows) if ((times.at(-1) ?? 0) <= start) windows.delete(key);
}
