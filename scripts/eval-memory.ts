/**
 * Retrieval quality on the sets of a data folder (default ../shared/data/memory, which is not part of this repository).
 * Started with --serve it answers the folder's runner: JSONL {id, root, query, k} in, {id, results} out.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { MemoryIndex } from "../src/tools/memory/search/memory-index.ts";
import { searchMemory } from "../src/tools/memory/search/search.ts";

async function serve(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "camel-eval-"));
  const indexes = new Map<string, MemoryIndex>();
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, root, query, k } = JSON.parse(line) as { id: string; root: string; query: string; k: number };
    const index = indexes.get(root) ?? new MemoryIndex(root, home);
    indexes.set(root, index);
    const { hits } = await searchMemory([{ index, prefix: "" }], { query, maxResults: k });
    process.stdout.write(`${JSON.stringify({ id, results: hits })}\n`);
  }
  for (const index of indexes.values()) index.close();
  await rm(home, { recursive: true, force: true });
}

function evaluate(folder: string): void {
  if (!existsSync(join(folder, "run.mjs"))) {
    process.stderr.write(`No evaluation data in ${folder}. Pass the folder as the first argument.\n`);
    process.exitCode = 1;
    return;
  }
  const self = `"${process.execPath}" "${fileURLToPath(import.meta.url)}" --serve`;
  for (const file of readdirSync(join(folder, "queries")).sort()) {
    const set = file.replace(/\.jsonl$/, "");
    for (const style of set.startsWith("locomo") ? ["question", "keywords"] : ["question"]) {
      spawnSync(
        process.execPath,
        [
          join(folder, "run.mjs"),
          "--set",
          set,
          "--qstyle",
          style,
          "--label",
          `${set}-${style}`,
          "--lat",
          "--cmd",
          self,
        ],
        { stdio: "inherit" },
      );
    }
  }
}

if (process.argv.includes("--serve")) await serve();
else evaluate(resolve(process.argv[2] ?? "../shared/data/memory"));
