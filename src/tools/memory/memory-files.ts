import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { CamelError } from "../../shared/errors.ts";
import { containedPath } from "../../shared/paths.ts";

/** Which files are an agent's memory: MEMORY.md (or memory.md) and everything under memory/. Nothing else. */
export async function resolveMemoryFile(root: string, requested: string): Promise<string> {
  const path = requested.replaceAll("\\", "/").replace(/^(\.\/)+/, "");
  const isMemory = path === "MEMORY.md" || path === "memory.md" || path.startsWith("memory/");
  const steps = path.split("/");
  if (!isMemory || steps.includes("..") || path.endsWith("/")) {
    throw new CamelError("path_outside_root", `"${requested}" is not a memory file.`, {
      next: 'Use "MEMORY.md", "memory.md" or a path that starts with "memory/". For other files use the host\'s own read tool.',
    });
  }
  if (steps.some((step) => step.startsWith("."))) {
    throw new CamelError(
      "path_forbidden",
      `"${requested}" is a hidden file; those are not part of the memory.`,
    );
  }
  const rootName = "the memory folder";
  const real = await containedPath(root, path, { rootName });
  // A link under memory/ must not turn another file of the root (a workspace, say) into memory.
  if (path.startsWith("memory/"))
    await containedPath(join(root, "memory"), path.slice("memory/".length), { rootName });
  return real;
}

/** All memory files as `MEMORY.md` or `memory/…`, sorted; hidden names and links are left out. */
export async function listMemoryFiles(root: string, limit = 10_000): Promise<string[]> {
  const top = await readdir(root, { withFileTypes: true }).catch(() => []);
  const names = top.filter((entry) => entry.isFile()).map((entry) => entry.name);
  const main = names.find((name) => name === "MEMORY.md") ?? names.find((name) => name === "memory.md");
  const found: string[] = main === undefined ? [] : [main];
  const pending = top.some((entry) => entry.isDirectory() && entry.name === "memory") ? ["memory"] : [];
  for (let next = pending.shift(); next !== undefined && found.length < limit; next = pending.shift()) {
    const entries = await readdir(join(root, next), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory()) pending.push(`${next}/${entry.name}`);
      else if (entry.isFile() && entry.name.toLowerCase().endsWith(".md"))
        found.push(`${next}/${entry.name}`);
    }
  }
  return found.slice(0, limit);
}
