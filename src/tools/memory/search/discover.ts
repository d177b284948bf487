import { lstatSync, type Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";

export interface FoundFile {
  path: string;
  size: number;
  mtimeMs: number;
  /** Time of the last change of content or name. Unlike mtime nobody can set it back. */
  ctimeMs: number;
}

/** Why files were left out, with how many; part of the answer's note. */
export type Skipped = Record<"symlink" | "hidden" | "too_large" | "not_text" | "unreadable", number>;

export interface Discovery {
  files: FoundFile[];
  skipped: Skipped;
}

export const LARGEST_FILE = 4 * 1024 * 1024;
/** Stats between two turns of the event loop: a few milliseconds. One by one asynchronously they take five times as long. */
const BATCH = 500;

export const noneSkipped = (): Skipped => ({
  symlink: 0,
  hidden: 0,
  too_large: 0,
  not_text: 0,
  unreadable: 0,
});

/**
 * MEMORY.md (or memory.md; once where both exist) and every Markdown file below memory/. Links are never followed.
 * `enter` is told each folder, relative to the root ("" is the root), before it is read: what changes in it
 * afterwards is seen by a watch set there.
 */
export async function discover(root: string, enter: (folder: string) => void = () => {}): Promise<Discovery> {
  const skipped = noneSkipped();
  const names: string[] = [];
  enter("");
  const top = await entriesOf(root);
  const main = top.filter((entry) => isMainFile(entry.name)).sort((a, b) => (a.name < b.name ? -1 : 1))[0];
  if (main?.isFile()) names.push(main.name);
  else if (main?.isSymbolicLink()) skipped.symlink += 1;
  const memory = top.find((entry) => entry.name === "memory");
  if (memory?.isSymbolicLink()) skipped.symlink += 1;
  const pending = memory?.isDirectory() ? ["memory"] : [];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    enter(folder);
    for (const entry of await entriesOf(join(root, folder))) {
      const path = `${folder}/${entry.name}`;
      if (entry.name.startsWith(".")) skipped.hidden += 1;
      else if (entry.isSymbolicLink()) skipped.symlink += 1;
      else if (entry.isDirectory()) pending.push(path);
      else if (entry.isFile() && isMarkdown(entry.name)) names.push(path);
    }
  }
  const files: FoundFile[] = [];
  for (const [at, path] of names.entries()) {
    if (at % BATCH === BATCH - 1) await nextTurn();
    const found = lstatSync(`${root}/${path}`, { throwIfNoEntry: false });
    if (found?.isFile() !== true) continue;
    if (found.size > LARGEST_FILE) skipped.too_large += 1;
    else files.push({ path, size: found.size, mtimeMs: found.mtimeMs, ctimeMs: found.ctimeMs });
  }
  return { files, skipped };
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(() => []);
}

export async function statFile(root: string, path: string): Promise<FoundFile | undefined> {
  const found = await lstat(join(root, path)).catch(() => undefined);
  return found?.isFile() === true
    ? { path, size: found.size, mtimeMs: found.mtimeMs, ctimeMs: found.ctimeMs }
    : undefined;
}

export function isMainFile(name: string): boolean {
  return name.toLowerCase() === "memory.md";
}

export function isMarkdown(name: string): boolean {
  return name.toLowerCase().endsWith(".md");
}

export type EntryKind = "file" | "folder" | "none";

/** A folder may be called notes.md too; a link or a device is none to us. */
export async function kindOf(path: string): Promise<EntryKind> {
  return lstat(path).then(
    (found) => (found.isDirectory() ? "folder" : found.isFile() ? "file" : "none"),
    () => "none",
  );
}
