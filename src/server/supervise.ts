import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../shared/clock.ts";
import { messageOf } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import type { ExpectedRun, ReadyPool } from "../stores/ready.ts";
import type { RunToSupervise } from "../tools/context.ts";

/**
 * A run lives in a process of its own, in its own session: it goes on when the server, its group or its terminal
 * is killed, and writes the result itself.
 */
export interface Supervisors {
  start(run: RunToSupervise): void;
  /** Runs will be started soon: processes get ready for them, since starting one takes longer than a run may be late. */
  expect(runs: readonly ExpectedRun[]): void;
  /** Resolves when every run that was to be started is on its way. */
  settled(): Promise<void>;
}

export interface SupervisorOptions {
  home: string;
  configFile?: string | undefined;
  memoryRoot?: string | undefined;
  clock: Clock;
  log: Logger;
}

/** The modules are loaded by the first run: most servers start none. */
interface Parts {
  pool: ReadyPool;
  kindOf: (start: readonly (string | undefined)[]) => string;
  giveOrder: (socket: string, order: string, onEnd: () => void) => Promise<boolean>;
}

export function createSupervisors(options: SupervisorOptions): Supervisors {
  const { clock, log } = options;
  let parts: Promise<Parts> | undefined;
  const load = (): Promise<Parts> =>
    (parts ??= Promise.all([import("../stores/ready.ts"), import("../stores/liveness.ts")]).then(
      ([{ createReadyPool, kindOf }, { giveOrder }]) => ({
        pool: createReadyPool({ directory: join(options.home, "cron", "ready"), clock }),
        kindOf,
        giveOrder,
      }),
    ));

  const flagsOf = (workspace: string | undefined): string[] => [
    "--home",
    options.home,
    ...(options.configFile === undefined ? [] : ["--config", options.configFile]),
    ...(options.memoryRoot === undefined ? [] : ["--memory-root", options.memoryRoot]),
    ...(workspace === undefined ? [] : ["--workspace", workspace]),
  ];

  const launch = (words: readonly string[], workspace: string | undefined, onExit?: () => void): void => {
    const { spawn } = process.getBuiltinModule("node:child_process");
    const argv = [commandLineEntry(), "cron", "supervise", ...words, ...flagsOf(workspace)];
    const child = spawn(process.execPath, argv, { detached: true, stdio: "ignore", windowsHide: true });
    // A claim that it was for stays: whoever sweeps next tries again.
    child.once("error", (error) => log.error(`cron: a run could not be started: ${error.message}`));
    if (onExit !== undefined) child.once("exit", onExit);
    child.unref();
  };

  const kindFor = ({ kindOf }: Parts, workspace: string | undefined): string =>
    // Where it was started matters only to a job that names no folder.
    kindOf([commandLineEntry(), workspace ?? process.cwd(), ...flagsOf(workspace)]);

  const begin = async ({ onExit, workspace, id, uid, seq }: RunToSupervise): Promise<void> => {
    const loaded = await load();
    const kind = kindFor(loaded, workspace);
    for (;;) {
      const socket = await loaded.pool.take(kind);
      if (socket === undefined) break;
      const order = JSON.stringify({ id, uid, seq });
      if (await loaded.giveOrder(socket, order, onExit ?? (() => {}))) return;
    }
    launch([id, uid, String(seq)], workspace, onExit);
  };

  const prepare = async (runs: readonly ExpectedRun[]): Promise<void> => {
    const loaded = await load();
    for (const workspace of new Set(runs.map((run) => run.workspace))) {
      const kind = kindFor(loaded, workspace);
      const alike = runs.filter((run) => run.workspace === workspace);
      const missing = await loaded.pool.missing(kind, alike);
      for (let count = 0; count < missing; count++) launch(["-", kind], workspace);
    }
  };

  const warn = (error: unknown): void => log.error(`cron: a run could not be started: ${messageOf(error)}`);

  const pending = new Set<Promise<void>>();
  const follow = (work: Promise<void>): void => {
    const followed = work.catch(warn).finally(() => pending.delete(followed));
    pending.add(followed);
  };

  return {
    start: (run) => follow(begin(run)),
    expect: (runs) => follow(prepare(runs)),
    async settled() {
      await Promise.all(pending);
    },
  };
}

let found: string | undefined;

/** The CLI beside whatever this is bundled into, or the built one where the sources run. */
function commandLineEntry(): string {
  if (found !== undefined) return found;
  let folder = dirname(fileURLToPath(import.meta.url));
  for (let height = 0; height < 4; height++) {
    for (const candidate of [join(folder, "cli.js"), join(folder, "dist", "cli.js")]) {
      if (existsSync(candidate)) return (found = candidate);
    }
    folder = dirname(folder);
  }
  throw new Error("cli.js is not beside this package's files");
}
