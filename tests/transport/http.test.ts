import { once } from "node:events";
import { request } from "node:http";
import { connect as connectSocket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/shared/clock.ts";
import { silentLogger } from "../../src/shared/log.ts";
import { serveOnHttp } from "../../src/transport/http.ts";
import { sandbox, startCamel, startHttp } from "../harness.ts";
import { INITIALIZE, LIST, openSession, post, tokensOf } from "./raw-http.ts";

/** fetch won't send a forged Host header, nor a path that is none. */
function statusOf(url: string, path: string, host = "localhost"): Promise<number> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(url);
    const sent = request({ host: "127.0.0.1", port, path, headers: { Host: host } }, (answer) => {
      resolve(answer.statusCode ?? 0);
      answer.destroy();
    });
    sent.on("error", reject).end();
  });
}

describe("who is let in", () => {
  test.each(["/mcp", "/sse", "/messages", "/healthz"])(
    "%s refuses a foreign Host and Origin",
    async (path) => {
      const { url } = await startHttp(await sandbox());
      expect(await statusOf(url, path, "evil.example")).toBe(403);
      const foreign = await fetch(`${url}${path}`, { headers: { Origin: "https://evil.example" } });
      expect(foreign.status).toBe(403);
      await foreign.body?.cancel();
    },
  );

  test("a route that is asked in another way says which it takes", async () => {
    const { url } = await startHttp(await sandbox());
    for (const [path, method, right] of [
      ["/sse", "DELETE", "GET"],
      ["/messages", "DELETE", "POST"],
      ["/messages", "GET", "POST"],
    ] as const) {
      const refused = await fetch(`${url}${path}`, { method });
      expect([refused.status, await refused.text()]).toEqual([405, expect.stringContaining(`Use ${right}`)]);
    }
  });

  test("who is refused reads which setting lets them in, as written there", async () => {
    const box = await sandbox();
    const { url } = await startHttp(box);
    const page = { Origin: "https://app.example" };
    const refused = await fetch(`${url}/healthz`, { headers: page });
    expect(await refused.text()).toContain("http.allowedOrigins");
    await box.write(
      "home/config.yaml",
      "http: { allowedHosts: ['camel.lan:7800'], allowedOrigins: ['https://app.example'] }\n",
    );
    const { url: open } = await startHttp(box);
    expect(await statusOf(open, "/healthz", "camel.lan")).toBe(200);
    expect(await statusOf(open, "/healthz", "lan")).toBe(403);
    const asked = await fetch(`${open}/mcp`, {
      method: "OPTIONS",
      headers: { ...page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-y" },
    });
    expect([asked.status, asked.headers.get("access-control-allow-headers")]).toEqual([204, "x-y"]);
    const opened = await post(open, INITIALIZE, page);
    expect([opened.status, opened.headers.get("access-control-allow-origin")]).toEqual([200, page.Origin]);
    expect(opened.headers.get("access-control-expose-headers")).toContain("Mcp-Session-Id");
    // A page on this machine may be any program's.
    const local = await post(open, INITIALIZE, { Origin: "http://localhost:3000" });
    expect([local.status, local.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  });

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

  test("an unknown route says where MCP is, whatever it looks like", async () => {
    const { url } = await startHttp(await sandbox());
    expect(await statusOf(url, "//")).toBe(404);
    expect(await statusOf(url, "http://127.0.0.1/mcp")).toBe(404);
    expect(await statusOf(url, "/healthz/")).toBe(200);
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
