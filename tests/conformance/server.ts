/**
 * TEST ONLY: the product's HTTP server with the fixtures of the conformance suite. scripts/conformance.mjs bundles
 * it, gives it an empty home and reads the address from its first line.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCamel } from "../../src/camel.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { createLogger } from "../../src/shared/log.ts";
import { VERSION } from "../../src/shared/version.ts";
import { createFileTokens } from "../../src/stores/tokens.ts";
import { serveOnHttp } from "../../src/transport/http.ts";
import { extend } from "./extend.ts";
import { fixtureTools, pause } from "./tools.ts";

const home = process.argv[2];
if (home === undefined) throw new Error("usage: server HOME");
const log = createLogger("warn", (line) => process.stderr.write(line));

let edits = 0;
const camel = await createCamel({
  home,
  workspace: home,
  log,
  tools: fixtureTools(async () => {
    // The list changes as it does for users: somebody edits the config. The pause is the product's check interval.
    edits += 1;
    await writeFile(join(home, "config.yaml"), `# edit ${"x".repeat(edits)}\n`);
    await pause(300);
    await camel.refresh();
  }),
});
const server = await serveOnHttp({
  camel,
  version: VERSION,
  agentId: "main",
  host: "127.0.0.1",
  port: 0,
  tokens: createFileTokens({ path: join(home, "tokens.json"), clock: systemClock }),
  clock: systemClock,
  log,
  extend: (server) => extend(server as Parameters<typeof extend>[0]),
});
process.stdout.write(`${server.url}/mcp\n`);
// Ends with whoever started it.
process.stdin.resume().once("end", () => void server.stop().then(() => process.exit(0)));
