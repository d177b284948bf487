import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { CamelError, messageOf } from "../../shared/errors.ts";
import type { Logger } from "../../shared/log.ts";

/** A server that is told to stop waits for this. */
const WAIT_MS = 1_000;

/**
 * Undoes what a dead process left, when a server starts. Costs one look at a folder that is nearly always empty or
 * missing; the engine is loaded only where there is something to do.
 */
export async function finishInterruptedWrites(home: string, log: Logger): Promise<void> {
  const open = await readdir(join(home, "checkpoints", "open")).catch(() => []);
  if (open.length === 0) return;
  try {
    const { recoverWrites } = await import("./write-files.ts");
    for (const note of await recoverWrites(home, undefined, undefined, WAIT_MS)) log.warn(note);
  } catch (error) {
    // A living process is at work there: the journal is its own, and it looks for older ones itself.
    if (error instanceof CamelError && error.code === "busy") return;
    log.error(`an interrupted change was not undone: ${messageOf(error)}`);
  }
}
