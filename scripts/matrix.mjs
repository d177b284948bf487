/**
 * `npm run matrix`: the built package under the Node that runs this and under others, which npm's `node` package
 * brings. Each one says its version, runs the demo, and answers a list, two calls and a refusal over stdio.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, table } from "./cache.mjs";
import { check, connectRaw, smoke } from "./raw-client.mjs";
import { newUser, npm, run } from "./run.mjs";

const MAJORS = process.argv.length > 2 ? process.argv.slice(2) : ["22", "24", "26"];
const cli = join(root, "dist", "cli.js");
const wanted = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;

const rows = [await tryOut("running", () => process.execPath)];
for (const major of MAJORS) rows.push(await tryOut(`node@${major}`, () => fetchNode(major)));

const columns = ["node", "version", "--version", "demo", "stdio"];
console.log(table([columns, ...rows.map((row) => columns.map((name) => row[name] ?? ""))]));
for (const { node, problem } of rows) if (problem !== undefined) console.error(`\n${node}: ${problem}`);
if (rows.some(({ problem }) => problem !== undefined)) process.exitCode = 1;

async function tryOut(name, find) {
  const row = { node: name };
  const temp = realpathSync(mkdtempSync(join(tmpdir(), "camel-matrix-")));
  const env = newUser(temp);
  let step = "version";
  const passed = (next, text = "ok") => ((row[step] = text), (step = next));
  try {
    const node = find();
    passed("--version", run(node, ["--version"]).trim());
    const said = run(node, [cli, "--version"], { env }).trim();
    check(said === wanted, `says ${said} and not ${wanted}`);
    passed("demo");
    const demo = run(node, [cli, "demo"], { env, timeout: 60_000 });
    check(demo.trim() !== "", "the demo printed nothing");
    passed("stdio");
    mkdirSync(join(temp, "work"));
    const client = await connectRaw(
      node,
      [cli, "--workspace", join(temp, "work"), "--home", join(temp, "home")],
      { env },
    );
    const tools = await smoke(client, join(temp, "work"));
    passed(undefined, `${tools} tools`);
  } catch (error) {
    row[step] = step === "version" ? "not to be had" : "FAILED";
    row.problem = `${step}: ${error.message}`;
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
  return row;
}

/** Installed once into a folder that `npm ci` throws away; a newer patch release comes with the next `npm ci`. */
function fetchNode(major) {
  const folder = join(root, "node_modules", ".cache", "camel-matrix", `node-${major}`);
  const binary = join(
    folder,
    "node_modules",
    "node",
    "bin",
    process.platform === "win32" ? "node.exe" : "node",
  );
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "matrix", private: true }));
    // `node` fetches its binary package in an install script, so scripts must run here.
    npm(["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts=false", `node@${major}`], {
      cwd: folder,
    });
  }
  check(existsSync(binary), `node@${major} was installed but has no binary`);
  return binary;
}
