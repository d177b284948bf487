import { readFile } from "node:fs/promises";

/** Resolves when no such process runs; the test's own time limit is the other way out. */
export async function untilGone(pid: number): Promise<void> {
  const runs = async (): Promise<boolean> => {
    try {
      process.kill(pid, 0);
    } catch {
      return false;
    }
    // Dead but not yet collected by whoever adopted it.
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    return !/\) Z /.test(stat);
  };
  while (await runs()) await new Promise((resolve) => setImmediate(resolve));
}
