import { expect, it } from "vitest";
import { CLI } from "../harness.ts";
import { tempFolder } from "../temp-folder.ts";
import { chaosTable, runChaos, seededRandom } from "./chaos.ts";

it("loses no slot and doubles none while processes are killed at random", { timeout: 120_000 }, async () => {
  const root = await tempFolder("chaos");
  const report = await runChaos({
    root,
    cli: CLI,
    processes: 4,
    commandJobs: 2,
    hostJobs: 6,
    seconds: 26,
    kills: 100,
    random: seededRandom(8),
  });
  process.stdout.write(`\n${chaosTable(report)}\n`);
  expect(report.kills).toBe(100);
  expect(report.faults).toEqual([]);
  expect(report.errors).toEqual([]);
  expect(report).toMatchObject({ doubled: 0, lost: 0, unreported: 0, finished: report.slots });
  expect(report.started).toBeGreaterThan(report.slots / 2);
});
