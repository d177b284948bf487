import type { Server, Transport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Camel } from "../camel.ts";
import { createAsking } from "../server/ask.ts";
import { createMcpServer, type Peer } from "../server/mcp.ts";
import { createRelisting } from "../server/relisting.ts";
import { watchAll } from "../server/watches.ts";
import { systemClock } from "../shared/clock.ts";
import type { Logger } from "../shared/log.ts";
import { withResourceUpdates } from "./listen.ts";

export interface StdioSession {
  toolsChanged(): void;
  close(): Promise<void>;
}

export interface SessionOptions {
  camel: Camel;
  version: string;
  peer: Peer & { depth: number };
  log: Logger;
  /** The client began with `initialize`, as all did until 2025. */
  isOlder: boolean;
}

/** The SDK on one host's connection. Loaded lazily: see stdio-opening.ts. */
export function startSession(wire: Transport, options: SessionOptions): StdioSession {
  const { camel } = options;
  const asking = createAsking({
    clock: systemClock,
    personSeconds: () => camel.config().settings.approvals.timeoutSeconds,
  });
  const relisting = createRelisting(systemClock);
  const servers = new Set<Server>();
  const makeServer = (): Server => {
    const server = createMcpServer(
      {
        version: options.version,
        dispatcher: camel.dispatcher,
        resources: camel.resources,
        asking,
        prefix: () => camel.config().settings.tools.prefix,
        outputChars: () => camel.config().settings.limits.outputChars,
        ready: () => camel.refresh(),
        onClose: () => servers.delete(server),
        relisting,
      },
      options.peer,
    );
    servers.add(server);
    return server;
  };
  const stop = options.isOlder ? serveOlder(wire, makeServer()) : serveAny(wire, makeServer, options);
  return {
    toolsChanged() {
      relisting.told();
      for (const server of servers) void server.sendToolListChanged().catch(() => {});
    },
    async close() {
      asking.close();
      await stop();
    },
  };
}

/** Its era is settled, so nothing stands between the wire and the server: it would look at each message once more. */
function serveOlder(wire: Transport, server: Server): () => Promise<void> {
  const connected = server.connect(wire);
  return async () => {
    await connected;
    await server.close();
  };
}

/** The first messages decide about the era. */
function serveAny(
  wire: Transport,
  makeServer: () => Server,
  { camel, peer, log }: SessionOptions,
): () => Promise<void> {
  const { transport, stop } = withResourceUpdates(wire, (uris, client, changed) =>
    watchAll(camel.resources, uris, { ...peer, client }, changed),
  );
  const handle = serveStdio(makeServer, {
    transport,
    onerror: (error) => log.debug(`stdio: ${error.message}`),
  });
  return async () => {
    stop();
    await handle.close();
  };
}
