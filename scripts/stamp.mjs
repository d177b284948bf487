import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Written into dist/ by the build; says which sources it was made from. Not published. */
export const STAMP_FILE = ".stamp";

const FILES = ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"];

/**
 * A hash of everything the build reads. Contents and not times: a checkout, a copy or a stash changes times both
 * ways, and a build taken for fresh by mistake costs more than reading some hundred small files.
 */
export function sourceStamp(root) {
  const hash = createHash("sha256");
  const files = [...FILES, ...listFiles(root, "src"), ...listFiles(root, "scripts").filter(isBuildScript)];
  for (const file of files) {
    if (!existsSync(join(root, file))) continue;
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update("\0");
  }
  return hash.digest("hex");
}

function isBuildScript(file) {
  return file.startsWith("scripts/build");
}

function listFiles(root, folder) {
  const found = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) found.push(...listFiles(root, path));
    else found.push(path);
  }
  return found.sort();
}
