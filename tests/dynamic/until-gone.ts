import { isRunning } from "../harness.ts";

/** Resolves when no such process runs; the test's own time limit is the other way out. */
export async function untilGone(pid: number): Promise<void> {
  while (await isRunning(pid)) await new Promise((resolve) => setImmediate(resolve));
}
