import type { LoadedConfig } from "../config/load.ts";
import { canonicalJson } from "../shared/canonical.ts";
import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import type { ToolDef, ToolLimits } from "../tools/tool.ts";
import type { Middleware, Next, ResolvedCall, ToolResult } from "./call.ts";
import { layersFor } from "./policy.ts";

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
  policy: () => LoadedConfig;
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
    const { ttlSeconds = DEFAULT_TTL_SECONDS, ...how } = setting === true ? {} : setting;
    const key = await keyOf(call, how, options.policy());
    if (policy !== options.policy()) {
      policy = options.policy();
      kept.clear();
      running.clear();
    }
    const found = kept.get(key);
    if (found !== undefined && found.until > clock.monotonic()) return copyOf(found.result);

    const first = running.get(key);
    if (first !== undefined) {
      try {
        return copyOf(await first);
      } catch (error) {
        // The first asker went away; that is no answer for this one, nor for those who wait with it.
        if (!(error instanceof CamelError) || error.code !== "cancelled" || call.signal.aborted) throw error;
        return answer(setting, call, next);
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

/**
 * Whoever policy may tell apart has answers of their own: a tool leaves out what its caller may not see. An agent's are
 * always its own, as its memory and jobs are.
 */
async function keyOf(
  call: ResolvedCall,
  { fields, keyFn, scope = "session" }: Exclude<ToolLimits["cache"], undefined | boolean>,
  policy: LoadedConfig,
): Promise<string> {
  const { agentId, client, depth, makers = [], sessionId, token = "" } = call.caller;
  const place =
    scope === "session" ? sessionId : await call.context.workspace("read").catch(() => "no workspace");
  const who =
    scope === "global"
      ? layersFor(policy.layers, call.caller).map((layer) => layer.source)
      : [client, depth, makers, token];
  const { name, fingerprint = "" } = call.tool;
  const input = canonicalJson(keyFn === undefined ? only(fields, call.input) : keyFn(call.input));
  return JSON.stringify([name, fingerprint, scope, place, agentId, who, input]);
}

function only(
  fields: readonly string[] | undefined,
  input: Record<string, unknown>,
): Record<string, unknown> {
  if (fields === undefined) return input;
  return Object.fromEntries(Object.entries(input).filter(([name]) => fields.includes(name)));
}

function copyOf(result: ToolResult): ToolResult {
  return { ...structuredClone(result), fromCache: true };
}
