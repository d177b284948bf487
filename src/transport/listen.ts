import {
  CLIENT_INFO_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { clientNameOf } from "../server/identity.ts";
import type { Watches } from "../server/watches.ts";

const LISTEN = z.looseObject({
  method: z.literal("subscriptions/listen"),
  params: z.looseObject({
    _meta: z.record(z.string(), z.unknown()).optional(),
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()).optional() }),
  }),
});

export type Listen = z.infer<typeof LISTEN>;

/** A well-formed `subscriptions/listen`; whatever else claims to be one, the SDK refuses. */
export function parseListen(body: unknown): Listen | undefined {
  const parsed = LISTEN.safeParse(body);
  return parsed.success ? parsed.data : undefined;
}

export function clientOfListen(listen: Listen): string {
  return clientNameOf(listen.params._meta?.[CLIENT_INFO_META_KEY]);
}

export type StartWatching = (
  uris: readonly string[],
  client: string,
  changed: (uri: string) => void,
) => Promise<Watches>;

/**
 * Lets `subscriptions/listen` on stdio follow files. The SDK answers that request by itself and tells nobody, so
 * its acknowledgement is caught on the way out: it leaves when the files are followed, and names those alone.
 */
export function withResourceUpdates(
  wire: Transport,
  watch: StartWatching,
): { transport: Transport; stop: () => void } {
  const clients = new Map<RequestId, string>();
  const watches = new Map<RequestId, Watches>();

  const received = (message: JSONRPCMessage): void => {
    if (!("method" in message)) return;
    if (message.method === "subscriptions/listen" && "id" in message) {
      const listen = parseListen(message);
      if (listen !== undefined) clients.set(message.id, clientOfListen(listen));
    } else if (message.method === "notifications/cancelled") {
      const id = message.params?.["requestId"] as RequestId;
      clients.delete(id);
      watches.get(id)?.stop();
      watches.delete(id);
    }
  };

  const acknowledge = async (message: JSONRPCMessage): Promise<JSONRPCMessage> => {
    const ack = ACK.safeParse(message);
    // Without resources in it.
    if (!ack.success) return message;
    const { params } = ack.data;
    const id = params._meta[SUBSCRIPTION_ID_META_KEY];
    const client = clients.get(id) ?? clientNameOf(undefined);
    const watched = await watch(params.notifications.resourceSubscriptions, client, (uri) => {
      const note = { uri, _meta: { [SUBSCRIPTION_ID_META_KEY]: id } };
      void wire
        .send({ jsonrpc: "2.0", method: "notifications/resources/updated", params: note })
        .catch(() => {});
    });
    // Cancelled in the meantime.
    if (clients.delete(id)) watches.set(id, watched);
    else watched.stop();
    return {
      ...ack.data,
      params: { ...params, notifications: { ...params.notifications, resourceSubscriptions: watched.uris } },
    };
  };

  const transport: Transport = {
    start: () => wire.start(),
    close: () => wire.close(),
    send: (message, options) => {
      const isAck = "method" in message && message.method === ACKNOWLEDGED;
      return isAck
        ? acknowledge(message).then((ack) => wire.send(ack, options))
        : wire.send(message, options);
    },
  };
  wire.onmessage = (message, extra) => {
    received(message);
    transport.onmessage?.(message, extra);
  };
  wire.onclose = () => transport.onclose?.();
  wire.onerror = (error) => transport.onerror?.(error);
  return {
    transport,
    stop() {
      for (const watched of watches.values()) watched.stop();
      watches.clear();
    },
  };
}

const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
const ACK = z.looseObject({
  jsonrpc: z.literal("2.0"),
  method: z.literal(ACKNOWLEDGED),
  params: z.looseObject({
    _meta: z.looseObject({ [SUBSCRIPTION_ID_META_KEY]: z.union([z.string(), z.number()]) }),
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }),
  }),
});
