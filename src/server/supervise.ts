import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/log.ts";
import type { RunToSupervise } from "../tools/context.ts";

/**
 * A run lives in a process of its own, in its own session: it goes on when the server, its group or its terminal
 * is killed, and writes the result itself.
 */
export interface Supervisors {
  start(run: RunToSupervise): void;
  /** A run will be started soon: a process gets ready for it, since starting one takes longer than a run may be late. */
  expect(): void;
  stop(): void;
}

export interface SupervisorOptions {
  home: string;
  configFile?: string | undefined;
  clock: Clock;
  log: Logger;
}

/** One that was made ready and not needed (another process had the claim) leaves after this time. */
const READY_MS = 15_000;

export function createSupervisors(options: SupervisorOptions): Supervisors {
  const { clock, log } = options;
  let ready: { child: ChildProcess; leave: { cancel(): void } } | undefined;

  const launch = (words: readonly string[], stdin: "pipe" | "ignore"): ChildProcess => {
    // Loaded here: most servers start no run, and every start would pay for the module.
    const { spawn } = process.getBuiltinModule("node:child_process");
    const child = spawn(
      process.execPath,
      [
        commandLineEntry(),
        "cron",
        "supervise",
        ...words,
        "--home",
        options.home,
        ...(options.configFile === undefined ? [] : ["--config", options.configFile]),
      ],
      { detached: true, stdio: [stdin, "ignore", "ignore"], windowsHide: true },
    );
    // A claim that it was for stays: whoever sweeps next tries again.
    child.once("error", (error) => log.error(`cron: a run could not be started: ${error.message}`));
    child.unref();
    return child;
  };

  const dismiss = (): void => {
    ready?.leave.cancel();
    ready?.child.stdin?.end();
    ready = undefined;
  };

  const stayFor = (child: ChildProcess): { cancel(): void } =>
    clock.setTimeout(() => {
      if (ready?.child === child) dismiss();
    }, READY_MS);

  return {
    expect() {
      if (ready !== undefined) {
        ready.leave.cancel();
        ready.leave = stayFor(ready.child);
        return;
      }
      const child = launch(["-"], "pipe");
      ready = { child, leave: stayFor(child) };
      const forget = (): void => {
        if (ready?.child === child) dismiss();
      };
      child.once("exit", forget);
      child.stdin?.on("error", forget);
      // Not to keep a server alive that its host has left.
      if (child.stdin !== null && "unref" in child.stdin)
        (child.stdin as unknown as { unref(): void }).unref();
    },
    start({ onExit, workspace, id, uid, seq }) {
      const waiting = ready?.child;
      if (waiting === undefined) {
        const words = [id, uid, String(seq), ...(workspace === undefined ? [] : ["--workspace", workspace])];
        const child = launch(words, "ignore");
        if (onExit !== undefined) child.once("exit", onExit);
        return;
      }
      ready?.leave.cancel();
      ready = undefined;
      if (onExit !== undefined) waiting.once("exit", onExit);
      waiting.stdin?.end(`${JSON.stringify({ id, uid, seq, workspace })}\n`);
    },
    stop: dismiss,
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
