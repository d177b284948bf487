import { Client } from "@modelcontextprotocol/client";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Server, Transport } from "@modelcontextprotocol/server";
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
  /** The host's. */
  wire: Transport;
  log: Logger;
  followResources: FollowResources;
}

/** Lets a 2026-era host on this wire watch resources: the SDK answers its request without telling anybody. */
type FollowResources = (
  wire: Transport,
  watch: (
    uris: readonly string[],
    client: string,
    changed: (uri: string) => void,
  ) => Promise<{ uris: string[]; stop(): void }>,
) => { transport: Transport; stop: () => void };

export interface Bridge {
  stop(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 15_000;

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
  await link.connect();

  const hosts = new Set<Server>();
  const { transport, stop: stopWatching } = options.followResources(options.wire, (uris, _client, changed) =>
    watching.watchAll(uris, link, changed),
  );
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
      transport,
      onerror: (error) => log.debug(`host: ${error.message}`),
    },
  );

  const toHosts = (send: (server: Server) => Promise<void>) => (): void => {
    for (const server of hosts) void send(server).catch(() => {});
  };
  watching.onToolsChanged.add(toHosts((server) => server.sendToolListChanged()));
  watching.onResourcesChanged.add(toHosts((server) => server.sendResourceListChanged()));

  return {
    async stop() {
      questions.close();
      stopWatching();
      await handle.close();
      await link.close();
    },
  };
}

function newClient({ info, capabilities }: HostIdentity, questions: HostQuestions): Client {
  const client = new Client(info, {
    capabilities,
    versionNegotiation: { mode: "auto", probe: { timeoutMs: CONNECT_TIMEOUT_MS } },
    inputRequired: { autoFulfill: false },
  });
  if (capabilities.elicitation !== undefined)
    client.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) =>
      questions.ask(params, mcpReq.signal),
    );
  return client;
}
