import { PassThrough } from "node:stream";
import {
  SUPPORTED_PROTOCOL_VERSIONS,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Camel } from "../../src/camel.ts";
import { listToolDefs } from "../../src/server/list-tool-defs.ts";
import { silentLogger } from "../../src/shared/log.ts";
import { HANDSHAKE_VERSIONS, openLazily } from "../../src/transport/stdio-opening.ts";
import { serveOnStdio } from "../../src/transport/stdio.ts";
import { connect, sandbox, startCamel } from "../harness.ts";

type Json = Record<string, unknown>;

const GREETING = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "raw", version: "1" },
};
const INITIALIZED: JSONRPCMessage = { jsonrpc: "2.0", method: "notifications/initialized" };

function request(id: number, method: string, params?: Json): JSONRPCMessage {
  return { jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) };
}

/** A host on the streams of a server in this process. */
class Host {
  readonly seen: Json[] = [];
  private readonly stdin = new PassThrough();
  private readonly waiting = new Map<unknown, (message: Json) => void>();

  constructor(camel: Camel) {
    const stdout = new PassThrough();
    const log = silentLogger;
    const running = serveOnStdio({
      camel,
      version: "1",
      agentId: "main",
      stdin: this.stdin,
      stdout,
      log,
    });
    onTestFinished(() => running.stop());
    stdout.on("data", (chunk: Buffer) => {
      for (const line of chunk.toString().split("\n").filter(Boolean)) {
        const message = JSON.parse(line) as Json;
        this.seen.push(message);
        this.waiting.get(message["id"])?.(message);
      }
    });
  }

  write(...messages: JSONRPCMessage[]): void {
    this.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  }

