/**
 * Builds dist/: the CLI (one file for the start-up path, lazy chunks for the rest), the library entries, their
 * types, third-party notices and SBOM. It builds into a folder of its own and swaps it in at the end, so that
 * nobody ever runs half a build.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { refuseTopLevelAwait } from "./build/await.mjs";
import { noBodyReader } from "./build/body-reader.mjs";
import { directBuiltins } from "./build/builtins.mjs";
import { finishedDefaults } from "./build/defaults.mjs";
import { lazyValidator, VALIDATOR_CHUNK, VALIDATOR_SOURCE } from "./build/lazy-validator.mjs";
import { dropForeignSources } from "./build/maps.mjs";
import { bundledPackages } from "./build/packages.mjs";
import { renderNotices, renderSbom } from "./build/notices.mjs";
import { finishedSchemas } from "./build/schemas.mjs";
import { lightStart } from "./build/start.mjs";
import { emitTypes } from "./build/types.mjs";
import { withLock } from "./lock.mjs";
import { sourceStamp, STAMP_FILE } from "./stamp.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

export async function buildAll() {
  const stamp = sourceStamp(root);
  const out = join(root, `dist-${process.pid}`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
  try {
    const modules = new Set();
    const validator = await bundle(out, modules, validatorBundle());
    await bundle(out, modules, cliBundle(validator));
    await bundle(out, modules, libraryBundle(validator));
    await bundle(out, modules, sandboxBundle());
    // The worker looks for the engine beside itself.
    copyFileSync(join(root, "node_modules/quickjs-wasi/quickjs.wasm"), join(out, "chunks/quickjs.wasm"));
    await bundle(out, modules, workerBundle());
    dropForeignSources(out);
    chmodSync(join(out, "cli.js"), 0o755);

    emitTypes(root, out);

    const packages = bundledPackages(root, modules);
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    writeFileSync(join(out, "THIRD_PARTY_NOTICES.txt"), renderNotices(packages));
    writeFileSync(join(out, "sbom.json"), renderSbom(root, manifest, packages));

    const { configJsonSchema } = await import(pathToFileURL(join(out, "index.js")).href);
    writeFileSync(join(out, "config.schema.json"), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
    writeFileSync(join(out, STAMP_FILE), stamp);
    swap(out);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

const shared = {
  cwd: root,
  platform: "node",
  // The published code targets the oldest Node of `engines`; types are checked by tsc, not here.
  transform: { target: "node20.19" },
  // Its "main" is UMD, whose inner requires no bundler can follow.
  resolve: { alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" } },
  // How long plugins take on a busy machine is no reason to stop the build.
  checks: { bundlerTimings: false },
  onLog(level, log, handler) {
    // A cycle inside a dependency is that dependency's business.
    if (log.code === "CIRCULAR_DEPENDENCY" && log.message.includes("node_modules")) return;
    // Anything else unexpected (an unresolved import becomes a crash at the user's) stops the build.
    handler(level === "warn" ? "error" : level, log);
  },
};

const output = {
  format: "esm",
  sourcemap: true,
  chunkFileNames: "chunks/[name]-[hash].js",
  entryFileNames: "[name].js",
  // Stack traces in bug reports name our own functions.
  keepNames: true,
  // Whitespace is read at every start too; names stay, for the same bug reports.
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  // One character outside Latin-1 makes V8 keep the whole file at two bytes a character, and it reads comments too.
  charset: "ascii",
  comments: false,
};

/**
 * One file holds all that is needed before the first answer; only what is imported dynamically lies in chunks/.
 * zod is bundled too: outside, its hundred files took a third of the whole start. No compile cache: it needs a second
 * file in front of this one, gained nothing beyond noise on Node 24, doesn't exist on Node 20, and would trust a
 * folder in the shared temporary directory.
 */
function cliBundle(validator) {
  const entry = "src/cli.ts";
  const hasShebang = readFileSync(join(root, entry), "utf8").startsWith("#!");
  return {
    input: {
      ...shared,
      input: { cli: entry },
      plugins: [
        directBuiltins(),
        lazyValidator(validator),
        noBodyReader(),
        finishedDefaults(),
        finishedSchemas(),
        lightStart(),
        refuseTopLevelAwait(),
      ],
    },
    output: {
      ...output,
      banner: (chunk) => (chunk.isEntry && !hasShebang ? "#!/usr/bin/env node" : ""),
      codeSplitting: {
        // Without this, modules that a lazy chunk shares with the entry would become files of their own.
        groups: [{ name: "start", tags: ["$initial"] }],
      },
    },
  };
}

/** zod stays outside here: users pass schemas made with their own copy, and must meet the same one. */
function libraryBundle(validator) {
  return {
    input: {
      ...shared,
      input: { index: "src/index.ts", client: "src/client/index.ts" },
      external: [/^zod($|\/)/],
      plugins: [lazyValidator(validator), noBodyReader()],
      onLog(level, log, handler) {
        // Lazy imports are for the CLI's start; what the library offers by name it loads anyway.
        if (log.code !== "INEFFECTIVE_DYNAMIC_IMPORT") shared.onLog(level, log, handler);
      },
    },
    output,
  };
}

/** The worker of sandboxed source; plain JavaScript, so that it also runs from src/. */
function sandboxBundle() {
  return {
    input: { ...shared, input: { "js-worker": "src/tools/dynamic/strategies/js-worker.mjs" } },
    output: { ...output, entryFileNames: "chunks/[name].mjs" },
  };
}

/**
 * Entries of worker threads. Bundles of their own: a chunk of the CLI would import the CLI's entry, and a worker that
 * does runs the whole program once more. They lie in chunks/, beside the lazy chunks that start them.
 */
function workerBundle() {
  return {
    input: {
      ...shared,
      input: { "memory-index-worker": "src/tools/memory/search/index-worker.ts" },
    },
    output: { ...output, entryFileNames: "chunks/[name].js" },
  };
}

/** CommonJS, because `require` is the only way to load a file synchronously; see build/lazy-validator.mjs. */
function validatorBundle() {
  return {
    input: { ...shared, input: { validator: VALIDATOR_SOURCE } },
    // A CommonJS file has no dynamic chunks and nobody debugs Ajv here: no source map.
    output: { ...output, format: "cjs", entryFileNames: VALIDATOR_CHUNK, sourcemap: false },
  };
}

/** Writes one bundle, adds the modules in it to `modules`, and returns the code of its first entry. */
async function bundle(out, modules, { input, output }) {
  const build = await rolldown(input);
  try {
    const result = await build.write({ ...output, dir: out });
    for (const chunk of result.output) {
      if (chunk.type !== "chunk") continue;
      for (const [id, module] of Object.entries(chunk.modules)) {
        if (module.renderedLength > 0) modules.add(id);
      }
    }
    return result.output[0].code;
  } finally {
    await build.close();
  }
}

function swap(out) {
  const dist = join(root, "dist");
  const old = join(root, `${basename(out)}.old`);
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(out, dist);
  rmSync(old, { recursive: true, force: true });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await withLock(root, "ensure", buildAll);
}
