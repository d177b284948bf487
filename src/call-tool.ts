import type { Camel } from "./camel.ts";
import type { Ask, Call, ToolResult } from "./pipeline/call.ts";
import { newId } from "./shared/ids.ts";
import type { Caller, Progress } from "./tools/context.ts";

export interface CallToolOptions {
  /** Whose memory and policy. Default: main. */
  agentId?: string;
  /** Calls of one session share its limits and approvals. Default: a session for this call alone. */
  sessionId?: string;
  signal?: AbortSignal;
  onProgress?: (update: Progress) => void;
  /** Asks a person where policy wants it; without it nobody can be asked. */
  ask?: Ask;
}

/** Calls a tool from a program, under the same policy as a host's call. Errors are results with `isError`. */
export function callTool(
  camel: Camel,
  name: string,
  args: unknown = {},
  options: CallToolOptions = {},
): Promise<ToolResult> {
  const { agentId, sessionId, signal = new AbortController().signal, onProgress, ask } = options;
  const call: Call = { id: newId("call"), name, args, caller: libraryCaller(agentId, sessionId), signal };
  return camel.dispatcher.call({
    ...call,
    ...(onProgress === undefined ? {} : { progress: onProgress }),
    ...(ask === undefined ? {} : { ask }),
  });
}

export function libraryCaller(agentId = "main", sessionId = newId("ses")): Caller {
  return { agentId, depth: 0, client: "library", transport: "library", sessionId };
}
