import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/shared/clock.ts";
import { createFileTokens } from "../../src/stores/tokens.ts";
import { appears } from "../fixtures/slow-tools.mjs";
import { ERAS, upstream, type Upstream } from "../fixtures/upstream.ts";
import { CLI, connect, runCli, sandbox, startHttp, type AnyClient, type ConnectOptions } from "../harness.ts";

/** Hosts start the bridge on stdio; one for each era, as that is all the bridge sees of them. */
const HOSTS = ["1.x stdio", "2.x modern stdio"] as const;
const CASES = ERAS.flatMap((era) => HOSTS.map((host) => ({ host, era })));

async function bridged(
  host: (typeof HOSTS)[number],
  server: Upstream,
  options: ConnectOptions = {},
): Promise<AnyClient> {
  return connect(host, server.box, { ...options, script: [CLI, "connect", server.url] });
}

function signalled(): { happened: Promise<void>; happen: () => void } {
  let happen = (): void => {};
  const happened = new Promise<void>((resolve) => (happen = resolve));
  return { happened, happen: () => happen() };
}

describe.each(CASES)("a $host host and a $era server", ({ host, era }) => {
  test("tools, resources, errors, questions and changes pass", async () => {
    const server = await upstream(era);
    await server.start();
    const asked: string[] = [];
    const changed = signalled();
    const client = await bridged(host, server, {
      onToolsChanged: changed.happen,
      onAsk: async ({ message }) => {
        asked.push(message);
        return { action: "accept", content: { name: `${asked.length}`, sure: true } };
      },
    });
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain("echo");
    const echoed = await client.callTool({ name: "echo", arguments: { text: "ab", times: 2 } });
    expect(echoed.content).toEqual([{ type: "text", text: "abab" }]);
    const unknown = await client.callTool({ name: "ecko", arguments: {} });
    expect(unknown.isError).toBe(true);
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain("memory:///MEMORY.md");
    expect((await client.readResource("memory:///MEMORY.md")).contents[0]?.text).toMatch(/memory/);

    const answered = await client.callTool({ name: "ask_me", arguments: { rounds: 2 } });
    expect(JSON.parse(answered.content[0]?.text ?? "")).toMatchObject({
      runs: 1,
      answers: [{ action: "accept", content: { name: "1" } }, { content: { name: "2" } }],
    });
    expect(asked).toEqual(["Question 1?", "Question 2?"]);

    await expect(client.follow("memory:///elsewhere.txt", () => {})).rejects.toThrow();
    const updated = signalled();
    const stop = await client.follow("memory:///MEMORY.md", updated.happen);
    await server.touch(() => client.callTool({ name: "touch" }));
    await updated.happened;
    await stop();
    await client.callTool({ name: "shrink" });
    await changed.happened;
    expect((await client.listTools()).tools.map((tool) => tool.name)).not.toContain("get_tool_response");
  });

  test("a host that takes no questions isn't asked; progress and cancelling pass", async () => {
    const server = await upstream(era);
    await server.start();
    const client = await bridged(host, server);
    const asked = await client.callTool({ name: "ask_me", arguments: {} });
    expect(asked.content[0]?.text).toBe("nobody to ask, runs 1");

    const controller = new AbortController();
    const pending = client.callTool(
      { name: "wait" },
      { signal: controller.signal, onprogress: () => controller.abort() },
    );
    await expect(pending).rejects.toThrow();
    await appears(server.marker);
  });

  test("the server's restart: the call under way fails as retryable and ran once, the next ones work", async () => {
    const server = await upstream(era);
    await server.start();
    const changed = signalled();
    const client = await bridged(host, server, { onToolsChanged: changed.happen });
    const updated = signalled();
    await client.follow("memory:///MEMORY.md", updated.happen);
    const running = signalled();
    const stuck = client.callTool({ name: "stuck" }, { onprogress: running.happen });
    await running.happened;
    await server.kill();
    const lost = await stuck;
    expect(lost.isError).toBe(true);
    expect(lost.content[0]?.text).toMatch(/connection_lost[\s\S]*Next: /);
    expect(lost.structuredContent).toMatchObject({ error: { code: "connection_lost", retryable: true } });
    const down = await client.callTool({ name: "echo", arguments: { text: "nobody there" } });
    expect(down.structuredContent).toMatchObject({ error: { code: "unavailable", retryable: true } });

    await server.start();
    // The host hears of it, because the tools may be others now, and what it watches may have changed.
    await changed.happened;
    await updated.happened;
    const back = await client.callTool({ name: "echo", arguments: { text: "back" } });
    expect(back.content[0]?.text).toBe("back");
    expect(await readFile(server.runs, "utf8")).toBe("run\n");
  });
});

