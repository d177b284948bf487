import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Source maps name every file a stack trace may lead to, but carry the text of our own only: the text of the packages
 * in the bundle is in their own repositories, and made up a third of what a cold `npx` downloads. A chunk that has
 * nothing of ours gets no map.
 */
export function dropForeignSources(out) {
  for (const name of readdirSync(out, { recursive: true })) {
    if (!name.endsWith(".map")) continue;
    const path = join(out, name);
    const map = JSON.parse(readFileSync(path, "utf8"));
    const isOurs = (source) => !source.includes("node_modules");
    if (map.sources.some(isOurs)) {
      map.sourcesContent = map.sources.map((source, index) =>
        isOurs(source) ? (map.sourcesContent?.[index] ?? null) : null,
      );
      writeFileSync(path, JSON.stringify(map));
    } else {
      const chunk = path.slice(0, -".map".length);
      writeFileSync(chunk, readFileSync(chunk, "utf8").replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"));
      rmSync(path);
    }
  }
}
