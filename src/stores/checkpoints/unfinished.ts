import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../shared/log.ts";

/**
 * Undoes what a dead process left, when a server starts. Costs one look at a folder that is nearly always empty or
 * missing; the engine is loaded only where there is something to do.
 */
export async function finishInterruptedWrites(home: string, log: Logger): Promise<void> {
  const open = await readdir(join(home, "checkpoints", "open")).catch(() => []);
  if (open.length === 0) return;
  try {
    const { recoverWrites } = await import("./write-files.ts");
    for (const note of await recoverWrites(home)) log.warn(note);
  } catch (error) {
    log.error(
      `an interrupted change was not undone: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
