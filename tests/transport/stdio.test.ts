import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { CLI, sandbox, type Sandbox } from "../harness.ts";

interface Message {
  id?: number | null;
  method?: string;
  result?: { tools?: unknown[]; content?: { text: string }[]; isError?: boolean };
  error?: { code: number; message: string };
}

/** A host that speaks raw lines, so that it can misbehave. */
class RawHost {
  readonly child: ChildProcessWithoutNullStreams;
  readonly seen: Message[] = [];
  onQuestion: (id: Message["id"]) => void = () => {};
  private readonly waiting = new Map<number | null, (message: Message) => void>();

  constructor(box: Sandbox, nodeFlags: readonly string[] = []) {
    const args = [...nodeFlags, CLI, "--home", box.home, "--workspace", box.workspace];
    this.child = spawn(process.execPath, args, { env: { PATH: process.env["PATH"] } });
    onTestFinished(() => void this.child.kill("SIGKILL"));
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      // Whatever isn't JSON here is a defect: stdout belongs to the protocol.
      const message = JSON.parse(line) as Message;
      this.seen.push(message);
      if (message.method === "elicitation/create") this.onQuestion(message.id);
      if (message.id !== undefined) this.waiting.get(message.id)?.(message);
    });
  }

  send(id: number, method: string, params: Record<string, unknown> = {}): Promise<Message> {
    const answer = this.answer(id);
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return answer;
  }

  answer(id: number | null): Promise<Message> {
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  reply(id: Message["id"], result: object): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
  }

  async initialize(capabilities: object = {}): Promise<void> {
    await this.send(0, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities,
      clientInfo: { name: "raw", version: "1" },
    });
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  }

  async exit(): Promise<number | null> {
    if (this.child.exitCode === null) await once(this.child, "exit");
    return this.child.exitCode;
  }
}

describe("a host that misbehaves", () => {
  test("answers that come before their question, or after the first one, count for nothing", async () => {
    const box = await sandbox({ "home/config.yaml": "approvals: { mode: smart }\n" });
    const host = new RawHost(box);
    await host.initialize({ elicitation: {} });
    const accept = { action: "accept", content: { approve: true } };
    for (let id = 0; id < 3; id++) host.reply(id, accept);
    const question = new Promise<Message["id"]>((resolve) => (host.onQuestion = resolve));
    const patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch";
    const answer = host.send(10, "tools/call", { name: "apply_patch", arguments: { patch } });
    const id = await question;
    host.reply(id, { action: "decline" });
    host.reply(id, accept);
    expect((await answer).result?.content?.[0]?.text).toContain("approval_denied");
    await expect(readFile(join(box.workspace, "a.txt"))).rejects.toThrow();
  });

  test("garbage is answered, and the next request works", async () => {
    const host = new RawHost(await sandbox());
    await host.initialize();
    const complaint = host.answer(null);
    host.child.stdin.write("hello, is this the database?\n");
    host.child.stdin.write('{"broken": \n');
    host.child.stdin.write(Buffer.from([0xff, 0xfe, 0x00, 0x0a]));
    host.child.stdin.write('{"jsonrpc":"2.0","id":7,"method":42}\n');
    host.child.stdin.write("[]\n");
    expect((await complaint).error?.code).toBe(-32_700);
    // Nobody waits for ever: what can be answered, is.
    for (const [index, odd] of [
      { method: 42 },
      { method: "tools/call", params: [] },
      { method: "tools/list", extra: 1 },
      { method: "tools/list", jsonrpc: "1.0" },
    ].entries()) {
      const answer = host.answer(100 + index);
      host.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 100 + index, ...odd })}\n`);
      expect((await answer).error?.code).toBe(-32_600);
    }
    expect((await host.send(1, "tools/list")).result?.tools?.length).toBeGreaterThan(0);
  });

  test("a list of messages, as 2025-03-26 has it, is answered by a list", async () => {
    const host = new RawHost(await sandbox());
    await host.initialize();
    const ping = (id: number): object => ({ jsonrpc: "2.0", id, method: "ping" });
    const before = host.seen.length;
    const list = { jsonrpc: "2.0", id: 8, method: "tools/list" };
    host.child.stdin.write(`${JSON.stringify([ping(5), { ...ping(0), id: undefined }, list, ping(6)])}\n`);
    await host.send(9, "ping");
    await host.send(10, "tools/list");
    const batches = host.seen
      .slice(before)
      .filter((message) => Array.isArray(message)) as unknown as Message[][];
    expect(batches.map((batch) => new Set(batch.map(({ id }) => id)))).toEqual([new Set([5, 6, 8])]);
  });

  test("a 20 MB line is dropped and answered, and the next request works", async () => {
    const host = new RawHost(await sandbox());
    await host.initialize();
    const complaint = host.answer(null);
    host.child.stdin.write(`{"jsonrpc":"2.0","id":5,"method":"${"x".repeat(20_000_000)}"}\n`);
    expect((await complaint).error?.message).toContain("longer than");
    expect((await host.send(1, "tools/list")).result?.tools?.length).toBeGreaterThan(0);
  });

  test("1,000 requests at once are all answered", async () => {
    const host = new RawHost(await sandbox({ "workspace/MEMORY.md": "one\n" }));
    await host.initialize();
    const answers = await Promise.all(
      Array.from({ length: 1000 }, (_, index) =>
        host.send(index + 1, "tools/call", { name: "memory_get", arguments: { filePath: "MEMORY.md" } }),
      ),
    );
    expect(answers.every((one) => one.result?.content?.[0]?.text === "1: one")).toBe(true);
  });

  test("end of stdin ends the server, also with a call under way and half a line sent", async () => {
    const host = new RawHost(await sandbox({ "workspace/MEMORY.md": "one\n" }));
    await host.initialize();
    void host.send(1, "tools/call", { name: "memory_get", arguments: { filePath: "MEMORY.md" } });
    host.child.stdin.end('{"jsonrpc":"2.0","id":2,"met');
    expect(await host.exit()).toBe(0);
  });

  test("what was asked before the end of stdin is answered, as scripts need it", async () => {
    const host = new RawHost(await sandbox({ "workspace/MEMORY.md": "one\n" }));
    const greeted = host.initialize();
    const listed = host.send(1, "tools/list");
    const got = host.send(2, "tools/call", { name: "memory_get", arguments: { filePath: "MEMORY.md" } });
    host.child.stdin.end();
    await greeted;
    expect((await listed).result?.tools?.length).toBeGreaterThan(0);
    expect((await got).result?.content?.[0]?.text).toBe("1: one");
    expect(await host.exit()).toBe(0);
  });

  test("a host that never reads and then goes away doesn't leave a server behind", async () => {
    const host = new RawHost(await sandbox());
    await host.initialize();
    host.child.stdout.destroy();
    host.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })}\n`);
    expect(await host.exit()).not.toBeNull();
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s ends the server", async (signal) => {
    const host = new RawHost(await sandbox());
    await host.initialize();
    host.child.kill(signal);
    expect(await host.exit()).toBe(0);
  });
});

