import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { removeFolder } from "../temp-folder.ts";

export type Tree = Record<string, string>;

/** Every file below `root`, as latin1 so that bytes compare exactly. Empty folders don't count. */
export async function readTree(root: string): Promise<Tree> {
  const tree: Tree = {};
  for (const entry of await readdir(root, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || entry.name === ".gitkeep") continue;
    const path = join(entry.parentPath, entry.name);
    tree[path.slice(root.length + 1)] = await readFile(path, "latin1");
  }
  return tree;
}

export async function writeTree(root: string, tree: Tree): Promise<void> {
  await mkdir(root, { recursive: true });
  for (const [name, text] of Object.entries(tree)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text, "latin1");
  }
}

export interface Sandbox {
  base: string;
  root: string;
  home: string;
  remove(): Promise<void>;
}

export async function createSandbox(tree: Tree = {}): Promise<Sandbox> {
  const base = await mkdtemp(join(tmpdir(), "camel-patch-"));
  const root = join(base, "work");
  await writeTree(root, tree);
  return { base, root, home: join(base, "home"), remove: () => removeFolder(base) };
}
