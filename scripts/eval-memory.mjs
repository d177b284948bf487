/**
 * Retrieval quality through the real server over stdio: recall of the evidence in the first six passages, the mean
 * reciprocal rank of the first one that helps, and the characters shown.
 *
 *   node scripts/eval-memory.mjs                 the small set of this repository, tests/memory/eval
 *   node scripts/eval-memory.mjs FOLDER [SET …]  sets of a folder with run.mjs, queries/ and data/
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const CLI = join(root, "dist", "cli.js");

/** Questions of `folder`/queries.jsonl (query, file, line) asked about the memory in `folder`/memory-root. */
export async function measure(folder) {
  const home = mkdtempSync(join(tmpdir(), "camel-eval-"));
  const memory = join(folder, "memory-root");
  const client = new Client({ name: "eval", version: "1.0.0" });
  const args = [CLI, "--home", home, "--workspace", memory, "--memory-root", memory];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
  try {
    const lines = readFileSync(join(folder, "queries.jsonl"), "utf8").trim().split("\n");
    const rows = [];
    for (const { query, file, line } of lines.map((text) => JSON.parse(text))) {
      const answer = await client.callTool({ name: "memory_search", arguments: { query, maxResults: 6 } });
      const { results } = answer.structuredContent;
      const place = results.findIndex(
        (hit) => hit.file === file && hit.startLine <= line && line <= hit.endLine,
      );
      const characters = results.reduce((sum, { snippet }) => sum + snippet.length, 0);
      rows.push({ query, isFound: place >= 0, rank: place < 0 ? 0 : 1 / (place + 1), characters });
    }
    const mean = (of) => rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
    return {
      questions: rows.length,
      recall: mean(({ isFound }) => Number(isFound)),
      reciprocalRank: mean(({ rank }) => rank),
      characters: mean((row) => row.characters),
      missed: rows.filter(({ isFound }) => !isFound).map(({ query }) => query),
    };
  } finally {
    await client.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function evaluateFolder(folder, wanted) {
  const home = mkdtempSync(join(tmpdir(), "camel-eval-"));
  const server = `"${process.execPath}" "${CLI}" --home "${home}" --workspace "{root}" --memory-root "{root}"`;
  try {
    for (const file of readdirSync(join(folder, "queries")).sort()) {
      const set = file.replace(/\.jsonl$/, "");
      if (wanted.length > 0 && !wanted.includes(set)) continue;
      for (const style of set.startsWith("locomo") ? ["question", "keywords"] : ["question"]) {
        const words = ["--set", set, "--qstyle", style, "--label", `${set}-${style}`, "--k", "10", "--lat"];
        spawnSync(process.execPath, [join(folder, "run.mjs"), ...words, "--mcp", server], {
          stdio: "inherit",
        });
      }
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [given, ...sets] = process.argv.slice(2);
  if (given === undefined) {
    const { missed, ...figures } = await measure(join(root, "tests", "memory", "eval"));
    console.log(figures);
    for (const query of missed) console.log(`not found: ${query}`);
  } else if (existsSync(join(given, "run.mjs"))) evaluateFolder(resolve(given), sets);
  else {
    console.error(`No run.mjs in ${given}.`);
    process.exitCode = 1;
  }
}
