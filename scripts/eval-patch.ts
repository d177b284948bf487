/**
 * Runs the shared patch suites against this engine: `npm run eval:patch [-- SUITE ...]`. The suites are other
 * projects' material and stay where they are; PATCH_DATA names their folder.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";

// npm runs scripts in the package's folder; this file itself is bundled elsewhere first, for Node 20.
const here = process.cwd();
const data = resolve(process.env["PATCH_DATA"] ?? join(here, "../shared/data/patch"));
const policies = "atomic,no-overwrite,keep-eof,delete-missing-ok";

if (!existsSync(join(data, "run.mjs"))) {
  process.stderr.write("No suites found: set PATCH_DATA to the folder that holds run.mjs.\n");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "camel-eval-"));
try {
  const entry = join(folder, "entry.ts");
  writeFileSync(
    entry,
    `import { runPatchCommand } from ${JSON.stringify(join(here, "src/commands/patch.ts"))};
process.exitCode = await runPatchCommand({ dryRun: false, json: false, workspace: process.cwd(),
  home: ${JSON.stringify(join(folder, "home"))}, stdin: process.stdin, stdout: process.stdout,
  stderr: process.stderr, color: false });`,
  );
  const bundle = await rolldown({ input: entry, platform: "node", cwd: here });
  await bundle.write({ file: join(folder, "patch.mjs"), format: "esm", codeSplitting: false });
  const wanted = process.argv.slice(2);
  const suites = readdirSync(data).filter(
    (name) => name.endsWith(".jsonl") && (wanted.length === 0 || wanted.some((part) => name.includes(part))),
  );
  const run = spawnSync(
    process.execPath,
    [
      join(data, "run.mjs"),
      "--cmd",
      `${process.execPath} ${join(folder, "patch.mjs")}`,
      "--policy",
      policies,
      ...suites.flatMap((name) => ["--suite", join(data, name)]),
      "-v",
    ],
    { encoding: "utf8", maxBuffer: 1 << 28 },
  );
  const lines = run.stdout.split("\n").filter((line) => !line.startsWith("ok  "));
  process.stdout.write(lines.join("\n") + run.stderr);
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
