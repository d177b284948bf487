/**
 * `node scripts/ensure.mjs [build]`: installs what the lock names if it isn't there and, with `build`, builds if
 * dist/ is missing or was made from other sources. Uses Node and npm alone, because a fresh clone has no more.
 * Everything it says goes to stderr: `npm start` may be the command of a stdio host.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { withLock } from "./lock.mjs";
import { sourceStamp, STAMP_FILE } from "./stamp.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const say = (text) => process.stderr.write(`camel-mcp: ${text}\n`);

const wantsBuild = process.argv.includes("build");
if (!installed() || (wantsBuild && !built())) {
  await withLock(root, "ensure", async () => {
    // Asked again inside the lock: the process we waited for may have done it all.
    if (!installed()) install();
    if (wantsBuild && !built()) await build();
  });
}

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** True when npm's own record of what it installed agrees with the lock, package by package, and they are there. */
function installed() {
  const record = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(record)) return false;
  const wanted = readJson(join(root, "package-lock.json")).packages;
  const present = readJson(record).packages;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === "") continue;
    const found = present[path];
    // Optional packages for other platforms are in the lock and never in the record.
    if (found === undefined ? !entry.optional : found.version !== entry.version) return false;
    if (found !== undefined && !existsSync(join(root, path, "package.json"))) return false;
  }
  return true;
}

function built() {
  try {
    return readFileSync(join(root, "dist", STAMP_FILE), "utf8") === sourceStamp(root);
  } catch {
    return false;
  }
}

function install() {
  say("installing dependencies (npm ci)");
  // npm is a .cmd on Windows, which Node starts only through a shell; the arguments are constant.
  const result = spawnSync("npm", ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (result.status !== 0) {
    say("npm ci failed; its messages are above. Run `npm ci` by hand to see them again.");
    process.exit(1);
  }
}

async function build() {
  say("building dist/");
  const { buildAll } = await import("./build.mjs");
  await buildAll();
}
