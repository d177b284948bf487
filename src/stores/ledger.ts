import { mkdir, readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { replaceFile } from "../shared/durable.ts";
import { publishExclusive } from "./exclusive.ts";

/** What was run and spent on a UTC day, over all jobs and processes. */
export interface Ledger {
  /** Takes one of the day's runs; false when all are used. Exact: the n-th run is an exclusive file. */
  takeRun(limit: number): Promise<boolean>;
  /** What a run has cost so far. */
  spend(run: string, costUsd: number): Promise<void>;
  today(): Promise<{ runs: number; costUsd: number }>;
}

const KEEP_DAYS = 7;

export function createLedger(options: { directory: string; clock: Clock }): Ledger {
  const { directory, clock } = options;
  const day = (): string => new Date(clock.now()).toISOString().slice(0, 10);
  const names = (): Promise<string[]> => readdir(join(directory, day())).catch(() => []);
  const runsOf = (found: readonly string[]): number[] =>
    found.filter((name) => name.startsWith("run-")).map((name) => Number(name.slice(4)));

  const forgetOldDays = async (): Promise<void> => {
    const days = (await readdir(directory).catch(() => []))
      .filter((name) => /^\d{4}-\d\d-\d\d$/.test(name))
      .sort();
    for (const old of days.slice(0, -KEEP_DAYS))
      await rm(join(directory, old), { recursive: true, force: true });
  };

  return {
    async takeRun(limit) {
      const today = join(directory, day());
      const used = runsOf(await names());
      if (used.length === 0) {
        await mkdir(today, { recursive: true, mode: 0o700 });
        await forgetOldDays();
      }
      for (let number = Math.max(0, ...used) + 1; number <= limit; number++) {
        if (await publishExclusive(join(today, `run-${number}`), "")) return true;
      }
      return false;
    },
    async spend(run, costUsd) {
      await replaceFile(join(directory, day(), `cost-${run}`), String(costUsd));
    },
    async today() {
      const found = await names();
      const costs = await Promise.all(
        found
          .filter((name) => name.startsWith("cost-"))
          .map((name) => readFile(join(directory, day(), name), "utf8").then(Number, () => 0)),
      );
      return { runs: runsOf(found).length, costUsd: costs.reduce((sum, cost) => sum + cost, 0) };
    },
  };
}
