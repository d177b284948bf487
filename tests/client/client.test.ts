import { spawn } from "node:child_process";
import { once as onEvent } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  connectCamel,
  type CamelAnswer,
  type CamelClient,
  type CamelClientError,
  type CamelQuestion,
  type ConnectOptions,
} from "../../src/client/index.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { createFileTokens } from "../../src/stores/tokens.ts";
import { CLI, sandbox, startHttp } from "../harness.ts";
import { ERAS, upstream, type Upstream } from "../fixtures/upstream.ts";
import { appears } from "../fixtures/slow-tools.mjs";

const CASES = ERAS.flatMap((era) => (["stdio", "http"] as const).map((over) => ({ era, over })));

async function connectTo(
  server: Upstream,
  over: "stdio" | "http",
  options: Partial<ConnectOptions> = {},
): Promise<CamelClient> {
  if (over === "http") await server.start();
  const client = await connectCamel({
    ...(over === "http" ? { url: server.url } : server.command),
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

function once<T = void>(): { happened: Promise<T>; happen: (value: T) => void } {
  let happen = (_value: T): void => {};
  const happened = new Promise<T>((resolve) => (happen = resolve));
  return { happened, happen: (value) => happen(value) };
}

function failure(pending: Promise<unknown>): Promise<CamelClientError> {
  return pending.then(
    () => expect.unreachable("it should have failed"),
    (error: CamelClientError) => error,
  );
}

describe.each(CASES)("a $era server over $over", ({ era, over }) => {
  test("lists, calls, reads, asks the person, and hears of changes", async () => {
    const server = await upstream(era);
    const asked: CamelQuestion[] = [];
    const client = await connectTo(server, over, {
      onAsk: (question: CamelQuestion): CamelAnswer => {
        asked.push(question);
        if (asked.length === 3) throw new Error("broken dialog");
        return { action: "accept", content: { name: `${asked.length}`, sure: true } };
      },
    });
    expect((await client.tools()).map((tool) => tool.name)).toContain("get_tool_response");
    expect(await client.call("echo", { text: "ab", times: 2 })).toMatchObject({
      text: "abab",
      isError: false,
    });
    expect((await client.resources()).map(({ uri }) => uri)).toContain("memory:///MEMORY.md");
    expect(await client.readResource("memory:///MEMORY.md")).toMatch(/memory$/);

    const { text } = await client.call("ask_me", { rounds: 3 });
    expect(JSON.parse(text)).toMatchObject({
      runs: 1,
      answers: [
        { action: "accept", content: { name: "1" } },
        { action: "accept", content: { name: "2" } },
        { action: "cancel" },
      ],
    });
    expect(asked[0]).toMatchObject({ message: "Question 1?", schema: { required: ["name"] } });

    const updated = once();
    const stop = await client.onResourceUpdated("memory:///MEMORY.md", () => updated.happen());
    await server.touch(() => client.call("touch"));
    await updated.happened;
    await stop();
    const refused = failure(client.onResourceUpdated("memory:///elsewhere.txt", () => {}));
    expect(await refused).toMatchObject({ code: "rejected" });

    const changed = once();
    client.onToolsChanged(() => changed.happen());
    await client.call("shrink");
    await changed.happened;
    expect((await client.tools()).map((tool) => tool.name)).not.toContain("get_tool_response");
  });

  test("progress arrives; cancelling reaches the tool; silence ends a call; without onAsk nobody is asked", async () => {
    const server = await upstream(era);
    const client = await connectTo(server, over);
    expect((await client.call("ask_me")).text).toBe("nobody to ask, runs 1");

    const controller = new AbortController();
    const { signal } = controller;
    const cancelled = client.call("wait", {}, { signal, onProgress: () => controller.abort() });
    expect(await failure(cancelled)).toMatchObject({ name: "CamelClientError", code: "cancelled" });
    await appears(server.marker);

    const error = await failure(client.call("wait", {}, { timeoutMs: 100 }));
    expect(error).toMatchObject({ code: "timeout", retryable: true });
    expect(error.next).toContain("timeoutMs");

    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }): void => {
      if (seen.push(progress) === 3) void writeFile(`${server.marker}.steps`, "go");
    };
    expect((await client.call("steps", {}, { onProgress })).text).toBe("done");
    expect(seen).toEqual([1, 2, 3]);

    await client.close();
    const closed = failure(client.call("echo", { text: "a" }));
    expect(await closed).toMatchObject({ code: "closed", retryable: false });
  });
});

describe.each(ERAS)("a %s server that dies", (era) => {
  test("the call under way fails as retryable, was sent once, and the client comes back", async () => {
    const server = await upstream(era);
    await server.start();
    const states: string[] = [];
    const back = once();
    const client = await connectCamel({
      url: server.url,
      onConnection: (state) => {
        states.push(state);
        if (states.length === 3) back.happen();
      },
    });
    onTestFinished(() => client.close());
    const changed = once();
    client.onToolsChanged(() => changed.happen());
    const running = once();
    const stuck = failure(client.call("stuck", {}, { onProgress: () => running.happen() }));
    await running.happened;
    await server.kill();
    expect(await stuck).toMatchObject({ code: "connection_lost", retryable: true });
    expect(await failure(client.call("echo", { text: "nobody there" }))).toMatchObject({
      code: "unavailable",
      retryable: true,
    });
    await server.start();
    await back.happened;
    await changed.happened;
    expect(states).toEqual(["connected", "lost", "connected"]);
    expect((await client.call("echo", { text: "back" })).text).toBe("back");
    expect(await readFile(server.runs, "utf8")).toBe("run\n");
  });

  test("a spawned server is spawned again, and the call that was under way isn't repeated", async () => {
    const server = await upstream(era);
    const client = await connectTo(server, "stdio");
    expect(await failure(client.call("die"))).toMatchObject({ code: "connection_lost", retryable: true });
    expect((await client.call("echo", { text: "again" })).text).toBe("again");
    expect(await readFile(server.runs, "utf8")).toBe("run\n");
  });
});

test("a script that only listens outlasts the server's restart", async () => {
  const server = await upstream("2026");
  await server.start();
  const script = await server.box.write(
    "listen.mjs",
    `import { connectCamel } from ${JSON.stringify(pathToFileURL(join(CLI, "../client.js")).href)};
let times = 0;
const client = await connectCamel({
  url: ${JSON.stringify(server.url)},
  onConnection(state) {
    console.log(state);
    if (state === "connected" && ++times === 2) setImmediate(() => client.close());
  },
});`,
  );
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = onEvent(child, "exit");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("connected");
  await server.kill();
  expect((await lines.next()).value).toBe("lost");
  await server.start();
  expect((await lines.next()).value).toBe("connected");
  expect((await exited)[0]).toBe(0);
});

test("a server that accepts and says nothing: connecting has a time limit, and closing doesn't wait for it", async () => {
  const server = await upstream("2026");
  await server.start();
  const client = await connectCamel({ url: server.url });
  await server.kill();
  const silent = createServer(() => {}).listen(Number(new URL(server.url).port), "127.0.0.1");
  onTestFinished(() => {
    silent.close();
    silent.closeAllConnections();
  });
  await onEvent(silent, "request");
  await client.close();
  const error = await failure(connectCamel({ url: server.url, connectTimeoutMs: 200 }));
  expect(error).toMatchObject({ code: "timeout", retryable: true });
});

describe("what goes wrong at the start says what to do", () => {
  test("nobody listens", async () => {
    const { url } = await upstream("2026");
    const error = await failure(connectCamel({ url }));
    expect(error).toMatchObject({ code: "unavailable", retryable: true });
    expect(error.message).toContain(url);
    expect(error.next).toContain("camel-mcp serve");
    // A port that fetch refuses to use has no errno.
    const blocked = await failure(connectCamel({ url: "http://127.0.0.1:1/mcp" }));
    expect(blocked).toMatchObject({ code: "unavailable" });
    expect(blocked.message).toContain("bad port");
  });

  test("no token, a wrong token, the right token", async () => {
    const box = await sandbox();
    const { url } = await startHttp(box);
    const tokens = createFileTokens({ path: join(box.home, "tokens.json"), clock: systemClock });
    const { secret } = await tokens.create("main");
    for (const token of [undefined, "camel_wrong"]) {
      const error = await failure(
        connectCamel({ url: `${url}/mcp`, ...(token === undefined ? {} : { token }) }),
      );
      expect(error).toMatchObject({ code: "unauthorized", retryable: false });
      expect(error.next).toContain("camel-mcp token create");
    }
    const client = await connectCamel({ url: `${url}/mcp`, token: secret });
    expect(await client.tools()).not.toEqual([]);
    await client.close();
  });

  test("a host name the server doesn't know", async () => {
    const { url } = await startHttp(await sandbox());
    const port = new URL(url).port;
    const error = await failure(connectCamel({ url: `http://127.1.2.3.nip.invalid:${port}/mcp` }));
    expect(error).toMatchObject({ code: "unavailable" });
    const refused = await failure(connectCamel({ url: `http://0.0.0.0:${port}/mcp` }));
    expect(refused).toMatchObject({ code: "forbidden", retryable: false });
    expect(refused.next).toContain("http.allowedHosts");
  });

  test("the wrong path, and something that is no MCP server at all", async () => {
    const { url } = await startHttp(await sandbox());
    const wrong = await failure(connectCamel({ url: `${url}/elsewhere` }));
    expect(wrong).toMatchObject({ code: "not_mcp", retryable: false });
    expect(wrong.next).toContain("/mcp");
    const page = createServer((_req, res) => res.setHeader("content-type", "text/html").end("<h1>hi</h1>"));
    await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void page.close());
    const { port } = page.address() as AddressInfo;
    expect(await failure(connectCamel({ url: `http://127.0.0.1:${port}/` }))).toMatchObject({
      code: "not_mcp",
    });
  });

  test("a command that isn't there, and one that ends at once", async () => {
    expect(await failure(connectCamel({ command: "no-such-command-anywhere" }))).toMatchObject({
      code: "rejected",
      retryable: false,
    });
    const ended = connectCamel({ command: process.execPath, args: ["-e", "process.exit(3)"] });
    const error = await failure(ended);
    expect(error).toMatchObject({ name: "CamelClientError", code: "not_mcp" });
    expect(error.next).toContain("onStderr");
  });

  test.each([undefined, {}, { command: "" }, { url: "nonsense" }, { url: "file:///etc" }])(
    "%j is nowhere to connect to",
    async (options) => {
      const error = await failure(connectCamel(options as never));
      expect(error).toMatchObject({ name: "CamelClientError", code: "rejected" });
      expect(error.next).toContain("command");
    },
  );

  test("an agent of one's own has a memory of its own", async () => {
    const box = await sandbox({ "home/agents/ann/MEMORY.md": "Ann's\n", "workspace/MEMORY.md": "main's\n" });
    const args = [CLI, "--home", box.home, "--workspace", box.workspace];
    const ann = await connectCamel({ command: process.execPath, args, agent: "ann" });
    onTestFinished(() => ann.close());
    expect((await ann.call("memory_get", { filePath: "MEMORY.md" })).text).toContain("Ann's");
  });
});