test("a script that pipes its requests in and closes the pipe gets its answers", async () => {
  const box = await sandbox({ "workspace/MEMORY.md": "Tea.\n" });
  const { url } = await startHttp(box);
  const clientInfo = { name: "script", version: "1" };
  const stdin = [
    { id: 1, method: "initialize", params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo } },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/call", params: { name: "memory_get", arguments: { filePath: "MEMORY.md" } } },
  ].map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const { code, stdout } = await runCli(["connect", url], box, { stdin: stdin.join("") });
  expect(code).toBe(0);
  expect(stdout).toContain("1: Tea.");
});

describe("what goes wrong says what to do, on stderr, and exits", () => {
  test("nobody listens", async () => {
    const box = await sandbox();
    const { url } = await upstream("2026");
    const result = await runCli(["connect", url], box);
    expect(result).toMatchObject({ code: 1, stdout: "" });
    expect(result.stderr).toMatch(/No server answers at http.*\n.*camel-mcp serve/);
  });

  test("no token, a wrong one, one from a variable of another name", async () => {
    const box = await sandbox();
    const { url } = await startHttp(box);
    const tokens = createFileTokens({ path: join(box.home, "tokens.json"), clock: systemClock });
    const { secret } = await tokens.create("main");
    const none = await runCli(["connect", url], box);
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(/needs a valid token[\s\S]*Put a token in CAMEL_TOKEN/);
    const wrong = await runCli(["connect", url], box, { env: { CAMEL_TOKEN: "camel_wrong" } });
    expect(wrong.stderr).toContain("The one in CAMEL_TOKEN is not valid");
    const right = await runCli(["connect", url, "--token-env", "MINE"], box, { env: { MINE: secret } });
    expect(right).toMatchObject({ code: 0, stdout: "", stderr: "" });
  });

  test("a host name the server doesn't know, the wrong path, no address", async () => {
    const box = await sandbox();
    const { url } = await startHttp(box);
    const refused = await runCli(["connect", `http://0.0.0.0:${new URL(url).port}`], box);
    expect(refused.stderr).toMatch(/host name[\s\S]*http\.allowedHosts/);
    const elsewhere = await runCli(["connect", `${url}/elsewhere`], box);
    expect(elsewhere.stderr).toMatch(/no MCP server[\s\S]*\/mcp/);
    expect((await runCli(["connect"], box)).code).toBe(2);
    expect((await runCli(["connect", "localhost:1"], box)).code).toBe(2);
  });
});

test("ends with its host, also while it still waits for a server that accepts and says nothing", async () => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const child = spawn(process.execPath, [CLI, "connect", `http://127.0.0.1:${port}/mcp`], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(silent, "connection");
  child.stdin.end();
  const [code] = (await once(child, "exit")) as [number | null];
  expect(code).toBe(0);
});

test("a server that can't be reached ends the bridge at once, also while the host keeps stdin open", async () => {
  const box = await sandbox();
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port } = closed.address() as AddressInfo;
  closed.close();
  const child = spawn(process.execPath, [CLI, "connect", `http://127.0.0.1:${port}/mcp`], {
    cwd: box.workspace,
    env: { PATH: process.env["PATH"], HOME: box.home },
    stdio: ["pipe", "ignore", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  expect(await once(child, "exit")).toEqual([1, null]);
});
