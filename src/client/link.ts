import { SdkHttpError, type Client, type RequestOptions, type Transport } from "@modelcontextprotocol/client";
import type { Clock } from "../shared/clock.ts";
import { createDeadline, type Deadline } from "./deadline.ts";
import { CamelClientError, toClientError } from "./errors.ts";

export interface LinkOptions {
  /** The URL or the command, for messages. */
  where: string;
  clock: Clock;
  /** A fresh client with its handlers, and a fresh transport; called for each connection. */
  open: () => { client: Client; transport: Transport };
  /** After each connection; `again` if it isn't the first. A failure counts as a failed connection. */
  onUp: (client: Client, again: boolean) => Promise<void>;
  onDown: () => void;
  connectTimeoutMs: number;
  reconnect: boolean;
}

/** A connection that comes back. What was under way when it broke fails; nothing is ever sent twice. */
export interface Link {
  connect(): Promise<void>;
  /** Sends on the connection there is, or on a new one if it broke. `alive` starts the time-out anew. */
  run<T>(
    options: RunOptions,
    send: (client: Client, options: RequestOptions, alive: () => void) => Promise<T>,
  ): Promise<T>;
  /** Stops every call's time-out while a person is asked something; returns how to go on. */
  hold(): () => void;
  /** Connects anew, because what this client says of itself has changed. */
  renew(): Promise<void>;
  /** The connection there is now. */
  current(): Client | undefined;
  /** Tells that a connection is no good any more. */
  drop: (client: Client) => void;
  close(): Promise<void>;
}

/** For those who leave the patience to somebody else. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;

export interface RunOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

/** Above the server's own limit, so that its answer says what took too long. */
const DEFAULT_TIMEOUT_MS = 120_000;
const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 10_000;

export function createLink(options: LinkOptions): Link {
  const { clock, where } = options;
  let current: Client | undefined;
  let connecting: Promise<Client> | undefined;
  let opening: Transport | undefined;
  let retry: { cancel(): void } | undefined;
  let isClosed = false;
  let wasUp = false;
  let failures = 0;
  const underWay = new Map<Client, number>();
  const deadlines = new Set<Deadline>();

  const connectOnce = async (): Promise<Client> => {
    const { client, transport } = options.open();
    opening = transport;
    client.onclose = () => drop(client);
    client.onerror = (error) => {
      // The 2025 era's session has gone, or its stream for notifications can't be had back.
      if (
        (error instanceof SdkHttpError && error.status === 404) ||
        /reconnection attempts/.test(error.message)
      )
        drop(client);
    };
    try {
      await client.connect(transport, { timeout: options.connectTimeoutMs });
      await options.onUp(client, wasUp);
    } catch (error) {
      await client.close().catch(() => {});
      throw toClientError(error, where);
    }
    if (isClosed) {
      await client.close();
      throw closedError();
    }
    current = client;
    wasUp = true;
    failures = 0;
    return client;
  };
  const connectNow = (): Promise<Client> => {
    retry?.cancel();
    connecting ??= connectOnce()
      .catch((error: unknown) => {
        const mayHelp = error instanceof CamelClientError && error.retryable;
        if (wasUp && mayHelp) retryLater();
        throw error;
      })
      .finally(() => {
        connecting = undefined;
        opening = undefined;
      });
    return connecting;
  };
  const retryLater = (): void => {
    if (isClosed || !options.reconnect) return;
    const longest = Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS);
    failures += 1;
    retry = clock.setTimeout(
      () => {
        if (!isClosed && current === undefined) connectNow().catch(() => {});
      },
      // Many clients lose a server at the same moment; they shouldn't all come back at the same moment.
      longest * (0.5 + Math.random() / 2),
    );
  };
  const drop = (client: Client): void => {
    if (current !== client) return;
    current = undefined;
    // Calls on streams of their own may still be answered; they are let finish.
    if (!underWay.has(client)) void client.close().catch(() => {});
    if (isClosed) return;
    options.onDown();
    retryLater();
  };

  return {
    async connect() {
      await connectNow();
    },
    async renew() {
      const before = current;
      current = undefined;
      if (before !== undefined && !underWay.has(before)) void before.close().catch(() => {});
      await connectNow();
    },
    current: () => current,
    drop,
    async run({ signal, timeoutMs = DEFAULT_TIMEOUT_MS }, send) {
      if (isClosed) throw closedError();
      if (isAborted(signal)) throw cancelledError(signal);
      if (current === undefined && wasUp && !options.reconnect)
        throw new CamelClientError("connection_lost", `The connection to ${where} was lost.`, {
          next: "Connect again.",
        });
      const client = current ?? (await connectNow());
      underWay.set(client, (underWay.get(client) ?? 0) + 1);
      const expiry = new AbortController();
      const deadline = createDeadline(clock, timeoutMs, () => expiry.abort());
      deadlines.add(deadline);
      try {
        const ended = signal === undefined ? expiry.signal : AbortSignal.any([signal, expiry.signal]);
        // The SDK's own time-out is out of the way: it would count the time a person thinks.
        return await send(client, { timeout: NO_TIMEOUT_MS, signal: ended }, () => deadline.restart());
      } catch (thrown) {
        if (isAborted(signal)) throw cancelledError(signal);
        if (expiry.signal.aborted) throw timeoutError(where, timeoutMs);
        if (isClosed) throw closedError();
        const error = isSessionGone(thrown) ? sessionGone(where, thrown) : toClientError(thrown, where);
        if (error.code === "connection_lost" || error.code === "unavailable") drop(client);
        throw error;
      } finally {
        deadline.cancel();
        deadlines.delete(deadline);
        const left = (underWay.get(client) ?? 1) - 1;
        if (left > 0) underWay.set(client, left);
        else {
          underWay.delete(client);
          if (current !== client) void client.close().catch(() => {});
        }
      }
    },
    hold() {
      const held = [...deadlines];
      for (const deadline of held) deadline.hold();
      return () => {
        for (const deadline of held) deadline.release();
      };
    },
    async close() {
      isClosed = true;
      retry?.cancel();
      const open = current;
      current = undefined;
      await open?.close();
      // One that is only coming up is not waited for.
      await opening?.close().catch(() => {});
    },
  };
}

function isSessionGone(thrown: unknown): boolean {
  return thrown instanceof SdkHttpError && thrown.status === 404;
}

function sessionGone(where: string, cause: unknown): CamelClientError {
  return new CamelClientError("unavailable", `${where} no longer knows this session; nothing was run.`, {
    next: "Repeat the call; a new session is being opened.",
    cause,
  });
}

function timeoutError(where: string, milliseconds: number): CamelClientError {
  return new CamelClientError("timeout", `${where} didn't answer within ${milliseconds / 1000} s.`, {
    next: "It was told to stop. Ask for less, or give the call more time with timeoutMs.",
  });
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function closedError(): CamelClientError {
  return new CamelClientError("closed", "This client was closed.", { next: "Connect again." });
}

function cancelledError(signal: AbortSignal | undefined): CamelClientError {
  return new CamelClientError("cancelled", "The call was cancelled.", { cause: signal?.reason });
}
