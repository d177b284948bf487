import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** AGENTS.md draws src/ as a tree with a line a file; a newcomer trusts it only if none is missing. */
export function mapProblems(root) {
  const drawn = readMap(readFileSync(join(root, "AGENTS.md"), "utf8"));
  const present = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();
  return [
    ...present
      .filter((path) => !drawn.has(path))
      .map((path) => `AGENTS.md has no line for ${path}. Add one that says what it is for.`),
    ...[...drawn]
      .filter(([path]) => !present.includes(path))
      .map(([path]) => `AGENTS.md has a line for ${path}, which doesn't exist.`),
    ...[...drawn]
      .filter(([path, text]) => text === "" && present.includes(path))
      .map(([path]) => `AGENTS.md names ${path} but doesn't say what it is for.`),
  ];
}

/** The lines of the tree that begins with "src/": two blanks a level, `folder/` or `file.ts  what it is for`. */
function readMap(text) {
  const tree = /^```\nsrc\/\n([\s\S]*?)^```/m.exec(text)?.[1] ?? "";
  const folders = ["src"];
  const found = new Map();
  for (const line of tree.split("\n")) {
    const match = /^((?: {2})+)(\S+)\s*(.*)$/.exec(line);
    if (match === null) continue;
    const [, indent, name, what] = match;
    folders.length = indent.length / 2;
    if (name.endsWith("/")) folders.push(name.slice(0, -1));
    else found.set([...folders, name].join("/"), what);
  }
  return found;
}
