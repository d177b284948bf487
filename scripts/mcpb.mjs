/**
 * `npm run mcpb`: builds camel-mcp-VERSION.mcpb, the one-click bundle for Claude Desktop, with the official packer,
 * which checks the manifest; then unpacks it again and uses it the way the manifest says.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { listToolDefs } from "../dist/index.js";
import { binOf, installed, root } from "./cache.mjs";
import { connectRaw, smoke } from "./raw-client.mjs";
import { newUser, run } from "./run.mjs";

// Not a devDependency: 55 packages, for a command that few run.
const PACKER = { "@anthropic-ai/mcpb": "2.1.2" };

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const temp = realpathSync(mkdtempSync(join(tmpdir(), "camel-mcpb-")));
try {
  const mcpb = await findPacker();
  const bundle = join(temp, "bundle");
  fill(bundle);
  mcpb(["validate", join(bundle, "manifest.json")]);
  const file = join(root, `${manifest.name}-${manifest.version}.mcpb`);
  rmSync(file, { force: true });
  mcpb(["pack", bundle, file]);
  const unpacked = join(temp, "unpacked");
  mcpb(["unpack", file, unpacked]);
  const tools = await use(unpacked);
  console.log(
    `${basename(file)}: ${Math.round(statSync(file).size / 1024)} KB, manifest valid, starts and answers with ${tools} tools`,
  );
} finally {
  rmSync(temp, { recursive: true, force: true });
}

async function findPacker() {
  const cli = binOf(await installed("camel-mcpb", PACKER), Object.keys(PACKER)[0]);
  return (args) => run(process.execPath, [cli, ...args]);
}

/** The command with its lazy chunks; the library, its types and the source maps stay out. */
function fill(bundle) {
  const out = join(root, "dist");
  const library = new Set(["index.js", "client.js"].map((name) => join(out, name)));
  cpSync(out, join(bundle, "server"), {
    recursive: true,
    filter: (path) => !library.has(path) && !/\.(?:map|d\.ts|stamp)$/.test(path),
  });
  // Says that the .js files are ES modules; here there is no package.json of ours above them.
  writeFileSync(
    join(bundle, "server", "package.json"),
    JSON.stringify({ name: manifest.name, version: manifest.version, type: "module", private: true }),
  );
  cpSync(join(root, "LICENSE"), join(bundle, "LICENSE"));
  writeFileSync(join(bundle, "manifest.json"), `${JSON.stringify(bundleManifest(), null, 2)}\n`);
}

function bundleManifest() {
  return {
    manifest_version: "0.3",
    name: manifest.name,
    display_name: manifest.name,
    version: manifest.version,
    description: manifest.description,
    author: { name: manifest.author },
    license: manifest.license,
    keywords: manifest.keywords,
    server: {
      type: "node",
      entry_point: "server/cli.js",
      mcp_config: {
        command: "node",
        args: ["${__dirname}/server/cli.js", "--workspace", "${user_config.workspace}"],
        env: {},
      },
    },
    user_config: {
      workspace: {
        type: "directory",
        title: "Workspace",
        description: "The folder whose files and notes the tools may read and change. Nothing outside it.",
        required: true,
      },
    },
    tools: listToolDefs().map((tool) => ({ name: tool.name, description: tool.public.title })),
    // Tools can be added while it runs.
    tools_generated: true,
    compatibility: {
      platforms: ["darwin", "linux", "win32"],
      runtimes: { node: manifest.engines.node },
    },
  };
}

/** Starts the unpacked server with the manifest's own command line, variables filled in as the host does. */
async function use(folder) {
  const workspace = join(temp, "workspace");
  mkdirSync(workspace);
  const { server } = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
  const args = server.mcp_config.args.map((arg) =>
    arg.replace("${__dirname}", folder).replace("${user_config.workspace}", workspace),
  );
  const client = await connectRaw(process.execPath, args, {
    cwd: temp,
    env: newUser(temp),
  });
  return smoke(client, workspace);
}
