import { constants } from "node:os";

const GRACE_MS = 4_000;

/**
 * Runs `stop` on the first signal, and ends the process within five seconds whatever hangs: an orphaned server
 * eats the machine. The backstop is unref'd, so a clean stop doesn't wait for it.
 * A person who presses Ctrl-C twice doesn't want to wait; hosts send several signals in a row and don't mean that.
 */
export function stopOnSignals(stop: () => Promise<void>): {
  stopped: Promise<void>;
  armBackstop: (milliseconds?: number) => void;
} {
  let resolve = (): void => {};
  const stopped = new Promise<void>((done) => (resolve = done));
  const armBackstop = (milliseconds = GRACE_MS): void => {
    setTimeout(() => process.exit(process.exitCode ?? 0), milliseconds).unref();
  };
  let isStopping = false;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (isStopping && process.stdin.isTTY) process.exit(128 + constants.signals[signal]);
      isStopping = true;
      armBackstop();
      void stop().finally(resolve);
    });
  }
  return { stopped, armBackstop };
}
