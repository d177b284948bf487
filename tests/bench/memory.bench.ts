/**
 * Memory search beside ripgrep and a plain keyword count, in one run on the same files. Prints; asserts nothing.
 *
 *   npm run bench memory [1000 10000 100000]
 */
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { MemoryIndex } from "../../src/tools/memory/search/memory-index.ts";
import { searchMemory } from "../../src/tools/memory/search/search.ts";

const CLI = resolve("dist/cli.js");
// The bundled bench lies elsewhere; its worker must lie beside it as it does in dist/chunks.
copyFileSync("dist/chunks/memory-index-worker.js", new URL("memory-index-worker.js", import.meta.url));

/** A small linear generator: the same files at every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

function percentile(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The first answer of a real server process: from its start to the result of memory_search. */
async function fromProcessStart(root: string, home: string, query: string): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, [CLI, "--home", home, "--workspace", root], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const send = (message: object): void => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  const clientInfo = { name: "bench", version: "1" };
  send({
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo },
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { id } = JSON.parse(line) as { id?: number };
    if (id === 1) {
      send({ method: "notifications/initialized" });
      send({ id: 2, method: "tools/call", params: { name: "memory_search", arguments: { query } } });
    } else if (id === 2) break;
  }
  const taken = performance.now() - start;
  const ended = new Promise((done) => child.on("close", done));
  child.stdin.end();
  await ended;
  return taken;
}

async function bench(count: number): Promise<void> {
  const base = mkdtempSync(join(tmpdir(), "camel-bench-"));
  const root = join(base, "root");
  const home = join(base, "home");
  const random = createRandom(7);
  // Word frequencies fall as they do in prose.
  const word = (): string => `w${Math.floor(40_000 * random() ** 4).toString(36)}`;
  for (let file = 0; file < count; file += 1) {
    const folder = join(root, "memory", String(file % 50));
    if (file < 50) mkdirSync(folder, { recursive: true });
    const lines = Array.from({ length: 40 }, () => `${Array.from({ length: 14 }, word).join(" ")}.`);
    writeFileSync(join(folder, `${file}.md`), `# ${word()}\n\n${lines.join("\n")}\n`);
  }
  const print = (name: string, value: number, unit = "ms"): void => {
    process.stdout.write(
      `${String(count).padStart(6)} files  ${name.padEnd(36)} ${value.toFixed(1)} ${unit}\n`,
    );
  };
  const index = new MemoryIndex(root, home);
  const ask = async (query: string, ranking: "passages" | "keyword" = "passages"): Promise<number> => {
    const start = performance.now();
    await searchMemory([{ index, prefix: "" }], { query, maxResults: 6, ranking });
    return performance.now() - start;
  };
  print("first search, no index", await ask("w1a w2b"));
  await index.settled();
  print("first search from process start", await fromProcessStart(root, home, "w1a w2b"));
  const queries = Array.from({ length: 300 }, () => `${word()} ${word()} ${word()}`);
  for (const query of queries.slice(0, 30)) await ask(query);
  const times: number[] = [];
  for (const query of queries) times.push(await ask(query));
  const p50 = percentile(times, 0.5);
  print("warm p50", p50);
  print("warm p99", percentile(times, 0.99));
  const changes: number[] = [];
  for (let at = 0; at < 20; at += 1) {
    writeFileSync(join(root, "memory/0/0.md"), `zebra${at} crossing\n`);
    changes.push(await ask(`zebra${at}`));
  }
  print("one changed file, p50", percentile(changes, 0.5));
  print("RSS", process.memoryUsage().rss / 2 ** 20, "MB");
  const peers: [string, () => Promise<number> | number][] = [
    ["plain keyword count", () => ask("w1a w2b", "keyword")],
    [
      "ripgrep",
      () => {
        const start = performance.now();
        const run = spawnSync("rg", ["-c", "-i", "w1a|w2b", root], { maxBuffer: 2 ** 28 });
        return run.error === undefined ? performance.now() - start : Number.NaN;
      },
    ],
  ];
  for (const [name, run] of peers) {
    await run();
    const taken = percentile([await run(), await run(), await run()], 0.5);
    if (Number.isNaN(taken)) process.stdout.write(`        ${name} is not installed\n`);
    else {
      print(name, taken);
      print(`${name}, times warm p50`, taken / p50, "×");
    }
  }
  index.close();
  rmSync(base, { recursive: true, force: true });
}

const counts = process.argv.slice(2).map(Number);
for (const count of counts.length > 0 ? counts : [1_000, 10_000]) await bench(count);
