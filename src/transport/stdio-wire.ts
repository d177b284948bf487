import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import type { Readable, Writable } from "node:stream";
import { createLineReader, refuseNotJson, type LineGuardOptions } from "./line-guard.ts";

export interface StdioWireOptions extends LineGuardOptions {
  stdin: Readable;
  stdout: Writable;
}

/**
 * JSON-RPC messages, a line each. In the place of the SDK's own, which ends the connection on a long line and checks
 * each message with a schema before the server does so again. Whoever makes it ends it when stdin does.
 */
export function createStdioWire(options: StdioWireOptions): Transport {
  const { stdin, stdout } = options;
  let isClosed = false;
  let draining: Promise<void> | undefined;

  const read = createLineReader(options, (line) => {
    if (isClosed) return;
    let message: JSONRPCMessage;
    try {
      message = JSON.parse(line.toString("utf8")) as JSONRPCMessage;
    } catch {
      return refuseNotJson(options);
    }
    wire.onmessage?.(message);
  });
  const failed = (error: Error): void => wire.onerror?.(error);

  const drained = (): Promise<void> =>
    (draining ??= new Promise((resolve) => {
      const done = (): void => {
        for (const event of EVENTS) stdout.off(event, done);
        draining = undefined;
        resolve();
      };
      for (const event of EVENTS) stdout.once(event, done);
    }));

  const wire: Transport = {
    start() {
      stdin.on("data", read);
      stdin.on("error", failed);
      // Stays: a pipe may break after the end too, and an error that nobody hears ends the process.
      stdout.on("error", failed);
      return Promise.resolve();
    },
    send(message) {
      if (isClosed) return Promise.reject(new Error("The connection is closed."));
      return stdout.write(`${JSON.stringify(message)}\n`) ? SENT : drained();
    },
    close() {
      if (isClosed) return SENT;
      isClosed = true;
      stdin.off("data", read);
      stdin.pause();
      wire.onclose?.();
      return SENT;
    },
  };
  return wire;
}

const SENT = Promise.resolve();
const EVENTS = ["drain", "error", "close"];
