import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const ENTRIES = ["index.d.ts", "client/index.d.ts"];

/** What a published type may come from: an installing user has nothing else. */
const ALLOWED = /^(?:zod(?:\/.*)?|node:.*)$/;

const SPECIFIER = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)(["'])([^"']+)\1/g;

/** Emits declarations, keeps those the entries reach, and refuses one that names a package users don't have. */
export function emitTypes(root, out) {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const result = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", out], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (result.status !== 0) throw new Error("tsc could not emit the types; its messages are above");

  const reached = new Set();
  const queue = ENTRIES.map((entry) => join(out, entry));
  for (const file of queue) {
    if (reached.has(file)) continue;
    reached.add(file);
    const text = readFileSync(file, "utf8").replace(SPECIFIER, (whole, quote, name) => {
      if (!name.startsWith(".")) {
        if (ALLOWED.test(name)) return whole;
        throw new Error(
          `${relative(out, file)} mentions "${name}", which isn't a dependency. ` +
            "Keep it out of the public types (src/index.ts, src/client/index.ts and what they export).",
        );
      }
      const target = resolve(dirname(file), name.replace(/\.(?:js|ts)$/, ".d.ts"));
      if (!existsSync(target)) throw new Error(`${relative(out, file)} imports ${name}, which has no types`);
      queue.push(target);
      return whole.replace(/\.ts(?=["'])/, ".js");
    });
    writeFileSync(file, text);
  }
  prune(out, reached);
}

function prune(folder, keep) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      prune(path, keep);
      if (readdirSync(path).length === 0) rmdirSync(path);
    } else if (entry.name.endsWith(".d.ts") && !keep.has(path)) rmSync(path);
  }
}
