/** Search times at a number of files, beside ripgrep where it's installed. Prints; asserts nothing. */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryIndex } from "../../src/tools/memory/search/memory-index.ts";
import { searchMemory } from "../../src/tools/memory/search/search.ts";

/** A small linear generator: the same files at every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

async function main(count = Number(process.argv[2] ?? 10_000)): Promise<void> {
  const base = await mkdtemp(join(tmpdir(), "camel-bench-"));
  const root = join(base, "root");
  const home = join(base, "home");
  const random = createRandom(7);
  // Word frequencies fall as they do in prose.
  const word = (): string => `w${Math.floor(40_000 * random() ** 4).toString(36)}`;
  for (let file = 0; file < count; file += 1) {
    const folder = join(root, "memory", String(file % 50));
    if (file < 50) await mkdir(folder, { recursive: true });
    const lines = Array.from({ length: 40 }, () => `${Array.from({ length: 14 }, word).join(" ")}.`);
    await writeFile(join(folder, `${file}.md`), `# ${word()}\n\n${lines.join("\n")}\n`);
  }
  const ask = async (index: MemoryIndex, query: string): Promise<number> => {
    const start = performance.now();
    await searchMemory([{ index, prefix: "" }], { query, maxResults: 6 });
    return performance.now() - start;
  };
  const print = (name: string, value: number, unit = "ms"): void => {
    process.stdout.write(`${count} files  ${name.padEnd(22)} ${value.toFixed(1)} ${unit}\n`);
  };
  const cold = new MemoryIndex(root, home);
  print("first search, cold", await ask(cold, "w1a w2b"));
  await cold.settled();
  cold.close();
  const index = new MemoryIndex(root, home);
  print("first search, saved", await ask(index, "w1a w2b"));
  const times: number[] = [];
  for (let at = 0; at < 300; at += 1) times.push(await ask(index, `${word()} ${word()} ${word()}`));
  times.sort((a, b) => a - b);
  const p50 = times[150] ?? 0;
  print("warm p50", p50);
  print("warm p99", times[297] ?? 0);
  await writeFile(join(root, "memory/0/0.md"), "zebra crossing\n");
  print("after one change", await ask(index, "zebra crossing"));
  print("RSS", process.memoryUsage().rss / 2 ** 20, "MB");
  const start = performance.now();
  const peer = spawnSync("rg", ["-c", "-i", "w1a|w2b", root], { maxBuffer: 2 ** 28 });
  if (peer.error === undefined) {
    const taken = performance.now() - start;
    print("ripgrep", taken);
    print("ripgrep / warm p50", taken / p50, "times");
  }
  index.close();
  await rm(base, { recursive: true, force: true });
}

await main();