  answer(id: number): Promise<Json> {
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  ask(id: number, method: string, params?: Json): Promise<Json> {
    const answer = this.answer(id);
    this.write(request(id, method, params));
    return answer;
  }
}

/** What a host hears that greets like this and asks for the tools; with `first`, the SDK is there before it does. */
async function opening(camel: Camel, params: Json, first?: string): Promise<Json[]> {
  const host = new Host(camel);
  if (first !== undefined) await host.ask(0, first);
  const greeted = await host.ask(1, "initialize", params);
  host.write(INITIALIZED);
  return [greeted, await host.ask(2, "tools/list"), await host.ask(3, "tools/list", {})];
}

describe("the two questions of every start", () => {
  test("these are the SDK's versions with a handshake", () => {
    expect(HANDSHAKE_VERSIONS).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
  });

  test.each(HANDSHAKE_VERSIONS)("are answered as the SDK would, in %s", async (protocolVersion) => {
    const camel = await startCamel(await sandbox());
    const params = { ...GREETING, protocolVersion };
    const answers = await opening(camel, params);
    expect(answers).toEqual(await opening(camel, params, "ping"));
    expect(answers[0]).toMatchObject({ result: { protocolVersion, serverInfo: { name: "camel-mcp" } } });
    expect(JSON.stringify(answers[1])).toContain('"name":"memory_get"');
  });

  test.each<Json>([
    ...["1999-01-01", "2026-07-28", 7, null, undefined].map((protocolVersion) => ({ protocolVersion })),
    ...[{ roots: { listChanged: true } }, { elicitation: {} }, { sampling: true }, [], null, undefined].map(
      (capabilities) => ({ capabilities }),
    ),
    ...[
      { name: "Cline", version: "1", title: "C" },
      { name: "raw" },
      { name: 1, version: "1" },
      "raw",
      undefined,
    ].map((clientInfo) => ({ clientInfo })),
    ...[{}, { progressToken: 1 }].map((_meta) => ({ _meta })),
  ])("are answered as the SDK would, to a client that greets with %j", async (odd) => {
    const camel = await startCamel(await sandbox());
    const params = { ...GREETING, ...odd };
    expect(await opening(camel, params)).toEqual(await opening(camel, params, "ping"));
  });

  test("the built server lists what the sources define", async () => {
    const client = await connect(
      "1.x stdio",
      await sandbox({ "home/config.yaml": "tools:\n  tier: full\n" }),
    );
    const byName = new Map(listToolDefs().map((tool) => [tool.name, tool.public]));
    const { tools } = await client.listTools();
    expect(tools.length).toBe(byName.size);
    for (const tool of tools) expect(tool).toEqual(byName.get(tool.name));
  });
});

describe("the SDK comes in later", () => {
  test("all at once: each is answered once, and calls work", async () => {
    const box = await sandbox({ "workspace/MEMORY.md": "one\n" });
    const host = new Host(await startCamel(box));
    const get = { name: "memory_get", arguments: { filePath: "MEMORY.md" } };
    const ids = [1, 2, 3, 4, 5];
    const answers = Promise.all(ids.map((id) => host.answer(id)));
    host.write(
      request(1, "initialize", GREETING),
      INITIALIZED,
      request(2, "tools/list"),
      request(3, "tools/call", get),
      request(4, "tools/list"),
      request(5, "tools/call", get),
    );
    await answers;
    await host.ask(6, "ping");
    expect(host.seen.map((message) => Number(message["id"])).toSorted((a, b) => a - b)).toEqual([...ids, 6]);
    expect(host.seen.find((message) => message["id"] === 5)).toMatchObject({
      result: { content: [{ text: "1: one" }] },
    });
  });

  test("a greeting that only the SDK finds fault with doesn't spoil the calls after it", async () => {
    const host = new Host(await startCamel(await sandbox({ "workspace/MEMORY.md": "one\n" })));
    await host.ask(1, "initialize", { ...GREETING, capabilities: { roots: { listChanged: "yes" } } });
    host.write(INITIALIZED);
    const get = { name: "memory_get", arguments: { filePath: "MEMORY.md" } };
    expect(await host.ask(2, "tools/call", get)).toMatchObject({ result: { content: [{ text: "1: one" }] } });
    expect(host.seen.filter((message) => message["id"] === 1)).toHaveLength(1);
  });
});

describe("what can go wrong on the way", () => {
  /** The opening on a wire of its own; `sdk` is what the SDK would hear. */
  function setUp(load: (start: (transport: Transport) => void) => Promise<(transport: Transport) => void>) {
    const sent: Json[] = [];
    const sdk: JSONRPCMessage[] = [];
    const wire: Transport = {
      start: () => Promise.resolve(),
      close: () => Promise.resolve(),
      send: (message) => Promise.resolve(void sent.push({ ...message })),
    };
    const opened = openLazily({
      wire,
      identity: {},
      listTools: () => Promise.reject(new Error("no tools today")),
      load: () => load((transport) => (transport.onmessage = (message) => void sdk.push(message))),
      log: silentLogger,
    });
    const hear = async (...messages: JSONRPCMessage[]): Promise<void> => {
      for (const message of messages) wire.onmessage?.(message);
      await new Promise(setImmediate);
    };
    return { sent, sdk, opened, hear };
  }
  const hello = request(1, "initialize", GREETING);

  test("an SDK that can't be loaded is an answer, and the next request tries again", async () => {
    let isThere = false;
    const { sent, sdk, hear } = setUp((start) =>
      isThere ? Promise.resolve(start) : Promise.reject(new Error("gone")),
    );
    await hear(hello, INITIALIZED, request(2, "ping"), request(3, "ping"));
    expect(sent.slice(1)).toMatchObject([2, 3].map((id) => ({ id, error: { code: -32_603 } })));
    isThere = true;
    await hear(request(4, "ping"), request(5, "tools/list"));
    expect(sdk).toEqual([hello, INITIALIZED, request(4, "ping"), request(5, "tools/list")]);
  });

  test("a list that fails is an answer", async () => {
    const { sent, hear } = setUp((start) => Promise.resolve(start));
    await hear(hello, request(2, "tools/list"));
    expect(sent[1]).toMatchObject({ id: 2, error: { code: -32_603 } });
  });

  test("closed while the SDK loads: it isn't started", async () => {
    const { sdk, hear, opened } = setUp((start) => Promise.resolve(start));
    const heard = hear(hello, request(2, "ping"));
    await opened.close();
    await heard;
    expect(sdk).toEqual([]);
  });

  test("a client hears of changed tools once it has said that it is ready", async () => {
    const { sent, hear, opened } = setUp((start) => Promise.resolve(start));
    await hear(hello);
    opened.toolsChanged();
    expect(sent).toHaveLength(1);
    await hear(INITIALIZED);
    opened.toolsChanged();
    expect(sent[1]).toEqual({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
  });

  test("what isn't a request in order is left to the SDK", async () => {
    const strange = [
      { jsonrpc: "2.0", id: null, method: "initialize", params: GREETING },
      { id: 1, method: "initialize", params: GREETING },
      { jsonrpc: "2.0", id: 1, method: "initialize", params: GREETING, more: 1 },
      { jsonrpc: "2.0", id: 1, method: 42 },
      [],
    ] as unknown as JSONRPCMessage[];
    for (const message of strange) {
      const { sent, sdk, hear } = setUp((start) => Promise.resolve(start));
      await hear(message);
      expect(sent).toEqual([]);
      expect(sdk).toEqual([message]);
    }
  });
});
