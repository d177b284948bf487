/**
 * `npm run generate` writes what is made from the code; `--check` only says what is stale, for CI. It reads the
 * built library, so the pages show exactly what a host and a user get.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { mapProblems, sortedMap } from "./generate/map.mjs";
import { configPage, errorsPage, toolsPage, toolsTable } from "./generate/pages.mjs";
import { versionProblems, withVersion } from "./generate/versions.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const SNAPSHOTS = "tests/snapshots/tools";
const TABLE = /(<!-- tools:start -->\n)[\s\S]*?(<!-- tools:end -->)/;

const library = await import("../dist/index.js");
const { files, obsolete } = wanted();
const stale = [...files].filter(([path, text]) => read(path) !== text).map(([path]) => path);

if (process.argv.includes("--check")) {
  const problems = [
    ...stale.map((path) => `${path} is not what the code says. Run \`npm run generate\` and commit it.`),
    ...obsolete.map((path) => `${path} belongs to a tool that is gone. Run \`npm run generate\`.`),
    ...meaninglessCodes(),
    ...versionProblems(root),
    ...mapProblems(root),
  ];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(`${files.size} generated files, the versions and the map are up to date.`);
} else {
  for (const path of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), files.get(path));
    console.log(`wrote ${path}`);
  }
  for (const path of obsolete) {
    rmSync(join(root, path));
    console.log(`removed ${path}`);
  }
}

function wanted() {
  const tools = library.listToolDefs();
  const schema = library.configJsonSchema();
  const made = new Map([
    ...withVersion(root),
    ["AGENTS.md", sortedMap(read("AGENTS.md"))],
    ["docs/tools.md", toolsPage(tools)],
    ["docs/config.md", configPage(schema)],
    ["docs/config.schema.json", json(schema)],
    ["docs/errors.md", errorsPage(library.ERROR_CODES, library.ERROR_MEANINGS)],
  ]);
  // A tool's public face is a file of its own, so that a change of it is seen in review.
  for (const tool of tools) made.set(`${SNAPSHOTS}/${tool.name}.json`, json(tool));
  const readme = read("README.md");
  if (readme !== undefined && TABLE.test(readme)) {
    made.set(
      "README.md",
      readme.replace(TABLE, (_, start, end) => `${start}${toolsTable(tools)}${end}`),
    );
  }
  const folder = join(root, SNAPSHOTS);
  const gone = (existsSync(folder) ? readdirSync(folder) : [])
    .map((name) => `${SNAPSHOTS}/${name}`)
    .filter((path) => !made.has(path));
  return { files: made, obsolete: gone };
}

function meaninglessCodes() {
  return Object.keys(library.ERROR_CODES)
    .filter((code) => library.ERROR_MEANINGS[code] === undefined)
    .map((code) => `${code} has no meaning yet: add it to ERROR_MEANINGS in src/shared/errors.ts.`);
}

function read(path) {
  return existsSync(join(root, path))
    ? readFileSync(join(root, path), "utf8").replaceAll("\r\n", "\n")
    : undefined;
}

function json(value) {
  return `${JSON.stringify(value, null, 2)}\n`;
}
