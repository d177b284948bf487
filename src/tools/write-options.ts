import type { WriteOptions } from "../stores/checkpoints/write-files.ts";
import type { ToolContext } from "./context.ts";

/** How a tool that writes files enters the checkpoint store. */
export function writeOptions(tool: string, root: string, context: ToolContext): WriteOptions {
  return {
    home: context.home,
    root,
    by: { tool, agent: context.caller.agentId, callId: context.callId },
    bounds: context.settings().checkpoints,
    clock: context.clock,
    signal: context.signal,
    later: (work) => context.later(work),
  };
}
