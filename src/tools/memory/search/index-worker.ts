/** Entry of the worker thread that reads and indexes files, so that other calls go on meanwhile. */
import { parentPort, workerData } from "node:worker_threads";
import { buildBlocks, type BuildRequest } from "./build-blocks.ts";

const request = workerData as BuildRequest;
for (const message of buildBlocks(request)) parentPort?.postMessage(message);
