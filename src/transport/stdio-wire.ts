import type { JSONRPCMessage, JSONRPCRequest, Transport } from "@modelcontextprotocol/server";
import type { Readable, Writable } from "node:stream";
import { isObject } from "../shared/is-object.ts";
import { createLineReader, refuseNoMessage, refuseNotJson, type LineGuardOptions } from "./line-guard.ts";

export interface StdioWireOptions extends LineGuardOptions {
  stdin: Readable;
  stdout: Writable;
}

export interface StdioWire extends Transport {
  /** Resolves when no request waits for its answer. */
  answered(): Promise<void>;
}

/** A list of messages on one line, as 2025-03-26 has them: their answers leave as a list, too. */
interface Batch {
  /** Requests without an answer, and one more while they are read. */
  open: number;
  answers: JSONRPCMessage[];
}

/**
 * JSON-RPC messages, a line each. In the place of the SDK's own, which ends the connection on a long line and checks
 * each message with a schema before the server does so again. Whoever makes it ends it when stdin does.
 */
export function createStdioWire(options: StdioWireOptions): StdioWire {
  const { stdin, stdout } = options;
  const open = new Set<unknown>();
  const batches = new Map<unknown, Batch>();
  let allAnswered = (): void => {};
  let isClosed = false;
  let draining: Promise<void> | undefined;

  const take = (message: JSONRPCMessage, batch?: Batch): void => {
    if ("id" in message && "method" in message) {
      if (!isRequest(message)) return refuseNoMessage(options, (message as { id: unknown }).id);
      open.add(message.id);
      if (batch !== undefined) {
        batch.open += 1;
        batches.set(message.id, batch);
      }
    } else if (!("id" in message || "method" in message)) return refuseNoMessage(options, undefined);
    else if ("method" in message && message.method === "notifications/cancelled")
      close(message.params?.["requestId"]);
    wire.onmessage?.(message);
  };
  const read = createLineReader(options, (line) => {
    if (isClosed) return;
    let message: JSONRPCMessage | JSONRPCMessage[];
    try {
      message = JSON.parse(line.toString("utf8")) as JSONRPCMessage | JSONRPCMessage[];
    } catch {
      return refuseNotJson(options);
    }
    if (!Array.isArray(message)) return take(message);
    if (message.length === 0 || !message.every(isObject)) return refuseNoMessage(options, undefined);
    const batch: Batch = { open: 1, answers: [] };
    for (const one of message) take(one, batch);
    endOne(batch);
  });
  const close = (id: unknown): void => {
    if (open.delete(id) && open.size === 0) allAnswered();
    const batch = batches.get(id);
    if (batch !== undefined && batches.delete(id)) endOne(batch);
  };
  const endOne = (batch: Batch): void => {
    batch.open -= 1;
    if (batch.open === 0 && batch.answers.length > 0) stdout.write(`${JSON.stringify(batch.answers)}\n`);
  };
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

  const wire: StdioWire = {
    answered: () => (open.size === 0 ? SENT : new Promise((resolve) => (allAnswered = resolve))),
    start() {
      stdin.on("data", read);
      stdin.on("error", failed);
      // Stays: a pipe may break after the end too, and an error that nobody hears ends the process.
      stdout.on("error", failed);
      return Promise.resolve();
    },
    send(message) {
      if (isClosed) return Promise.reject(new Error("The connection is closed."));
      const batch = "method" in message ? undefined : batches.get(message.id);
      batch?.answers.push(message);
      const isTaken = batch !== undefined || stdout.write(`${JSON.stringify(message)}\n`);
      if (!("method" in message)) close(message.id);
      return isTaken ? SENT : drained();
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

const REQUEST_KEYS = ["jsonrpc", "id", "method", "params"];

/** By the SDK's measure, which says nothing to one that isn't, and its sender would wait for ever. */
export function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return (
    "method" in message &&
    typeof message.method === "string" &&
    "id" in message &&
    (typeof message.id === "string" || Number.isInteger(message.id)) &&
    message.jsonrpc === "2.0" &&
    (message.params === undefined || isObject(message.params)) &&
    Object.keys(message).every((key) => REQUEST_KEYS.includes(key))
  );
}

const SENT = Promise.resolve();
const EVENTS = ["drain", "error", "close"];
