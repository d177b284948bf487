import type { Caller } from "./context.ts";

/**
 * What belongs to a session is nobody else's. Over HTTP the newest protocol has no sessions, and all clients of a token
 * share one id: they are told apart by what they call themselves.
 */
export function sessionKey({ sessionId, agentId, client }: Caller): string {
  return JSON.stringify([sessionId, agentId, client]);
}
