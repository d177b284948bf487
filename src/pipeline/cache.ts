import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import type { ToolDef, ToolLimits } from "../tools/tool.ts";
import type { Middleware, Next, ResolvedCall, ToolResult } from "./call.ts";

const MOST_ENTRIES = 500;
const DEFAULT_TTL_SECONDS = 300;

/**
 * The same question gets the same answer for a while, and while the first asker waits the others wait with it.
 * Only calls that read, only results that aren't errors, and each asker gets a copy of its own.
 */
export function cache(options: { clock: Clock; limitsOf(tool: ToolDef): ToolLimits }): Middleware {
  const { clock } = options;
  const kept = new Map<string, { until: number; result: ToolResult }>();
  const running = new Map<string, Promise<ToolResult>>();
  return function cache(call, next) {
    const setting = options.limitsOf(call.tool).cache;
    return setting === undefined || setting === false || call.effect !== "read"
      ? next()
      : answer(setting, call, next);
  };

  async function answer(
    setting: Exclude<ToolLimits["cache"], undefined | false>,
    call: ResolvedCall,
    next: Next,
  ): Promise<ToolResult> {
    const { fields, ttlSeconds = DEFAULT_TTL_SECONDS, scope = "session" } = setting === true ? {} : setting;
    const key = keyOf(call, fields, scope);
    const found = kept.get(key);
    if (found !== undefined && found.until > clock.monotonic()) return structuredClone(found.result);

    const first = running.get(key);
    if (first !== undefined) {
      try {
        return structuredClone(await first);
      } catch (error) {
        // The first asker went away; that is no answer for this one.
        if (!(error instanceof CamelError) || error.code !== "cancelled") throw error;
        return next();
      }
    }
    const work = next();
    running.set(key, work);
    try {
      const result = await work;
      if (result.isError !== true) {
        kept.delete(key);
        kept.set(key, {
          until: clock.monotonic() + ttlSeconds * 1000,
          result: structuredClone(result),
        });
        const [oldest] = kept.keys();
        if (kept.size > MOST_ENTRIES && oldest !== undefined) kept.delete(oldest);
      }
      return result;
    } finally {
      running.delete(key);
    }
  }
}

function keyOf(call: ResolvedCall, fields: readonly string[] | undefined, scope: string): string {
  const { agentId, sessionId } = call.caller;
  const owner = scope === "session" ? sessionId : scope === "agent" ? agentId : "";
  const input = Object.entries(call.input)
    .filter(([name]) => fields === undefined || fields.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([call.tool.name, scope, owner, agentId, input]);
}
