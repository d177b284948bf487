/**
 * `npm run eval:patch -- [DATA] [SUITE ...]`: the shared patch suites against the built command line, one real
 * process a case. DATA (or PATCH_DATA) is the folder that holds run.mjs and the suites; they are other projects'
 * material and stay where they are. Exit 0: every case passes, save the known ones below, and none claims success
 * with a wrong tree.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

const POLICIES = "atomic,no-overwrite,keep-eof,delete-missing-ok";

/** Cases whose expectation contradicts one of our rules, with the rule. */
const CONTRADICTIONS = {
  "openai-agents-js-05ea888ae0-u1":
    "hunks that can go to several places with different results are refused; this one has five",
  "openclaw-delete-symlink-itself":
    "no path may leave the workspace by a symbolic link, not even to delete it",
};

const words = process.argv.slice(2);
const isData = (folder) => existsSync(join(folder, "run.mjs"));
const data = resolve(
  words[0] !== undefined && isData(words[0])
    ? words.shift()
    : (process.env["PATCH_DATA"] ?? "../shared/data/patch"),
);
if (!isData(data)) {
  process.stderr.write("No suites found: give the folder that holds run.mjs, or set PATCH_DATA.\n");
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "camel-eval-"));
try {
  const suites = readdirSync(data)
    .filter((name) => name.endsWith(".jsonl"))
    .filter((name) => words.length === 0 || words.some((part) => name.includes(part)));
  const report = join(folder, "report.json");
  const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const command = [process.execPath, resolve("dist/cli.js"), "patch", "--home", join(folder, "home")];
  const run = spawnSync(
    process.execPath,
    [
      join(data, "run.mjs"),
      "--cmd",
      command.map(quote).join(" "),
      "--policy",
      POLICIES,
      "--json",
      report,
      ...suites.flatMap((name) => ["--suite", join(data, name)]),
      "-q",
    ],
    { encoding: "utf8", maxBuffer: 1 << 28 },
  );
  process.stderr.write(run.stderr);
  process.exitCode = summarize(JSON.parse(readFileSync(report, "utf8")));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function summarize(report) {
  let total = 0;
  let passed = 0;
  let silentlyWrong = 0;
  const failed = [];
  const known = [];
  for (const [suite, cases] of Object.entries(report)) {
    const good = cases.filter((one) => one.pass).length;
    console.log(`${basename(suite, ".jsonl").padEnd(34)} ${good}/${cases.length}`);
    total += cases.length;
    passed += good;
    for (const one of cases.filter((each) => !each.pass)) {
      if (one.claimed && one.problems.some((text) => /content differs|unexpected|missing|ESCAPE/.test(text)))
        silentlyWrong++;
      (one.id in CONTRADICTIONS ? known : failed).push(one);
    }
  }
  for (const { id } of known) console.log(`contradicts a rule: ${id}: ${CONTRADICTIONS[id]}`);
  for (const { id, problems, err, out } of failed)
    console.log(
      `FAIL ${id}: ${problems.join("; ")}\n     ${(err || out).trim().split("\n").slice(0, 6).join("\n     ")}`,
    );
  console.log(
    `${passed} of ${total} pass, ${known.length} contradict a rule, ${failed.length} fail; claimed success with a wrong tree: ${silentlyWrong}`,
  );
  return failed.length === 0 && silentlyWrong === 0 ? 0 : 1;
}
