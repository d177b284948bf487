import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Files that repeat package.json's version, as they should read. */
export function withVersion(root) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const replaced = (path, pattern) => [
    path,
    readFileSync(join(root, path), "utf8").replace(pattern, (_, before) => `${before}"${version}"`),
  ];
  return [
    replaced("src/shared/version.ts", /(VERSION = )"[^"]*"/g),
    replaced("server.json", /("version": )"[^"]*"/g),
  ];
}

/** What else must agree with package.json and can't be written by a program. */
export function versionProblems(root) {
  const read = (path) => JSON.parse(readFileSync(join(root, path), "utf8"));
  const manifest = read("package.json");
  const server = read("server.json");
  const problems = [];
  const expect = (where, found, wanted) => {
    if (found !== wanted) problems.push(`${where} is "${found}", but package.json says "${wanted}".`);
  };
  expect("name in server.json", server.name, manifest.mcpName);
  // The registry refuses a longer one.
  if (server.description.length > 100) problems.push("description in server.json is over 100 characters.");
  for (const one of server.packages) {
    expect("packages[].identifier in server.json", one.identifier, manifest.name);
  }
  expect("version in package-lock.json", read("package-lock.json").version, manifest.version);
  if (!existsSync(join(root, "CHANGELOG.md"))) problems.push("CHANGELOG.md is missing.");
  else if (!readFileSync(join(root, "CHANGELOG.md"), "utf8").includes(`## [${manifest.version}]`))
    problems.push(`CHANGELOG.md has no section "## [${manifest.version}]".`);
  return problems;
}
