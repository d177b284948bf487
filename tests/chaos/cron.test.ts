import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { CLI } from "../harness.ts";
import { chaosTable, runChaos, seededRandom } from "./chaos.ts";

it("loses no slot and doubles none while processes are killed at random", { timeout: 120_000 }, async () => {
  const root = await mkdtemp(join(tmpdir(), "camel-chaos-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
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
