import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/server";
import { isObject } from "../shared/is-object.ts";
import type { Logger } from "../shared/log.ts";
import { isRequest } from "./stdio-wire.ts";

export interface OpeningOptions {
  wire: Transport;
  /** The answer to `initialize`, all but the protocol's version. */
  identity: Record<string, unknown>;
  /** The answer to `tools/list`. */
  listTools(clientInfo: unknown): Promise<Record<string, unknown>>;
  /** Loads the SDK; what it returns starts it on a transport. */
  load(): Promise<(transport: Transport, hasGreeted: boolean) => void>;
  log: Logger;
}

export interface Opening {
  /** For as long as the SDK isn't there to do it. */
  toolsChanged(): void;
  close(): Promise<void>;
}

/** Those of the SDK that begin with `initialize`. It decides about any other. */
export const HANDSHAKE_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"];

const INTERNAL_ERROR = -32_603;

/**
 * Hosts start every server they know only to ask who it is and which tools it has, and most then hear nothing more.
 * Those two questions are answered here, because to load the SDK and to build its schemas takes longer than all the
 * rest of the start. The first message that is anything else, or one of these in an unusual form, brings the SDK in:
 * it gets the handshake as if it had been there from the start, and its answer to that is dropped, since the client
 * has it already.
 */
export function openLazily(options: OpeningOptions): Opening {
  const { wire, log } = options;
  const handshake: JSONRPCMessage[] = [];
  let clientInfo: unknown;
  /** What waits for the SDK while it loads; undefined before and after. */
  let waiting: JSONRPCMessage[] | undefined;
  let isLoaded = false;
  let isClosed = false;
  /** The request whose answer by the SDK is the second one. */
  let answered: RequestId | undefined;

  const send = (message: JSONRPCMessage): void => {
    wire.send(message).catch((error: unknown) => log.debug(`stdio: ${String(error)}`));
  };
  const fail = (id: RequestId, error: unknown): void => {
    log.error(`stdio: ${String(error)}`);
    send({ jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message: "Internal server error" } });
  };

  /** False if it is for the SDK. */
  const answer = (message: JSONRPCMessage): boolean => {
    if (isInitialized(message) && handshake.length === 1) {
      handshake.push(message);
      return true;
    }
    if (!isRequest(message)) return false;
    const { id, method, params } = message;
    if (handshake.length === 0) {
      if (method !== "initialize" || !isUsualGreeting(params)) return false;
      handshake.push(message);
      answered = id;
      clientInfo = params.clientInfo;
      send({ jsonrpc: "2.0", id, result: { protocolVersion: params.protocolVersion, ...options.identity } });
      return true;
    }
    if (method !== "tools/list" || (params !== undefined && !isEmpty(params))) return false;
    options.listTools(clientInfo).then(
      (result) => send({ jsonrpc: "2.0", id, result }),
      (error: unknown) => fail(id, error),
    );
    return true;
  };

  const load = async (queue: JSONRPCMessage[]): Promise<void> => {
    try {
      const start = await options.load();
      if (isClosed) return;
      start(transport, handshake.length > 0);
      isLoaded = true;
      for (const message of [...handshake, ...queue]) transport.onmessage?.(message);
    } catch (error) {
      // As after an update that took the files away under a running server.
      for (const message of queue) if (isRequest(message)) fail(message.id, error);
    } finally {
      waiting = undefined;
    }
  };

  const transport: Transport = {
    start: () => Promise.resolve(),
    close: () => wire.close(),
    send(message, sendOptions) {
      if (answered === undefined || "method" in message || message.id !== answered)
        return wire.send(message, sendOptions);
      answered = undefined;
      if ("error" in message) log.warn(`the client's greeting is not in order: ${message.error.message}`);
      return Promise.resolve();
    },
  };
  wire.onmessage = (message) => {
    if (isLoaded) transport.onmessage?.(message);
    else if (waiting !== undefined) waiting.push(message);
    else if (!answer(message)) void load((waiting = [message]));
  };
  wire.onclose = () => transport.onclose?.();
  wire.onerror = (error) => {
    if (isLoaded) transport.onerror?.(error);
    else log.debug(`stdio: ${error.message}`);
  };
  void wire.start();

  return {
    toolsChanged() {
      if (handshake.length === 2) send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    },
    close() {
      isClosed = true;
      return wire.close();
    },
  };
}

function isInitialized(message: JSONRPCMessage): boolean {
  return "method" in message && message.method === "notifications/initialized" && !("id" in message);
}

interface Greeting {
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  clientInfo: Record<string, unknown>;
}

function isUsualGreeting(params: unknown): params is Greeting {
  if (!isObject(params)) return false;
  const { protocolVersion, capabilities, clientInfo, ...rest } = params;
  return (
    HANDSHAKE_VERSIONS.includes(protocolVersion as string) &&
    isObject(capabilities) &&
    Object.values(capabilities).every(isObject) &&
    isObject(clientInfo) &&
    typeof clientInfo["name"] === "string" &&
    typeof clientInfo["version"] === "string" &&
    isEmpty(rest)
  );
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}
