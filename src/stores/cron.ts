import { join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { createFileJobs } from "./file-jobs.ts";
import { createFileInbox, type Inbox } from "./inbox.ts";
import type { JobStore } from "./jobs.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { createFileRuns, type RunStore } from "./runs.ts";
import { createFileTokens, type TokenStore } from "./tokens.ts";

/** Everything that is kept about scheduled jobs, below one folder of the home. */
export interface CronStore {
  directory: string;
  jobs: JobStore;
  runs: RunStore;
  inbox: Inbox;
  ledger: Ledger;
  /** A run has its creator's rights, and none once they were taken away. */
  tokens: TokenStore;
}

export function createCronStore(options: { home: string; clock: Clock }): CronStore {
  const { clock } = options;
  const directory = join(options.home, "cron");
  return {
    directory,
    jobs: createFileJobs({ directory: join(directory, "jobs"), clock }),
    runs: createFileRuns({ directory, clock }),
    inbox: createFileInbox({ directory, clock }),
    ledger: createLedger({ directory: join(directory, "ledger"), clock }),
    tokens: createFileTokens({ path: join(options.home, "tokens.json"), clock }),
  };
}
