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
export function cache(options: {
  clock: Clock;
  limitsOf(tool: ToolDef): ToolLimits;
  /** Another object after every change: what was found under another policy may show too much under this one. */
  policy: () => unknown;
}): Middleware {
  const { clock } = options;
  let policy = options.policy();
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
    const key = await keyOf(call, fields, scope);
    if (policy !== options.policy()) {
      policy = options.policy();
      kept.clear();
      running.clear();
    }
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
      if (result.isError !== true && running.get(key) === work) {
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
      if (running.get(key) === work) running.delete(key);
    }
  }
}

/** Whoever policy may tell apart has answers of their own: a tool leaves out what its caller may not see. */
async function keyOf(
  call: ResolvedCall,
  fields: readonly string[] | undefined,
  scope: string,
): Promise<string> {
  const { agentId, client, depth, makers = [], sessionId, token = "" } = call.caller;
  const place =
    scope === "session" ? sessionId : await call.context.workspace("read").catch(() => "no workspace");
  const input = Object.entries(call.input)
    .filter(([name]) => fields === undefined || fields.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const { name, fingerprint = "" } = call.tool;
  return JSON.stringify([name, fingerprint, scope, place, agentId, client, depth, makers, token, input]);
}
