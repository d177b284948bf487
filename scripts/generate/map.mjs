import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const TREE = /^(```\nsrc\/\n)([\s\S]*?)(^```)/m;

/** The tree in its order: by name, the files of a folder before the folders in it. */
export function sortedMap(text) {
  return text.replace(
    TREE,
    (_, start, tree, end) => `${start}${sortedLevel(tree.trimEnd().split("\n"))}${end}`,
  );
}

function sortedLevel(lines) {
  const depth = /^ */.exec(lines[0])[0].length;
  const entries = [];
  for (const line of lines)
    if (line[depth] === " ") entries.at(-1).below.push(line);
    else entries.push({ line, below: [] });
  const nameOf = ({ line }) => /\S+/.exec(line)[0];
  const isFolder = (entry) => nameOf(entry).endsWith("/");
  return entries
    .sort((a, b) => isFolder(a) - isFolder(b) || (nameOf(a) < nameOf(b) ? -1 : 1))
    .map(({ line, below }) => `${line}\n${below.length === 0 ? "" : sortedLevel(below)}`)
    .join("");
}

/** AGENTS.md draws src/ as a tree with a line a file; a newcomer trusts it only if none is missing. */
export function mapProblems(root) {
  const drawn = readMap(readFileSync(join(root, "AGENTS.md"), "utf8"));
  const owners = new Map([...drawn].reverse().map(([path, text]) => [text, path]));
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
    ...[...drawn]
      .filter(([path, text]) => text !== "" && owners.get(text) !== path)
      .map(([path, text]) => `AGENTS.md says the same of ${owners.get(text)} and ${path}: "${text}".`),
  ];
}

/** The lines of the tree that begins with "src/": two blanks a level, `folder/` or `file.ts  what it is for`. */
function readMap(text) {
  const tree = TREE.exec(text)?.[2] ?? "";
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
