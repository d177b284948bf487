/**
 * `npm run pack:smoke`: packs, installs the tarball into an empty folder, and uses it from there as a user would:
 * the command, a tool call over stdio, both library entries, and their types. Needs no network.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { check, connectRaw, smoke } from "./raw-client.mjs";
import { installedIn, newUser, npm, npmCommand, pack, run } from "./run.mjs";

const MOST_PACKAGES = 3;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const temp = realpathSync(mkdtempSync(join(tmpdir(), "camel-pack-")));
const home = join(temp, "home");
const env = newUser(home);
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));
const say = (text) => console.log(text);

try {
  const packed = pack(root, temp);
  const tarball = join(temp, packed.filename);
  say(`packed ${packed.filename}: ${kb(packed.size)} packed, ${kb(packed.unpackedSize)} unpacked`);
  const unwanted = packed.files.map(({ path }) => path).filter((path) => !isExpected(path));
  check(unwanted.length === 0, `these files have no business in the package: ${unwanted.join(", ")}`);
  const linked = readFileSync(join(root, "README.md"), "utf8").matchAll(/\]\(((?!https?:)[^)#]+)/g);
  for (const path of [
    "LICENSE",
    "dist/THIRD_PARTY_NOTICES.txt",
    "dist/sbom.json",
    "dist/config.schema.json",
    // Who reads the README in node_modules can follow it.
    ...[...linked].map(([, target]) => target),
  ]) {
    check(
      packed.files.some((file) => file.path === path),
      `${path} is missing from the package`,
    );
  }

  const app = join(temp, "app");
  install(app, tarball);
  const installed = installedIn(readJson(join(app, "node_modules", ".package-lock.json")));
  say(`installed ${installed.length} packages: ${installed.join(", ")}`);
  check(installed.length <= MOST_PACKAGES, `more than ${MOST_PACKAGES} packages were installed`);

  await useCommand(app);
  useLibrary(app);
  useTypes(app);
  await lintPackage(tarball);
  say("pack:smoke passed");
} finally {
  rmSync(temp, { recursive: true, force: true });
}

function kb(bytes) {
  return `${Math.round(bytes / 1024)} KB`;
}

function isExpected(path) {
  if (path.startsWith("dist/"))
    return /\.(?:js|cjs|mjs|wasm|map|d\.ts|json|txt)$/.test(path) && !path.includes(".stamp");
  return /^(?:package\.json|(?:docs\/[\w-]+|[A-Z]+)\.md|LICENSE|mcp\.json\.example|server\.json)$/.test(path);
}

/** zod comes from a tarball made of our own copy, so that this works without a network. */
function install(app, tarball) {
  const zod = pack(join(root, "node_modules", "zod"), temp);
  mkdirSync(home);
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", private: true, type: "module" }));
  npm(["install", "--offline", "--no-audit", "--no-fund", tarball, join(temp, zod.filename)], {
    cwd: app,
    env,
  });
}

async function useCommand(app) {
  const { version } = readJson(join(root, "package.json"));
  const npx = (args) => npmCommand(["exec", "--offline", "--", ...args]);
  const [command, args, extra] = npx(["camel-mcp", "--version"]);
  const said = run(command, args, { ...extra, cwd: app, env }).trim();
  check(said === version, `npx camel-mcp --version says ${said}, package.json says ${version}`);
  say(`npx camel-mcp --version: ${said}`);

  const workspace = join(temp, "workspace");
  mkdirSync(workspace);
  const entry = join(app, "node_modules", "camel-mcp", "dist", "cli.js");
  const client = await connectRaw(
    process.execPath,
    [entry, "--workspace", workspace, "--home", join(temp, "state")],
    {
      cwd: app,
      env,
    },
  );
  const count = await smoke(client, workspace);
  say(`stdio: ${count} tools listed; memory_get, apply_patch and a refusal answered; clean exit`);
}

function useLibrary(app) {
  const script = join(app, "use.mjs");
  writeFileSync(
    script,
    `import { createCamel, VERSION } from "camel-mcp";
import { connectCamel } from "camel-mcp/client";
import schema from "camel-mcp/config.schema.json" with { type: "json" };
if (schema.type !== "object") throw new Error("no config schema");
const folders = ["--home", process.argv[2], "--workspace", process.argv[3]];
const camel = await createCamel({ home: process.argv[2], workspace: process.argv[3] });
await camel.close();
const client = await connectCamel({ command: process.execPath, args: ["node_modules/camel-mcp/dist/cli.js", ...folders] });
const result = await client.call("memory_get", { filePath: "MEMORY.md" });
await client.close();
if (!result.text.includes("The first line.")) throw new Error(result.text);
console.log(VERSION);
`,
  );
  run(process.execPath, ["--no-warnings", script, join(temp, "state"), join(temp, "workspace")], {
    cwd: app,
  });
  say("library: camel-mcp and camel-mcp/client import and work");
}

/** Without skipLibCheck: a type that names a package the user doesn't have would show here. */
function useTypes(app) {
  writeFileSync(
    join(app, "consumer.ts"),
    `import { createCamel, defineTool, CamelError, type Camel } from "camel-mcp";
import { connectCamel, type CamelClient } from "camel-mcp/client";
import { z } from "zod";
const tool = defineTool({
  name: "hello",
  title: "Hello",
  description: "Says hello.",
  tier: "core",
  effect: "read",
  schema: z.object({ name: z.string() }),
  execute: (input) => Promise.resolve(input.name.toUpperCase()),
});
export const camel: Promise<Camel> = createCamel({ tools: [tool] });
export const client: Promise<CamelClient> = connectCamel({ url: "http://127.0.0.1:7800/mcp" });
export const error = new CamelError("not_found", "gone", { next: "Look elsewhere." });
`,
  );
  writeFileSync(
    join(app, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        module: "nodenext",
        target: "es2023",
        strict: true,
        noEmit: true,
        skipLibCheck: false,
        typeRoots: [join(root, "node_modules", "@types")],
        types: ["node"],
      },
      files: ["consumer.ts"],
    }),
  );
  run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", "."], { cwd: app });
  say("types: a consumer compiles, strict, library types checked");
}

async function lintPackage(tarball) {
  const bytes = readFileSync(tarball);
  const { messages, pkg } = await publint({
    pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) },
    strict: true,
  });
  const problems = messages
    .filter(({ type }) => type !== "suggestion")
    .map((message) => formatMessage(message, pkg, { color: false }));
  check(problems.length === 0, `publint:\n${problems.join("\n")}`);
  const attw = join(root, "node_modules", "@arethetypeswrong", "cli", "dist", "index.js");
  const entrypoints = ["--entrypoints", ".", "client"];
  run(process.execPath, [attw, tarball, "--profile", "esm-only", "--no-definitely-typed", ...entrypoints]);
  say("publint and arethetypeswrong: no problems");
}
