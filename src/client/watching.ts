import { ProtocolError, type Client, type McpSubscription } from "@modelcontextprotocol/client";
import { CamelClientError } from "./errors.ts";
import type { Link } from "./link.ts";

/** What the server may tell by itself: changed lists and changed resources, in both eras. */
export interface Watching {
  onToolsChanged: Listeners<[]>;
  onResourcesChanged: Listeners<[]>;
  /** Registers the handlers on a client that isn't connected yet. */
  attach(client: Client): void;
  /** Subscribes to everything that is watched, on a connection that has just come up. */
  start(client: Client, again: boolean, drop: (client: Client) => void): Promise<void>;
  /** Calls `changed` whenever the resource did. Rejects if the server doesn't let it be watched. */
  watch(uri: string, link: Link, changed: () => void): Promise<() => Promise<void>>;
  /** Those of them that the server lets be watched. */
  watchAll(
    uris: readonly string[],
    link: Link,
    changed: (uri: string) => void,
  ): Promise<{ uris: string[]; stop(): void }>;
}

export interface Listeners<Args extends unknown[]> {
  add(listener: (...args: Args) => void): () => void;
  tell(...args: Args): void;
}

function createListeners<Args extends unknown[]>(): Listeners<Args> {
  const all = new Set<(...args: Args) => void>();
  return {
    add(listener) {
      // Wrapped, so that the same function may be added twice and removed once.
      const one = (...args: Args): void => listener(...args);
      all.add(one);
      return () => all.delete(one);
    },
    tell(...args) {
      for (const listener of all) listener(...args);
    },
  };
}

export function createWatching(): Watching {
  const onToolsChanged = createListeners<[]>();
  const onResourcesChanged = createListeners<[]>();
  const updated = createListeners<[uri: string]>();
  /** How many want to hear of it. */
  const uris = new Map<string, number>();
  const streams = new WeakMap<Client, McpSubscription>();

  /** The 2026 era: one stream with a filter. A changed filter is a new stream, opened before the old one ends. */
  const openStream = async (client: Client, drop: (client: Client) => void): Promise<void> => {
    const before = streams.get(client);
    let stream: McpSubscription;
    try {
      stream = await client.listen({
        toolsListChanged: true,
        resourcesListChanged: true,
        ...(uris.size === 0 ? {} : { resourceSubscriptions: [...uris.keys()] }),
      });
    } catch (error) {
      // A server that offers no such stream has nothing to tell.
      if (error instanceof ProtocolError) return;
      throw error;
    }
    streams.set(client, stream);
    await before?.close();
    const isEmpty = Object.keys(stream.honoredFilter).length === 0;
    void stream.closed.then((why) => {
      if (why !== "local" && !isEmpty && streams.get(client) === stream) drop(client);
    });
  };

  let opening = Promise.resolve();
  const listen = (client: Client, drop: (client: Client) => void): Promise<void> => {
    // One after the other, so that none is left open unseen.
    const opened = opening.then(() => openStream(client, drop));
    opening = opened.catch(() => {});
    return opened;
  };

  const unwatch = async (uri: string, link: Link): Promise<void> => {
    const others = (uris.get(uri) ?? 1) - 1;
    if (others > 0) return void uris.set(uri, others);
    uris.delete(uri);
    const client = link.current();
    if (client === undefined) return;
    const isModern = client.getProtocolEra() === "modern";
    // Best effort: what still comes for it is told to nobody.
    await (isModern ? listen(client, link.drop) : client.unsubscribeResource({ uri })).catch(() => {});
  };
  const watch: Watching["watch"] = async (uri, link, changed) => {
    const others = uris.get(uri) ?? 0;
    uris.set(uri, others + 1);
    const stop = updated.add((one) => {
      if (one === uri) changed();
    });
    const end = async (): Promise<void> => {
      stop();
      await unwatch(uri, link);
    };
    if (others > 0) return end;
    try {
      await link.run({}, async (client, options) => {
        if (client.getProtocolEra() !== "modern")
          return void (await client.subscribeResource({ uri }, options));
        await listen(client, link.drop);
        const { resourceSubscriptions = [] } = streams.get(client)?.honoredFilter ?? {};
        if (!resourceSubscriptions.includes(uri))
          throw new CamelClientError("rejected", `The server doesn't let ${uri} be watched.`, {
            next: "Check that it exists and that you may read it.",
          });
      });
    } catch (error) {
      await end();
      throw error;
    }
    return end;
  };

  return {
    onToolsChanged,
    onResourcesChanged,
    watch,
    async watchAll(wanted, link, changed) {
      const stops = new Map<string, () => Promise<void>>();
      for (const uri of new Set(wanted)) {
        const stop = await watch(uri, link, () => changed(uri)).catch(() => undefined);
        if (stop !== undefined) stops.set(uri, stop);
      }
      return {
        uris: [...stops.keys()],
        stop() {
          for (const stop of stops.values()) void stop();
        },
      };
    },
    attach(client) {
      client.setNotificationHandler("notifications/tools/list_changed", () => onToolsChanged.tell());
      client.setNotificationHandler("notifications/resources/list_changed", () => onResourcesChanged.tell());
      client.setNotificationHandler("notifications/resources/updated", ({ params }) =>
        updated.tell(params.uri),
      );
    },
    async start(client, again, drop) {
      if (client.getProtocolEra() === "modern") await listen(client, drop);
      else for (const uri of uris.keys()) await client.subscribeResource({ uri });
      if (!again) return;
      // Whatever happened while nobody was listening.
      onToolsChanged.tell();
      onResourcesChanged.tell();
      for (const uri of uris.keys()) updated.tell(uri);
    },
  };
}