test("tools/list is answered without any module that takes long to load", async () => {
  const box = await sandbox();
  const spy = await box.write(
    "spy.cjs",
    `const { writeFileSync } = require("node:fs");
process.on("exit", () => writeFileSync(${JSON.stringify(join(box.home, "loaded"))}, process.moduleLoadList.join("\\n")));`,
  );
  const host = new RawHost(box, ["--require", spy]);
  await host.initialize();
  expect((await host.send(1, "tools/list")).result?.tools?.length).toBeGreaterThan(5);
  host.child.stdin.end();
  expect(await host.exit()).toBe(0);
  const loaded = new Set((await readFile(join(box.home, "loaded"), "utf8")).split("\n"));
  expect(loaded).toContain("NativeModule fs/promises");
  for (const name of ["child_process", "crypto", "http", "timers/promises", "worker_threads", "zlib"])
    expect(loaded, name).not.toContain(`NativeModule ${name}`);
});

describe("a broken config", () => {
  test("the server starts, refuses calls with the place of the mistake, and works once it is fixed", async () => {
    const box = await sandbox({
      "workspace/MEMORY.md": "one\n",
      "home/config.yaml": "tools:\n  dney: [cron]\n",
    });
    const host = new RawHost(box);
    await host.initialize();
    const get = { name: "memory_get", arguments: { filePath: "MEMORY.md" } };
    const refused = await host.send(1, "tools/call", get);
    expect(refused.result?.isError).toBe(true);
    expect(refused.result?.content?.[0]?.text).toMatch(
      /invalid_config.*config\.yaml:2:3: tools\.dney.*Did you mean "deny"/,
    );
    await box.write("home/config.yaml", "tools:\n  deny: [cron]\n");
    let id = 2;
    let text: string | undefined;
    // The file is looked at when a call comes, at most four times a second.
    do text = (await host.send(id++, "tools/call", get)).result?.content?.[0]?.text;
    while (text !== "1: one" && id < 100_000);
    expect(text).toBe("1: one");
  });
});
