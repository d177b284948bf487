import type { Config } from "../config/schema.ts";
import type { Logger } from "../shared/log.ts";
import type { Middleware, Next, ResolvedCall, ToolResult } from "./call.ts";

/**
 * Keeps the files that a call says it will replace or delete, so that it can be undone. Tools that write through the
 * checkpoint store do better than this and say so. Where keeping fails, the call doesn't run.
 */
export function checkpoint(options: {
  home: string;
  bounds: () => Config["checkpoints"];
  log: Logger;
}): Middleware {
  return function checkpoint(call, next) {
    if (call.effect === "read" || call.tool.keepsCheckpoints === true) return next();
    const paths = (call.touches.paths ?? []).flatMap(({ path, access }) => (access === "read" ? [] : [path]));
    return paths.length === 0 ? next() : withSnapshot(paths, call, next);
  };

  async function withSnapshot(paths: string[], call: ResolvedCall, next: Next): Promise<ToolResult> {
    const { context, tool } = call;
    const { takeSnapshot } = await import("../stores/checkpoints/snapshot.ts");
    const snapshot = await takeSnapshot(paths, {
      home: options.home,
      root: await context.workspace("read"),
      by: { tool: tool.name, agent: call.caller.agentId, callId: call.id },
      bounds: options.bounds(),
      clock: context.clock,
      later: (work) => context.later(work),
    });
    for (const path of snapshot?.skipped ?? [])
      options.log.warn(`${path} is too large to keep; ${tool.name} can't be undone there`);
    try {
      return await next();
    } finally {
      await snapshot
        ?.finish()
        .catch((error: unknown) => options.log.warn(`checkpoint ${snapshot.id}: ${String(error)}`));
    }
  }
}
