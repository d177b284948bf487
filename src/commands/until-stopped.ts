const GRACE_MS = 4_000;

/**
 * Runs `stop` on the first signal, and ends the process within five seconds whatever hangs: an orphaned server
 * eats the machine. The backstop is unref'd, so a clean stop doesn't wait for it.
 */
export function stopOnSignals(stop: () => Promise<void>): {
  stopped: Promise<void>;
  armBackstop: () => void;
} {
  let resolve = (): void => {};
  const stopped = new Promise<void>((done) => (resolve = done));
  const armBackstop = (): void => {
    setTimeout(() => process.exit(process.exitCode ?? 0), GRACE_MS).unref();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      armBackstop();
      void stop().finally(resolve);
    });
  }
  return { stopped, armBackstop };
}
