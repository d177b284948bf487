/**
 * `npm run conformance`: the protocol's own test suite against the real HTTP server, with the suite's fixtures
 * mounted by tests/conformance/server.ts. Fails if a scenario that either revision requires fails.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "yaml";
import { binOf, bundled, installed, table } from "./cache.mjs";

const SUITE = "@modelcontextprotocol/conformance";
const REVISIONS = ["2025-11-25", "2026-07-28"];

// The suite needs a newer Node than the product does.
const modules = await installed("conformance", { [SUITE]: "0.2.0-alpha.12", node: "24.21.0" });
const entry = await bundled("tests/conformance/server.ts", "conformance-server");

const scratch = mkdtempSync(join(tmpdir(), "camel-conformance-"));
let failures = 0;
try {
  for (const revision of REVISIONS) failures += await check(revision);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;

/** Runs one revision's scenarios on a fresh server, prints the table, and returns how many required ones failed. */
async function check(revision) {
  const home = mkdtempSync(join(scratch, "home-"));
  const results = join(scratch, `results-${revision}`);
  const server = spawn(process.execPath, [entry, home], { stdio: ["pipe", "pipe", "inherit"] });
  const [url] = await Promise.race([once(createInterface(server.stdout), "line"), failsOnExit(server)]);
  const suite = spawn(
    binOf(modules, "node"),
    [binOf(modules, SUITE), "server", "--url", url, "--requirements", revision, "--output-dir", results],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  const [status] = await once(suite, "close");
  server.stdin.end();
  await once(server, "close");

  const required = parse(
    readFileSync(join(modules, SUITE, "requirements", `${revision}.yaml`), "utf8"),
  ).server;
  const scenarios = readResults(results);
  const failed = required.filter((name) => {
    const found = scenarios.find((one) => one.name === name);
    return found === undefined || found.failed.length > 0 || found.passed === 0;
  });
  // The suite counts for itself; should it disagree with us, it is right.
  const count = failed.length === 0 && status !== 0 ? 1 : failed.length;
  const rows = scenarios.map(({ name, passed, failed }) => [
    name,
    passed,
    failed.length,
    required.includes(name) ? "" : "not scored",
  ]);
  process.stdout.write(`\nMCP ${revision}\n${table([["scenario", "passed", "failed", ""], ...rows])}\n`);
  for (const name of failed) {
    const why = scenarios.find((one) => one.name === name)?.failed ?? ["it did not run"];
    process.stdout.write(`FAILED ${name}: ${why.join("; ") || "no check passed"}\n`);
  }
  process.stdout.write(
    `${required.length} required scenarios, ${count} failed (the suite's exit code: ${status})\n`,
  );
  return count;
}

/** The suite writes a folder a scenario: server-NAME-TIME/checks.json. */
function readResults(folder) {
  return readdirSync(folder)
    .map((entry) => {
      const checks = JSON.parse(readFileSync(join(folder, entry, "checks.json"), "utf8"));
      return {
        name: entry.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, ""),
        passed: checks.filter((check) => check.status === "SUCCESS").length,
        failed: checks
          .filter((check) => check.status === "FAILURE")
          .map((check) => check.errorMessage ?? check.id),
      };
    })
    .sort((a, b) => a.name.localeCompare(b.name));
}

async function failsOnExit(child) {
  const [code] = await once(child, "close");
  throw new Error(`the conformance server ended with code ${code} before it listened`);
}
