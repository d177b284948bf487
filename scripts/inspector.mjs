/**
 * `npm run inspector`: the MCP Inspector lists and calls over stdio, Streamable HTTP and legacy SSE against the
 * built CLI, in both protocol eras where the transport has both. `--strict` fails on a schema hosts can't take.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { binOf, installed, root, table } from "./cache.mjs";

const INSPECTOR = "@modelcontextprotocol/inspector";
const CLI = join(root, "dist", "cli.js");

// The Inspector needs a newer Node than the product does.
const modules = await installed("inspector", { [INSPECTOR]: "2.12.0", node: "24.21.0" });

const scratch = mkdtempSync(join(tmpdir(), "camel-inspector-"));
const workspace = join(scratch, "workspace");
mkdirSync(workspace);
writeFileSync(join(workspace, "MEMORY.md"), "Tea, not coffee.\n");
const ours = { CAMELAGI_HOME: join(scratch, "home"), CAMEL_WORKSPACE: workspace };
// The Inspector keeps files in the home directory; this one goes away with the run.
const env = { ...process.env, ...ours, HOME: scratch, USERPROFILE: scratch };

const server = spawn(process.execPath, [CLI, "serve", "--port", "0", "--json"], {
  env,
  stdio: ["ignore", "pipe", "inherit"],
});
const [line] = await once(createInterface(server.stdout), "line");
const { url, sse } = JSON.parse(line);

const stdio = [
  process.execPath,
  CLI,
  ...Object.entries(ours).flatMap(([key, value]) => ["-e", `${key}=${value}`]),
];
const TARGETS = [
  { transport: "stdio", era: "legacy", target: stdio },
  { transport: "stdio", era: "modern", target: stdio },
  { transport: "http", era: "legacy", target: ["--transport", "http", "--server-url", url] },
  { transport: "http", era: "modern", target: ["--transport", "http", "--server-url", url] },
  { transport: "sse", era: "legacy", target: ["--transport", "sse", "--server-url", sse] },
];
const REQUESTS = [
  {
    name: "tools/list --strict",
    args: ["--method", "tools/list", "--strict"],
    holds: (result) => result.tools.some((tool) => tool.name === "memory_get"),
  },
  {
    name: "tools/call memory_get",
    args: ["--method", "tools/call", "--tool-name", "memory_get", "--tool-arg", "filePath=MEMORY.md"],
    holds: (result) => result.structuredContent.content === "Tea, not coffee.",
  },
  {
    name: "resources/list",
    args: ["--method", "resources/list"],
    holds: (result) => result.resources.some((resource) => resource.uri === "memory:///MEMORY.md"),
  },
  {
    name: "resources/read",
    args: ["--method", "resources/read", "--uri", "memory:///MEMORY.md"],
    holds: (result) => result.contents[0].text.trim() === "Tea, not coffee.",
  },
];

const rows = [["transport", "era", "request", "result"]];
let failures = 0;
try {
  for (const { transport, era, target } of TARGETS) {
    for (const { name, args, holds } of REQUESTS) {
      const answer = await inspect([...target, "--protocol-era", era, ...args]);
      const problem = problemOf(answer, holds);
      if (problem !== undefined) failures += 1;
      rows.push([transport, era, name, problem ?? note(answer)]);
    }
  }
} finally {
  server.kill();
  await once(server, "close");
  rmSync(scratch, { recursive: true, force: true });
}
process.stdout.write(`${table(rows)}\n${rows.length - 1} requests, ${failures} failed\n`);
process.exitCode = failures === 0 ? 0 : 1;

async function inspect(args) {
  const child = spawn(
    binOf(modules, "node"),
    [binOf(modules, INSPECTOR), "--cli", ...args, "--format", "json"],
    { env, stdio: ["ignore", "pipe", "pipe"] },
  );
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { out, err, code };
}

function problemOf({ out, err, code }, holds) {
  if (code !== 0) return `exit code ${code}: ${(err || out).trim().slice(0, 300)}`;
  try {
    return holds(JSON.parse(out).result) ? undefined : `unexpected: ${out.slice(0, 300)}`;
  } catch (error) {
    return `unexpected: ${error.message}: ${out.slice(0, 300)}`;
  }
}

/** `--strict` also says what is legal but not portable; that is shown and is no failure. */
function note({ out }) {
  const findings = (JSON.parse(out).schemaFindings ?? []).flatMap((tool) => tool.findings);
  return findings.length === 0 ? "ok" : `ok, ${findings.length} schema warnings`;
}
