import { once } from "node:events";
import { request } from "node:http";
import { connect as connectSocket } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock, type Clock } from "../../src/shared/clock.ts";
import { silentLogger } from "../../src/shared/log.ts";
import { createFileTokens } from "../../src/stores/tokens.ts";
import { serveOnHttp } from "../../src/transport/http.ts";
import { sandbox, startCamel, startHttp, type Sandbox } from "../harness.ts";

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  },
};
const ACCEPT = { Accept: "application/json, text/event-stream", "Content-Type": "application/json" };

function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: "POST",
    headers: { ...ACCEPT, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** fetch won't send a forged Host header. */
function statusWithHost(url: string, path: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { headers: { Host: host } }, (answer) => {
      resolve(answer.statusCode ?? 0);
      answer.destroy();
    });
    sent.on("error", reject).end();
  });
}

function tokensOf(box: Sandbox): ReturnType<typeof createFileTokens> {
  return createFileTokens({ path: join(box.home, "tokens.json"), clock: systemClock });
}

async function openSession(url: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await post(url, INITIALIZE, headers);
  expect(answer.status).toBe(200);
  await answer.text();
  return answer.headers.get("mcp-session-id") ?? "";
}

const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };

describe("who is let in", () => {
  test.each(["/mcp", "/sse", "/messages", "/healthz"])(
    "%s refuses a foreign Host and Origin",
    async (path) => {
      const { url } = await startHttp(await sandbox());
      expect(await statusWithHost(url, path, "evil.example")).toBe(403);
      const foreign = await fetch(`${url}${path}`, { headers: { Origin: "https://evil.example" } });
      expect(foreign.status).toBe(403);
      await foreign.body?.cancel();
    },
  );

  test("without tokens loopback is let in; with one, everybody needs one; a revoked one is refused", async () => {
    const box = await sandbox();
    const { url } = await startHttp(box);
    expect((await post(url, INITIALIZE)).status).toBe(200);
    const { record, secret } = await tokensOf(box).create("alice");
    const refused = await post(url, INITIALIZE);
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain("Bearer");
    expect((await post(url, INITIALIZE, { Authorization: "Bearer camel_wrong" })).status).toBe(401);
    expect((await post(url, INITIALIZE, { Authorization: `Bearer ${secret}` })).status).toBe(200);
    await tokensOf(box).revoke(record.id);
    expect((await post(url, INITIALIZE, { Authorization: `Bearer ${secret}` })).status).toBe(401);
    expect((await post(url, INITIALIZE)).status).toBe(401);
  });

  test("another token's session is answered like a missing one", async () => {
    const box = await sandbox();
    const alice = await tokensOf(box).create("alice");
    const bob = await tokensOf(box).create("bob");
    const { url } = await startHttp(box);
    const session = await openSession(url, { Authorization: `Bearer ${alice.secret}` });
    const stolen = await post(url, LIST, {
      Authorization: `Bearer ${bob.secret}`,
      "mcp-session-id": session,
    });
    const missing = await post(url, LIST, {
      Authorization: `Bearer ${bob.secret}`,
      "mcp-session-id": "none",
    });
    expect(stolen.status).toBe(404);
    expect(await stolen.text()).toBe(await missing.text());
  });

  test("a token's agent has its own memory, and its scope narrows", async () => {
    const box = await sandbox({
      "workspace/MEMORY.md": "main's\n",
      "home/agents/alice/MEMORY.md": "alice's\n",
      "home/config.yaml":
        "scopes:\n  - match: { token: readers }\n    tools: { deny: [get_tool_response] }\n",
    });
    const { secret } = await tokensOf(box).create("alice", "readers");
    const { url } = await startHttp(box);
    const headers = { Authorization: `Bearer ${secret}` };
    const session = { ...headers, "mcp-session-id": await openSession(url, headers) };
    const read = await post(
      url,
      {
        jsonrpc: "2.0",
        id: 3,
        method: "tools/call",
        params: { name: "memory_get", arguments: { filePath: "MEMORY.md" } },
      },
      session,
    );
    const answer = await read.text();
    expect(answer).toContain("alice's");
    expect(answer).not.toContain("main's");
    expect(await (await post(url, LIST, session)).text()).not.toContain("get_tool_response");
  });

  test("an address other than loopback demands a token before it listens", async () => {
    const box = await sandbox();
    const options = {
      camel: await startCamel(box),
      version: "0",
      agentId: "main",
      host: "0.0.0.0",
      port: 0,
      tokens: tokensOf(box),
      clock: systemClock,
      log: silentLogger,
    };
    await expect(serveOnHttp(options)).rejects.toMatchObject({ code: "unauthorized" });
    await tokensOf(box).create("alice");
    const server = await serveOnHttp(options);
    onTestFinished(() => server.stop());
    expect((await post(server.url.replace("0.0.0.0", "127.0.0.1"), INITIALIZE)).status).toBe(401);
  });

  test("a damaged token file lets nobody in and isn't overwritten", async () => {
    const box = await sandbox({ "home/tokens.json": "{ half" });
    const { url } = await startHttp(box);
    expect((await post(url, INITIALIZE)).status).toBe(500);
    await expect(tokensOf(box).create("alice")).rejects.toMatchObject({ code: "invalid_config" });
  });
});

