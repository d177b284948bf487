/** `npm run chaos`: the long chaos suite. 4 servers, 20 every-second jobs, 1,000 kills, more than 10,000 slots; ten minutes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chaosTable, runChaos, seededRandom } from "../tests/chaos/chaos.ts";

const seed = Number(process.env["CHAOS_SEED"] ?? Date.now() % 100_000);
const root = await mkdtemp(join(tmpdir(), "camel-chaos-"));
const report = await runChaos({
  root,
  cli: resolve("dist/cli.js"),
  processes: 4,
  commandJobs: 2,
  hostJobs: 18,
  seconds: Number(process.env["CHAOS_SECONDS"] ?? 520),
  kills: Number(process.env["CHAOS_KILLS"] ?? 1_000),
  random: seededRandom(seed),
});
console.log(`seed ${seed}\n${chaosTable(report)}`);
for (const line of [...report.faults, ...report.errors].slice(0, 50)) console.log(line);
const isGood =
  report.lost === 0 && report.doubled === 0 && report.unreported === 0 && report.finished === report.slots;
console.log(isGood ? "Nothing lost, nothing doubled, everything reported." : `Look into ${root}.`);
if (isGood) await rm(root, { recursive: true, force: true });
process.exitCode = isGood ? 0 : 1;
