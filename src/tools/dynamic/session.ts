import type { Caller } from "../context.ts";

/** The newest protocol has no sessions over HTTP; there the same client with the same token counts as one. */
export function sessionOf({ agentId, client, sessionId, token, transport }: Caller): string {
  return transport === "http" ? `http ${agentId} ${token ?? ""} ${client}` : sessionId;
}
