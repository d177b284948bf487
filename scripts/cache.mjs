/**
 * What the proof scripts need and the product doesn't: packages of others, installed into a folder of their own
 * below node_modules/.cache, and TypeScript entries bundled there. Both are reused by the next run.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { withLock } from "./lock.mjs";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, "node_modules", ".cache");

/** Installs `packages` ({ name: exact version }) if they aren't there and returns their node_modules folder. */
export async function installed(name, packages) {
  const folder = join(cache, name);
  const modules = join(folder, "node_modules");
  const missing = () => Object.keys(packages).some((one) => versionOf(join(modules, one)) !== packages[one]);
  if (!missing()) return modules;
  mkdirSync(folder, { recursive: true });
  await withLock(cache, name, async () => {
    if (!missing()) return;
    const wanted = Object.entries(packages).map(([one, version]) => `${one}@${version}`);
    process.stderr.write(`camel-mcp: installing ${wanted.join(" ")}\n`);
    // A manifest of its own, or npm would look upwards and find the product's.
    writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
    const flags = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
    // npm is a .cmd on Windows, which Node starts only through a shell; the arguments are constant.
    const { status } = spawnSync("npm", ["install", ...flags, "--prefix", folder, ...wanted], {
      cwd: folder,
      stdio: ["ignore", 2, 2],
      shell: process.platform === "win32",
    });
    if (status !== 0 || missing()) throw new Error(`npm could not install ${wanted.join(" ")}`);
  });
  return modules;
}

function versionOf(folder) {
  const manifest = join(folder, "package.json");
  return existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).version : undefined;
}

/** The file a package's bin entry names; started with Node itself, it needs no shell on any platform. */
export function binOf(modules, name) {
  const folder = join(modules, name);
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return join(folder, typeof bin === "string" ? bin : Object.values(bin)[0]);
}

/** Bundles a TypeScript entry of the repository and returns the file to run. */
export async function bundled(entry, name) {
  const dir = join(cache, name);
  const build = await rolldown({
    cwd: root,
    input: { [name]: entry },
    platform: "node",
    external: ["rolldown"],
  });
  await build.write({
    dir,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
  });
  await build.close();
  return join(dir, `${name}.mjs`);
}

/** Rows as aligned columns; the first row is the head. */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => String(cell).padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
