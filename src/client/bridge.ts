import { Client } from "@modelcontextprotocol/client";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Server } from "@modelcontextprotocol/server";
import type { Readable, Writable } from "node:stream";
import { systemClock } from "../shared/clock.ts";
import type { Logger } from "../shared/log.ts";
import { VERSION } from "../shared/version.ts";
import {
  createHostServer,
  type HostIdentity,
  type HostQuestions,
  type UpstreamFacts,
} from "./bridge-host.ts";
import { createHostQuestions } from "./bridge-questions.ts";
import { createLink, type Link } from "./link.ts";
import { httpTransport } from "./transports.ts";
import { createWatching } from "./watching.ts";

export interface BridgeOptions {
  url: string;
  token: string | undefined;
  /**
   * What the host sends, one JSON-RPC message a line. `see` is to be told of each: in the 2026 era only there it
   * shows which resources the host watches.
   */
  input(see: (line: Buffer) => void): Readable;
  stdout: Writable;
  log: Logger;
}

export interface Bridge {
  stop(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 15_000;
const PROBE_MS = 5_000;

/**
 * Serves a host on stdio with what a server elsewhere offers. Both sides may be of either protocol era, so nothing
 * is copied byte for byte: each request is taken here and made anew there.
 */
export async function openBridge(options: BridgeOptions): Promise<Bridge> {
  const { log } = options;
  const watching = createWatching();
  const questions = createHostQuestions(systemClock);
  let identity: HostIdentity = { info: { name: "camel-mcp-connect", version: VERSION }, capabilities: {} };
  let facts: UpstreamFacts = { info: identity.info, capabilities: {}, instructions: undefined };

  const link: Link = createLink({
    where: options.url,
    clock: systemClock,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    reconnect: true,
    open() {
      const client = newClient(identity, questions);
      watching.attach(client);
      return { client, transport: httpTransport(options.url, options.token) };
    },
    async onUp(client, again) {
      facts = {
        info: client.getServerVersion() ?? facts.info,
        capabilities: client.getServerCapabilities() ?? {},
        instructions: client.getInstructions(),
      };
      await watching.start(client, again, link.drop);
      if (again) log.warn(`connected to ${options.url} again`);
    },
    onDown: () => log.warn(`lost ${options.url}, trying to come back`),
  });
  // Before the connection is there: a host that leaves meanwhile should be noticed.
  const input = options.input(
    seeSubscriptions(
      (uri) => watching.watch(uri, link).catch(() => {}),
      (uri) => watching.unwatch(uri, link),
    ),
  );
  await link.connect();

  const hosts = new Set<Server>();
  const handle = serveStdio(
    ({ era }) => {
      const server = createHostServer({
        link,
        facts,
        watching,
        questions,
        isModern: era === "modern",
        async identify(host) {
          // A 2026-era server is told with each request; an older one only when a session begins.
          const isNew = JSON.stringify(host) !== JSON.stringify(identity);
          identity = host;
          if (isNew && link.current()?.getProtocolEra() === "legacy") await link.renew();
        },
        onClose: () => hosts.delete(server),
      });
      hosts.add(server);
      return server;
    },
    {
      transport: new StdioServerTransport(input, options.stdout),
      onerror: (error) => log.debug(`host: ${error.message}`),
    },
  );

  const toHosts = (send: (server: Server) => Promise<void>) => (): void => {
    for (const server of hosts) void send(server).catch(() => {});
  };
  watching.onToolsChanged.add(toHosts((server) => server.sendToolListChanged()));
  watching.onResourcesChanged.add(toHosts((server) => server.sendResourceListChanged()));
  watching.onResourceUpdated.add((uri) => toHosts((server) => server.sendResourceUpdated({ uri }))());

  return {
    async stop() {
      questions.close();
      await handle.close();
      await link.close();
    },
  };
}

function newClient({ info, capabilities }: HostIdentity, questions: HostQuestions): Client {
  const client = new Client(info, {
    capabilities,
    versionNegotiation: { mode: "auto", probe: { timeoutMs: PROBE_MS } },
    inputRequired: { autoFulfill: false },
  });
  if (capabilities.elicitation !== undefined)
    client.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) =>
      questions.ask(params, mcpReq.signal),
    );
  return client;
}

/** The 2026 era's `subscriptions/listen` is answered inside the SDK, which tells nobody what it is about. */
function seeSubscriptions(
  watch: (uri: string) => Promise<void>,
  unwatch: (uri: string) => Promise<void>,
): (line: Buffer) => void {
  const streams = new Map<unknown, string[]>();
  return (line) => {
    if (!line.includes("subscriptions/listen") && !line.includes("notifications/cancelled")) return;
    let message: {
      id?: unknown;
      method?: string;
      params?: { requestId?: unknown; notifications?: { resourceSubscriptions?: string[] } };
    };
    try {
      message = JSON.parse(line.toString("utf8")) as typeof message;
    } catch {
      return;
    }
    if (message.method === "subscriptions/listen") {
      const uris = message.params?.notifications?.resourceSubscriptions ?? [];
      streams.set(message.id, uris);
      for (const uri of uris) void watch(uri);
    } else if (message.method === "notifications/cancelled") {
      const id = message.params?.requestId;
      for (const uri of streams.get(id) ?? []) void unwatch(uri);
      streams.delete(id);
    }
  };
}
