import type { Readable, Writable } from "node:stream";
import { systemClock } from "../shared/clock.ts";
import type { StdioWire } from "./stdio-wire.ts";

/**
 * How long a call that is under way when the host goes may take to end by itself. A script that pipes its requests in
 * closes the pipe before the server is even up, and a busy machine needs its time to answer.
 */
const LAST_ANSWERS_MS = 3_000;

/**
 * Resolves when the host has gone. What was asked before the end of stdin is answered first: scripts write their
 * requests into a pipe and close it at once. `lines` is what the wire reads, where that isn't stdin itself.
 */
export function hostGone(options: {
  stdin: Readable;
  stdout: Writable;
  wire: StdioWire;
  lines?: Readable;
}): Promise<void> {
  const { stdin, stdout, wire, lines = stdin } = options;
  return new Promise((resolve) => {
    stdin.once("end", () => {
      const timer = systemClock.setTimeout(resolve, LAST_ANSWERS_MS);
      const finish = (): void => {
        timer.cancel();
        resolve();
      };
      if (lines.readableEnded) void wire.answered().then(finish);
      else lines.once("end", () => void wire.answered().then(finish));
    });
    // Hosts end a server by closing the pipe, and a pipe can break instead of ending.
    stdin.once("close", () => {
      if (!stdin.readableEnded) resolve();
    });
    stdin.once("error", () => resolve());
    stdout.once("error", () => resolve());
  });
}
