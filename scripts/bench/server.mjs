/**
 * The claims of docs/proof.md about start-up, calls and memory, each a ratio against a peer measured in the same
 * run: rounds alternate between the two, so that a busy machine slows both, and medians are compared.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { httpClient, stdioClient } from "./client.mjs";
import { binOf, bundled, installed, root, table } from "../cache.mjs";

const FILESYSTEM = "@modelcontextprotocol/server-filesystem";
const MEMORY = "@modelcontextprotocol/server-memory";
const START_ROUNDS = 15;
/** As many again before them, for the compiler: it takes a few thousand calls until the code is as fast as it gets. */
const CALL_ROUNDS = 15;
const CALLS = 200;
const IN_FLIGHT = 8;

const USAGE = fileURLToPath(new URL("usage.cjs", import.meta.url));

export async function benchServer(print) {
  const peers = await installed("peers", { [FILESYSTEM]: "2026.8.31", [MEMORY]: "2026.8.31" });
  const echo = await bundled("tests/bench/echo-server.ts", "bench-echo-server");
  const scratch = mkdtempSync(join(tmpdir(), "camel-bench-"));
  try {
    const rows = [
      ...(await benchStart(scratch, peers)),
      ...(await onOneCore(() => benchStdio(scratch, echo))),
      ...(await benchHttp(scratch, echo)),
    ];
    print(table([["what", "ours", "peer", "ratio", "target", ""], ...rows]));
    return rows.every((row) => row.at(-1) !== "MISSED");
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** From spawn to the answer of tools/list, and the process's own account of itself. */
async function benchStart(scratch, peers) {
  const files = join(scratch, "files");
  mkdirSync(files);
  const env = {
    CAMELAGI_HOME: join(scratch, "home"),
    CAMEL_WORKSPACE: files,
    MEMORY_FILE_PATH: join(scratch, "memory.jsonl"),
  };
  const runs = await interleaved(START_ROUNDS, {
    ours: () => start([join(root, "dist", "cli.js")], env),
    node: () => start(["-e", "0"], env, false),
    filesystem: () => start([binOf(peers, FILESYSTEM), files], env),
    memory: () => start([binOf(peers, MEMORY)], env),
  });
  const of = (name, field) => median(runs[name].map((run) => run[field]));
  const row = (what, field, peer, limit, unit) =>
    atMost(what, of("ours", field), of(peer, field), limit, unit);
  return [
    row("start to tools/list, processor time, bare node -e 0", "cpu", "node", 2.2, "ms"),
    row("start to tools/list, time, server-filesystem", "wall", "filesystem", 1, "ms"),
    row("start to tools/list, time, server-memory", "wall", "memory", 1, "ms"),
    row("memory after tools/list, server-filesystem", "rss", "filesystem", undefined, "MB"),
    row("memory after tools/list, server-memory", "rss", "memory", undefined, "MB"),
  ];
}

async function start(args, env, isServer = true) {
  const began = performance.now();
  const client = stdioClient(["--require", USAGE, ...args], {
    env,
    stdio: ["pipe", "pipe", "ignore", "pipe"],
  });
  const usage = text(client.child.stdio[3]);
  if (isServer) {
    await client.initialize();
    const { result } = await client.ask("tools/list", {});
    if (result.tools.length === 0) throw new Error("no tools");
  }
  const wall = performance.now() - began;
  await client.close();
  return { wall, ...JSON.parse(await usage) };
}

const ECHO = { name: "echo", arguments: { text: "Tea, not coffee." } };
const TOOLS = [
  { ...ECHO, limit: 1.3 },
  // No limit: the bare server opens any path it is given, ours proves where the path leads before and after.
  { name: "memory_get", arguments: { filePath: "MEMORY.md" } },
];

function homeFor(scratch, name) {
  const home = join(scratch, name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "MEMORY.md"), "# Memory\n\nTea, not coffee.\n");
  return home;
}

async function benchStdio(scratch, echo) {
  const clients = ["camel", "bare"].map((kind) => stdioClient([echo, kind, "stdio", homeFor(scratch, kind)]));
  const [ours, bare] = clients;
  for (const client of clients) await client.initialize();
  const rows = [];
  for (const { limit, ...tool } of TOOLS) {
    const timed = (client) => async () => {
      const times = [];
      for (let call = 0; call < CALLS; call += 1) {
        const began = performance.now();
        check(await client.ask("tools/call", tool));
        times.push(performance.now() - began);
      }
      return times;
    };
    const runs = await interleaved(CALL_ROUNDS, { ours: timed(ours), bare: timed(bare) }, CALL_ROUNDS);
    const p50 = (name) => median(runs[name].flat());
    rows.push(atMost(`stdio tools/call p50, ${tool.name}, bare SDK`, p50("ours"), p50("bare"), limit, "ms"));
  }
  for (const client of clients) await client.close();
  return rows;
}

async function benchHttp(scratch, echo) {
  const rows = [];
  for (const era of ["legacy", "modern"]) {
    const [ours, bare] = await Promise.all(
      ["camel", "bare"].map((kind) => httpClient([echo, kind, "http", homeFor(scratch, kind)], era)),
    );
    const rate = (client) => async () => {
      const began = performance.now();
      let left = CALLS;
      const worker = async () => {
        while ((left -= 1) >= 0) check(await client.ask("tools/call", ECHO));
      };
      await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
      return (CALLS / (performance.now() - began)) * 1000;
    };
    const runs = await interleaved(CALL_ROUNDS, { ours: rate(ours), bare: rate(bare) }, CALL_ROUNDS);
    rows.push(
      atLeast(`HTTP calls a second, ${era} era, bare SDK`, median(runs.ours), median(runs.bare), 0.8),
    );
    await Promise.all([ours.close(), bare.close()]);
  }
  return rows;
}

/**
 * Asking and answering take turns, so a second core adds nothing but the time to wake it: as long as a whole call, and
 * paid by whichever pair of processes the system happened to place apart. Where taskset is missing, that is part of
 * the figures.
 */
async function onOneCore(work) {
  const taskset = (...args) =>
    spawnSync("taskset", ["-acp", ...args, process.pid], { encoding: "utf8" }).stdout;
  const cores = /: ([\d,-]+)$/m.exec(taskset() ?? "")?.[1];
  if (cores === undefined) return work();
  taskset(/^\d+/.exec(cores)[0]);
  try {
    return await work();
  } finally {
    taskset(cores);
  }
}

/** Runs each in turns; which one is first changes with the round. The first `warmUp` rounds don't count. */
async function interleaved(rounds, tasks, warmUp = 1) {
  const names = Object.keys(tasks);
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < warmUp + rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const result = await tasks[name]();
      if (round >= warmUp) results[name].push(result);
    }
  }
  return results;
}

function check({ result, error }) {
  if (error !== undefined || result.isError === true) throw new Error(JSON.stringify(error ?? result));
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function atMost(what, ours, peer, limit, unit) {
  const met = limit === undefined ? "" : ours / peer <= limit ? "met" : "MISSED";
  return rowOf(what, ours, peer, limit === undefined ? "" : `<= ${limit}`, met, unit);
}

function atLeast(what, ours, peer, limit) {
  return rowOf(what, ours, peer, `>= ${limit}`, ours / peer >= limit ? "met" : "MISSED", "/s");
}

function rowOf(what, ours, peer, target, met, unit) {
  const show = (value) => `${value < 10 ? value.toFixed(3) : value.toFixed(0)} ${unit}`;
  return [what, show(ours), show(peer), (ours / peer).toFixed(2), target, met];
}