describe("limits", () => {
  test("a body over the limit is refused, and so is one that isn't JSON", async () => {
    const box = await sandbox({ "home/config.yaml": "http: { maxBodyBytes: 2048 }\n" });
    const { url } = await startHttp(box);
    const tooLong = await post(url, JSON.stringify({ pad: "x".repeat(4000) }));
    expect(tooLong.status).toBe(413);
    // What is left of the body must not be taken for the next request.
    expect(tooLong.headers.get("connection")).toBe("close");
    for (const body of ["{ not json", '"too_large"', '"not_json"']) {
      const refused = await post(url, body);
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('"code":-32')]);
    }
    expect((await post(url, INITIALIZE)).status).toBe(200);
  });

  test("the longest unused session goes when there are too many, and idle ones go in time", async () => {
    const box = await sandbox({ "home/config.yaml": "http: { maxSessions: 2, idleSeconds: 60 }\n" });
    let now = 0;
    const clock: Clock = { ...systemClock, monotonic: () => now };
    const camel = await startCamel(box);
    const server = await serveOnHttp({
      camel,
      version: "0",
      agentId: "main",
      host: "127.0.0.1",
      port: 0,
      tokens: tokensOf(box),
      clock,
      log: silentLogger,
    });
    onTestFinished(() => server.stop());
    const statusOf = async (session: string): Promise<number> => {
      const answer = await post(server.url, LIST, { "mcp-session-id": session });
      await answer.text();
      return answer.status;
    };
    const first = await openSession(server.url);
    now = 1_000;
    const second = await openSession(server.url);
    now = 2_000;
    const third = await openSession(server.url);
    expect(await statusOf(first)).toBe(404);
    expect(await statusOf(second)).toBe(200);
    now = 100_000;
    const fourth = await openSession(server.url);
    expect(await statusOf(third)).toBe(404);
    expect(await statusOf(fourth)).toBe(200);
  });

  test("past the concurrency limit requests are told to come again; open streams don't count", async () => {
    const box = await sandbox({ "home/config.yaml": "http: { maxConcurrent: 1 }\n" });
    const { url } = await startHttp(box);
    const stream = await fetch(`${url}/sse`);
    expect((await post(url, INITIALIZE)).status).toBe(200);
    // One whose body never ends.
    const slow = request(`${url}/mcp`, { method: "POST", headers: { expect: "100-continue" } });
    slow.on("error", () => {});
    slow.flushHeaders();
    await once(slow, "continue");
    const busy = await post(url, INITIALIZE);
    expect(busy.status).toBe(503);
    expect(busy.headers.get("retry-after")).toBe("1");
    await busy.text();
    slow.destroy();
    await stream.body?.cancel();
  });

  test("an unknown route says where MCP is", async () => {
    const { url } = await startHttp(await sandbox());
    const answer = await fetch(`${url}/`);
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain("/mcp");
    expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ status: "ok" });
  });

  test("a client that breaks off in the middle of a body harms nobody", async () => {
    const { url } = await startHttp(await sandbox());
    const { port } = new URL(url);
    const socket = connectSocket(Number(port), "127.0.0.1");
    await new Promise<void>((resolve) => {
      socket.write(
        `POST /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 1000\r\n\r\n{"half":`,
        () => socket.destroy(),
      );
      socket.on("close", () => resolve());
    });
    expect((await post(url, INITIALIZE)).status).toBe(200);
  });

  test("stop ends open streams and refuses new connections", async () => {
    const server = await startHttp(await sandbox());
    const stream = await fetch(`${server.url}/sse`);
    await server.stop();
    await stream.text().catch(() => "");
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });
});
