/**
 * `npm run bench [server|NAME] [arguments]`: `server` (the default) prints our ratios against peers; any other name
 * runs tests/bench/NAME.bench.ts.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { benchServer } from "./bench/server.mjs";
import { bundled, root } from "./cache.mjs";

const [name = "server", ...args] = process.argv.slice(2);
const folder = join(root, "tests", "bench");
const entry = `${name}.bench.ts`;

if (name === "server") {
  const met = await benchServer((line) => process.stdout.write(`${line}\n`));
  process.exitCode = met ? 0 : 1;
} else if (existsSync(join(folder, entry))) {
  const file = await bundled(`tests/bench/${entry}`, `bench-${name}`);
  process.exitCode = spawnSync(process.execPath, [file, ...args], { stdio: "inherit" }).status ?? 1;
} else {
  const names = readdirSync(folder).flatMap((file) => /^(.+)\.bench\.ts$/.exec(file)?.[1] ?? []);
  process.stderr.write(`There is no bench "${name}". There are: server, ${names.join(", ")}.\n`);
  process.exitCode = 2;
}
