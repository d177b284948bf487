/**
 * `npm run npx:cold`: what a user waits for at the very first `npx camel-mcp` of a host, and at the next ones. The
 * packed tarball and zod come from a registry on loopback, npm's cache and the home are empty, and the clock runs
 * from the start of npx to the answer to tools/list.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { check, connectRaw } from "./raw-client.mjs";
import { installedIn, newUser, pack } from "./run.mjs";

const MOST_PACKAGES = 3;
const MOST_SECONDS = 3;
const RUNS = 3;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const temp = realpathSync(mkdtempSync(join(tmpdir(), "camel-npx-")));
const registry = await startRegistry([root, join(root, "node_modules", "zod")]);
try {
  const cold = [];
  const warm = [];
  let installed = [];
  for (let number = 1; number <= RUNS; number++) {
    const home = join(temp, `home-${number}`);
    mkdirSync(home);
    cold.push(await secondsToList(home));
    installed = installedBy(home);
    warm.push(await secondsToList(home));
  }
  console.log(`packages installed: ${installed.length} (${installed.join(", ")})`);
  console.log(`cold: ${format(cold)}`);
  console.log(`warm: ${format(warm)}`);
  check(
    installed.length > 0 && installed.length <= MOST_PACKAGES,
    `more than ${MOST_PACKAGES} packages were installed`,
  );
  check(median(cold) < MOST_SECONDS, `a cold start takes ${MOST_SECONDS} s or more`);
} finally {
  registry.close();
  rmSync(temp, { recursive: true, force: true });
}

async function secondsToList(home) {
  const [command, args] = npx(["--yes", "camel-mcp"]);
  const client = await connectRaw(command, [...args, "--workspace", home], {
    cwd: home,
    env: { ...newUser(home), npm_config_registry: registry.url },
    shell: process.platform === "win32" && command === "npx",
  });
  const tools = await client.list();
  const seconds = (performance.now() - client.started) / 1_000;
  check(tools.length > 0, "no tools were listed");
  await client.close();
  return seconds;
}

/** npx itself, not through a shell: the one beside the npm that runs this, else the one on PATH. */
function npx(args) {
  const cli = join(dirname(process.env["npm_execpath"] ?? ""), "npx-cli.js");
  return existsSync(cli) ? [process.execPath, [cli, ...args]] : ["npx", args];
}

function installedBy(home) {
  const folder = join(home, "npm-cache", "_npx");
  return readdirSync(folder).flatMap((name) =>
    installedIn(JSON.parse(readFileSync(join(folder, name, "node_modules", ".package-lock.json"), "utf8"))),
  );
}

/** Answers the two questions an install asks: what versions are there, and give me this tarball. */
async function startRegistry(folders) {
  const packages = new Map(
    folders.map((folder) => {
      const { name, version, filename } = pack(folder, temp);
      const tarball = readFileSync(join(temp, filename));
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      return [name, { version, filename, tarball, manifest }];
    }),
  );
  const packument = (name, origin) => {
    const { version, filename, tarball, manifest } = packages.get(name);
    const dist = {
      tarball: `${origin}/-/${filename}`,
      integrity: `sha512-${createHash("sha512").update(tarball).digest("base64")}`,
      shasum: createHash("sha1").update(tarball).digest("hex"),
    };
    return { name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } };
  };
  const server = createServer((req, res) => {
    const path = decodeURIComponent(req.url ?? "/").slice(1);
    const origin = `http://${req.headers.host}`;
    const file = [...packages.values()].find(({ filename }) => path === `-/${filename}`);
    if (file !== undefined) res.end(file.tarball);
    else if (packages.has(path))
      res.setHeader("Content-Type", "application/json").end(JSON.stringify(packument(path, origin)));
    else res.writeHead(404).end("{}");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function format(values) {
  return `${median(values).toFixed(2)} s (${values.map((value) => value.toFixed(2)).join(", ")})`;
}
