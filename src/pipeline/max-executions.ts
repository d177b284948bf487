import { CamelError } from "../shared/errors.ts";
import type { ToolDef, ToolLimits } from "../tools/tool.ts";
import type { Middleware } from "./call.ts";

const MOST_COUNTERS = 10_000;

/** At most so many calls of a tool in one session. Counted before the call, so that parallel calls can't slip by. */
export function maxExecutions(options: { limitsOf(tool: ToolDef): ToolLimits }): Middleware {
  const counts = new Map<string, number>();
  return function maxExecutions(call, next) {
    const most = options.limitsOf(call.tool).maxExecutionsPerRun;
    if (most === undefined) return next();
    const key = `${call.caller.sessionId}\0${call.tool.name}`;
    const used = counts.get(key) ?? 0;
    if (used >= most) {
      throw new CamelError("limit_reached", `${call.tool.name} was called ${most} times in this session.`, {
        next: "Go on without it, or ask the user to raise maxExecutionsPerRun in limits.tools.",
      });
    }
    // The oldest session is forgotten first: a Map keeps the order in which keys came.
    if (counts.size >= MOST_COUNTERS && !counts.has(key)) {
      const [oldest] = counts.keys();
      if (oldest !== undefined) counts.delete(oldest);
    }
    counts.set(key, used + 1);
    return next().catch((error: unknown) => {
      // Nothing was executed where a person was to agree and hasn't.
      if (call.verdict?.decision === "ask" && call.isApproved !== true)
        counts.set(key, (counts.get(key) ?? 1) - 1);
      throw error;
    });
  };
}
