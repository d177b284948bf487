import { join } from "node:path";
import { expect } from "vitest";
import { systemClock } from "../../src/shared/clock.ts";
import { createFileTokens } from "../../src/stores/tokens.ts";
import type { Sandbox } from "../harness.ts";

/** Requests as they stand on the wire, without a client that makes them right. */
export const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  },
};
export const ACCEPT = { Accept: "application/json, text/event-stream", "Content-Type": "application/json" };

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: "POST",
    headers: { ...ACCEPT, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

export function tokensOf(box: Sandbox): ReturnType<typeof createFileTokens> {
  return createFileTokens({ path: join(box.home, "tokens.json"), clock: systemClock });
}

export async function openSession(url: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await post(url, INITIALIZE, headers);
  expect(answer.status).toBe(200);
  await answer.text();
  return answer.headers.get("mcp-session-id") ?? "";
}

export const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };
