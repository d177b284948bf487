import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { buildBlocks, type BuildMessage, type BuildRequest } from "./build-blocks.ts";

// Run from source (tests), the worker is the built one: Node 20 can't load TypeScript in a thread.
const WORKER = import.meta.url.endsWith(".ts")
  ? new URL("../../../../dist/chunks/memory-index-worker.js", import.meta.url)
  : new URL("./memory-index-worker.js", import.meta.url);

/** Builds in a thread of its own; where none can be started, here, with turns for other calls in between. */
export async function buildInWorker(
  request: BuildRequest,
  receive: (message: BuildMessage) => void,
  entry: URL = WORKER,
): Promise<void> {
  let hasBegun = false;
  try {
    await new Promise<void>((resolve, reject) => {
      // What the caller may hold in memory is no business of the worker's: its heap is bounded by its blocks.
      const worker = new Worker(entry, { workerData: request, name: "memory index" });
      worker.on("message", (message: BuildMessage) => {
        hasBegun = true;
        receive(message);
      });
      worker.on("error", reject);
      worker.on("exit", (code) => {
        if (code === 0) resolve();
        else reject(new Error(`The memory index worker ended with code ${code}.`));
      });
    });
  } catch (error) {
    if (hasBegun) throw error;
    for (const message of buildBlocks(request)) {
      receive(message);
      await nextTurn();
    }
  }
}
