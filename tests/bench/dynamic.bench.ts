/**
 * Dynamic tools in one run: a shell tool's call beside a bare spawn, a js tool's warm call, and a home with a thousand
 * tools: start-up, load and list. Uses the built package, as users do. Prints medians; asserts nothing.
 */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import type * as Library from "../../src/index.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { createSealedFolder } from "../../src/stores/sealed-folder.ts";
import type { StoredTool } from "../../src/tools/dynamic/stored.ts";

const CALLS = 200;
const TOOLS = 1_000;
const caller = {
  agentId: "main",
  depth: 0,
  client: "bench",
  transport: "library",
  sessionId: "ses_bench",
} as const;

async function main(print: (line: string) => void): Promise<void> {
  const { createCamel } = (await import(pathToFileURL(resolve("dist/index.js")).href)) as typeof Library;
  const base = await mkdtemp(join(tmpdir(), "camel-bench-"));
  const workspace = join(base, "workspace");
  await mkdir(workspace);
  const open = (home: string) => createCamel({ home: join(base, home), workspace, cwd: workspace });
  try {
    const camel = await open("home");
    const call = async (name: string, args: unknown): Promise<void> => {
      const result = await camel.dispatcher.call({
        id: "call_bench",
        name,
        args,
        caller,
        signal: new AbortController().signal,
      });
      if (result.isError === true) throw new Error(result.text);
    };
    const make = (name: string, strategy: object, rest: object = {}): Promise<void> =>
      call("tool_create", {
        action: "create",
        definition: { name, description: "Bench.", strategy, ...rest },
      });
    await make("say_plain", { type: "shell", command_template: "echo {{input}}" }, { sandbox: "off" });
    await make("say_boxed", { type: "shell", command_template: "echo {{input}}" });
    await make("upper", { type: "js", source: "return input.input.toUpperCase();" });
    const row = (name: string, value: number, note = ""): void =>
      print(`${name.padEnd(34)} ${value.toFixed(2).padStart(9)} ms  ${note}`);
    const bare = await median(CALLS, () => bareSpawn("/bin/echo", ["x"]));
    const plain = await median(CALLS, () => call("say_plain", { input: "x" }));
    const boxed = await median(CALLS, () => call("say_boxed", { input: "x" }));
    row("bare spawn of echo", bare);
    row("shell tool, no sandbox", plain, `${(plain / bare).toFixed(2)} times a spawn`);
    row("shell tool, sandbox if there is one", boxed, `${(boxed / bare).toFixed(2)} times a spawn`);
    await median(20, () => call("upper", { input: "x" }));
    row("js tool, warm", await median(CALLS, () => call("upper", { input: "x" })), "wanted: at most 3");
    await camel.close();

    const none = await median(9, () => startUp(join(base, "empty"), workspace));
    await fill(join(base, "home"));
    const full = await median(9, () => startUp(join(base, "home"), workspace));
    row("start to initialize, no tools", none);
    row(`start to initialize, ${TOOLS} tools`, full);
    const loads: number[] = [];
    const lists: number[] = [];
    for (let at = 0; at < 9; at += 1) {
      const fresh = await open("home");
      loads.push(await timed(() => fresh.refresh()));
      lists.push(await timed(() => Promise.resolve(fresh.dispatcher.list(caller))));
      if (fresh.dispatcher.list(caller).length < TOOLS) throw new Error("not all tools were listed");
      await fresh.close();
    }
    row(`load ${TOOLS} tools`, middle(loads), "wanted: under 50");
    row(`list ${TOOLS} tools`, middle(lists), "wanted: under 5");
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

/** A thousand copies of a tool, each sealed under its own name. */
async function fill(home: string): Promise<void> {
  const store = createSealedFolder<StoredTool>({
    home,
    env: {},
    keychain: false,
    clock: systemClock,
    folder: "tools",
    kind: "tool",
  });
  const model = await store.read("say_plain");
  if (model === undefined) throw new Error("no tool to copy");
  for (let at = 0; at < TOOLS; at += 1)
    await store.change(`copy_${at}`, () => ({ ...model, name: `copy_${at}` }));
}

function bareSpawn(program: string, args: readonly string[]): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(program, [...args], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.resume();
    child.stderr.resume();
    child.on("error", fail);
    child.on("close", () => done());
  });
}

/** From starting the process to the answer to `initialize`. */
function startUp(home: string, workspace: string): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, ["dist/cli.js", "--home", home, "--workspace", workspace], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    child.on("error", fail);
    createInterface({ input: child.stdout }).once("line", () => {
      child.kill("SIGKILL");
      done();
    });
    const params = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    };
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function median(runs: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < runs; at += 1) times.push(await timed(work));
  return middle(times);
}

function middle(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

await main((line) => process.stdout.write(`${line}\n`));
