import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

export interface FoundFile {
  path: string;
  size: number;
  mtimeMs: number;
}

/** Why files were left out, with how many; part of the answer's note. */
export type Skipped = Record<"symlink" | "hidden" | "too_large" | "not_text" | "unreadable", number>;

export interface Discovery {
  files: FoundFile[];
  /** Folders seen, relative to the root ("" is the root), for watching. */
  folders: string[];
  skipped: Skipped;
}

export const LARGEST_FILE = 4 * 1024 * 1024;
const PARALLEL = 64;

export const noneSkipped = (): Skipped => ({
  symlink: 0,
  hidden: 0,
  too_large: 0,
  not_text: 0,
  unreadable: 0,
});

/** MEMORY.md (or memory.md; once where both exist) and every Markdown file below memory/. Links are never followed. */
export async function discover(root: string): Promise<Discovery> {
  const skipped = noneSkipped();
  const names: string[] = [];
  const folders: string[] = [""];
  const top = await readdir(root, { withFileTypes: true }).catch(() => []);
  const main = top.filter((entry) => isMainFile(entry.name)).sort((a, b) => (a.name < b.name ? -1 : 1))[0];
  if (main?.isFile()) names.push(main.name);
  else if (main?.isSymbolicLink()) skipped.symlink += 1;
  const pending = top.some((entry) => entry.name === "memory" && entry.isDirectory()) ? ["memory"] : [];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    folders.push(folder);
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`;
      if (entry.name.startsWith(".")) skipped.hidden += 1;
      else if (entry.isSymbolicLink()) skipped.symlink += 1;
      else if (entry.isDirectory()) pending.push(path);
      else if (entry.isFile() && isMarkdown(entry.name)) names.push(path);
    }
  }
  names.sort();
  const files: FoundFile[] = [];
  for (let at = 0; at < names.length; at += PARALLEL) {
    const batch = names.slice(at, at + PARALLEL);
    for (const found of await Promise.all(batch.map((path) => statFile(root, path)))) {
      if (found === undefined) continue;
      if (found.size > LARGEST_FILE) skipped.too_large += 1;
      else files.push(found);
    }
  }
  return { files, folders, skipped };
}

export async function statFile(root: string, path: string): Promise<FoundFile | undefined> {
  const found = await lstat(join(root, path)).catch(() => undefined);
  return found?.isFile() ? { path, size: found.size, mtimeMs: found.mtimeMs } : undefined;
}

export function isMainFile(name: string): boolean {
  return name.toLowerCase() === "memory.md";
}

export function isMarkdown(name: string): boolean {
  return name.toLowerCase().endsWith(".md");
}
