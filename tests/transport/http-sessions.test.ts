import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { serveOnHttp, type HttpServer } from "../../src/transport/http.ts";
import { createFakeClock, type FakeClock } from "../fake-clock.ts";
import { sandbox, startCamel, type Sandbox } from "../harness.ts";
import { ACCEPT, LIST, openSession, post, tokensOf } from "./raw-http.ts";

async function serve(box: Sandbox): Promise<HttpServer & { clock: FakeClock }> {
  const clock = createFakeClock();
  const camel = await startCamel(box);
  const server = await serveOnHttp({ camel, host: "127.0.0.1", port: 0, tokens: tokensOf(box), clock });
  onTestFinished(async () => {
    let isOver = false;
    const stopped = server.stop().finally(() => (isOver = true));
    // It gives streams their time to end, by this clock.
    while (!isOver) {
      clock.advance(1_000);
      await nextTurn();
    }
    await stopped;
  });
  return { ...server, clock };
}

async function statusOf(url: string, session: string, headers: Record<string, string> = {}): Promise<number> {
  const answer = await post(url, LIST, { ...headers, "mcp-session-id": session });
  await answer.text();
  return answer.status;
}

/** The stream on which a client of this session hears what the server says by itself. */
async function openStream(
  url: string,
  session: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const stream = await fetch(`${url}/mcp`, {
    headers: { ...headers, Accept: "text/event-stream", "mcp-session-id": session },
  });
  expect(stream.status).toBe(200);
  return stream;
}

const LISTEN = {
  jsonrpc: "2.0",
  id: 1,
  method: "subscriptions/listen",
  params: {
    notifications: { toolsListChanged: true },
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
};

function modern(method: string): Record<string, string> {
  return { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method };
}

test("the longest unused session goes when there are too many, and idle ones go in time", async () => {
  const { url, clock } = await serve(
    await sandbox({ "home/config.yaml": "http: { maxSessions: 2, idleSeconds: 60 }\n" }),
  );
  const first = await openSession(url);
  clock.advance(900);
  const second = await openSession(url);
  clock.advance(900);
  const third = await openSession(url);
  expect(await statusOf(url, first)).toBe(404);
  expect(await statusOf(url, second)).toBe(200);
  clock.advance(100_000);
  const fourth = await openSession(url);
  expect(await statusOf(url, third)).toBe(404);
  expect(await statusOf(url, fourth)).toBe(200);
});

test("a session whose host listens is not idle", async () => {
  const { url, clock } = await serve(await sandbox({ "home/config.yaml": "http: { idleSeconds: 60 }\n" }));
  const session = await openSession(url);
  const stream = await openStream(url, session);
  clock.advance(1_000_000);
  expect(await statusOf(url, session)).toBe(200);
  await stream.body?.cancel();
});

test("a client that opens sessions without end pushes out its own, not another's", async () => {
  const box = await sandbox({ "home/config.yaml": "http: { maxSessions: 3 }\n" });
  const [greedy = "", modest = ""] = await Promise.all(
    ["greedy", "modest"].map(async (agent) => (await tokensOf(box).create(agent)).secret),
  );
  const { url } = await serve(box);
  const as = (secret: string): Record<string, string> => ({ Authorization: `Bearer ${secret}` });
  const kept = await openSession(url, as(modest));
  for (let count = 0; count < 8; count += 1) await openSession(url, as(greedy));
  expect(await statusOf(url, kept, as(modest))).toBe(200);
});

test("a token that is revoked takes its open streams and sessions along, in both eras", async () => {
  const box = await sandbox();
  const { record, secret } = await tokensOf(box).create("alice");
  const { url, clock } = await serve(box);
  const headers = { Authorization: `Bearer ${secret}` };
  const older = await openStream(url, await openSession(url, headers), headers);
  const newer = await post(url, LISTEN, { ...headers, ...modern("subscriptions/listen") });
  const sse = await fetch(`${url}/sse`, { headers });
  await tokensOf(box).revoke(record.id);
  clock.advance(1_000);
  for (const stream of [older, newer, sse]) {
    expect(stream.status).toBe(200);
    await stream.text();
  }
});

test("hosts that listen don't keep calls out, and are as many as sessions", async () => {
  const box = await sandbox({ "home/config.yaml": "http: { maxConcurrent: 1, maxSessions: 2 }\n" });
  const { url } = await serve(box);
  const listening: Response[] = [];
  for (let count = 0; count < 3; count += 1)
    listening.push(await post(url, LISTEN, modern("subscriptions/listen")));
  expect(listening.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await post(url, LIST, modern("tools/list"))).status).not.toBe(503);
  await listening[0]?.text();
  for (const { body } of listening.slice(1)) await body?.cancel();
});

test("a request without a session is told to begin with initialize", async () => {
  const { url } = await serve(await sandbox());
  for (const request of [
    post(url, LIST),
    fetch(`${url}/mcp`, { headers: ACCEPT }),
    fetch(`${url}/mcp`, { method: "DELETE" }),
  ]) {
    const answer = await request;
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain("Send initialize first");
  }
});

const MAKE = {
  jsonrpc: "2.0",
  id: 5,
  method: "tools/call",
  params: {
    name: "tool_create",
    arguments: {
      action: "create",
      definition: {
        name: "double_it",
        description: "Doubles a number.",
        strategy: { type: "js", source: "return input.n * 2" },
        input_schema: { type: "object", properties: { n: { type: "number" } } },
      },
    },
  },
};

test.each(["older", "newer"])(
  "a call that makes a tool is answered when the host has the list: %s",
  async (era) => {
    const { url, clock } = await serve(await sandbox());
    const isOlder = era === "older";
    const session = isOlder ? await openSession(url) : "";
    const headers = (method: string): Record<string, string> =>
      isOlder ? { "mcp-session-id": session } : { ...modern(method), "Mcp-Name": "tool_create" };
    const stream = isOlder
      ? await openStream(url, session)
      : await post(url, LISTEN, headers("subscriptions/listen"));
    const heard = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    const hear = async (what: string): Promise<void> => {
      const { value, done } = (await heard?.read()) ?? { done: true };
      if (done) throw new Error(`the stream ended before ${what}`);
      if (!value.includes(what)) await hear(what);
    };

    const meta = isOlder ? {} : { _meta: LISTEN.params._meta };
    let isAnswered = false;
    const made = post(url, { ...MAKE, params: { ...MAKE.params, ...meta } }, headers("tools/call"))
      .then((answer) => answer.text())
      .finally(() => (isAnswered = true));
    await hear("list_changed");
    const list = await post(url, { ...LIST, params: meta }, headers("tools/list"));
    expect(await list.text()).toContain("double_it");
    expect(isAnswered).toBe(false);
    // A change may be told twice; then it waits a little longer.
    while (!isAnswered) {
      clock.advance(30);
      await nextTurn();
    }
    expect(await made).toContain("Made the tool");
    await heard?.cancel();
  },
);
