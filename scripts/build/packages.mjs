import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";

// Some packages are bundles themselves: the SDK carries Ajv. rolldown marks where each module came from.
// `//#region ../../node_modules/.pnpm/ajv@8.18.0/node_modules/ajv/dist/…`
const CARRIED =
  /\/\/#region .*node_modules\/\.pnpm\/[^/]*@(\d[\w.+-]*?)(?:[_(][^/]*)?\/node_modules\/((?:@[\w.-]+\/)?[\w.-]+)\//g;

/**
 * The packages whose code is really in the bundle, from the bundler's list of module ids:
 * `{ name, version, license, text, via? }`, sorted by name. `via` names the package that carries it inside.
 */
export function bundledPackages(root, modules) {
  const found = new Map();
  for (const id of modules) {
    const file = id.replace(/^\0/, "").replace(/\?.*$/, "");
    if (!file.includes(`${sep}node_modules${sep}`) || !existsSync(file)) continue;
    const folder = packageFolder(file);
    const own = describe(folder);
    found.set(`${own.name}@${own.version}`, own);
    for (const [, version, name] of readFileSync(file, "utf8").matchAll(CARRIED)) {
      // The licence text is that of the version we have installed; between the two it hasn't changed.
      const carried = { ...describe(join(root, "node_modules", name), name, own.name), version };
      const key = `${carried.name}@${carried.version}`;
      if (!found.has(key)) found.set(key, carried);
    }
  }
  return [...found.values()].sort((a, b) => compare(`${a.name}@${a.version}`, `${b.name}@${b.version}`));
}

// Not localeCompare: the files must come out the same on every machine.
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

function packageFolder(file) {
  let folder = dirname(file);
  // Some packages put a package.json without a name into subfolders only to set `type`.
  while (!existsSync(join(folder, "package.json")) || readManifest(folder).name === undefined) {
    folder = dirname(folder);
  }
  return folder;
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function describe(folder, name, via) {
  if (!existsSync(join(folder, "package.json"))) {
    throw new Error(`${via} carries ${name}, whose licence isn't at hand: it isn't in node_modules`);
  }
  const manifest = readManifest(folder);
  const file = readdirSync(folder)
    .sort()
    .find((entry) => /^(?:licen[cs]e|copying)(?:[.-].*)?$/i.test(entry));
  if (typeof manifest.license !== "string" && file === undefined) {
    throw new Error(`${manifest.name} has neither a licence field nor a licence file`);
  }
  return {
    name: manifest.name,
    version: manifest.version,
    license: typeof manifest.license === "string" ? manifest.license : "see text",
    author: typeof manifest.author === "string" ? manifest.author : manifest.author?.name,
    text:
      file === undefined
        ? undefined
        : readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim(),
    via,
  };
}
