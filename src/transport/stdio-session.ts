import type { Transport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Camel } from "../camel.ts";
import { createAsking } from "../server/ask.ts";
import { createMcpServer, type Peer } from "../server/mcp.ts";
import { watchAll } from "../server/watches.ts";
import { systemClock } from "../shared/clock.ts";
import type { Logger } from "../shared/log.ts";
import { withResourceUpdates } from "./listen.ts";

export interface StdioSession {
  toolsChanged(): void;
  close(): Promise<void>;
}

/** The SDK on one host's connection. Loaded lazily: see stdio-opening.ts. */
export function startSession(
  wire: Transport,
  options: { camel: Camel; version: string; peer: Peer & { depth: number }; log: Logger },
): StdioSession {
  const { camel, peer, log } = options;
  const asking = createAsking({ clock: systemClock });
  const servers = new Set<ReturnType<typeof createMcpServer>>();
  const { transport, stop: stopWatching } = withResourceUpdates(wire, (uris, client, changed) =>
    watchAll(camel.resources, uris, { ...peer, client }, changed),
  );
  const handle = serveStdio(
    () => {
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
        },
        peer,
      );
      servers.add(server);
      return server;
    },
    {
      transport,
      onerror: (error) => log.debug(`stdio: ${error.message}`),
    },
  );
  return {
    toolsChanged() {
      for (const server of servers) void server.sendToolListChanged().catch(() => {});
    },
    async close() {
      stopWatching();
      asking.close();
      await handle.close();
    },
  };
}
