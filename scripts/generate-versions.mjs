import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The version and the registry's name stand in several files, because each reader knows only its own. */
export function versionProblems(root, sourceVersion) {
  const read = (path) => JSON.parse(readFileSync(join(root, path), "utf8"));
  const manifest = read("package.json");
  const server = read("server.json");
  const problems = [];
  const expect = (where, found, wanted) => {
    if (found !== wanted) problems.push(`${where} is "${found}", but package.json says "${wanted}".`);
  };
  expect("VERSION in src/shared/version.ts", sourceVersion, manifest.version);
  expect("version in server.json", server.version, manifest.version);
  expect("name in server.json", server.name, manifest.mcpName);
  // The registry refuses a longer one.
  if (server.description.length > 100) problems.push("description in server.json is over 100 characters.");
  for (const one of server.packages) {
    expect("packages[].version in server.json", one.version, manifest.version);
    expect("packages[].identifier in server.json", one.identifier, manifest.name);
  }
  expect("version in package-lock.json", read("package-lock.json").version, manifest.version);
  if (!existsSync(join(root, "CHANGELOG.md"))) problems.push("CHANGELOG.md is missing.");
  else if (!readFileSync(join(root, "CHANGELOG.md"), "utf8").includes(`## [${manifest.version}]`))
    problems.push(`CHANGELOG.md has no section "## [${manifest.version}]".`);
  return problems;
}
