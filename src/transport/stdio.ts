import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Readable, Writable } from "node:stream";
import type { Camel } from "../camel.ts";
import { createAsking } from "../server/ask.ts";
import { createMcpServer } from "../server/mcp.ts";
import { systemClock } from "../shared/clock.ts";
import { watchAll } from "../server/watches.ts";
import type { Logger } from "../shared/log.ts";
import { MAX_MESSAGE_BYTES } from "./line-guard.ts";
import { withResourceUpdates } from "./listen.ts";
import { createStdioWire } from "./stdio-wire.ts";

export interface StdioOptions {
  camel: Camel;
  version: string;
  agentId: string;
  /** More than 0 inside a job's run. */
  depth?: number;
  stdin: Readable;
  stdout: Writable;
  log: Logger;
}

/** Serves one host on stdin and stdout. Resolves when the host has gone (end of stdin) or `stop` was called. */
export function serveOnStdio(options: StdioOptions): {
  done: Promise<void>;
  stop: () => Promise<void>;
} {
  const { camel, log, stdin, stdout } = options;
  // One a process, and a name for the log rather than a secret: random bytes would load node:crypto at every start.
  const sessionId = `ses_${process.pid.toString(16)}_${Date.now().toString(16)}`;
  const asking = createAsking({ clock: systemClock });
  const servers = new Set<ReturnType<typeof createMcpServer>>();
  const wire = createStdioWire({
    stdin,
    stdout,
    maxBytes: MAX_MESSAGE_BYTES,
    refuse(code, message) {
      log.warn(message);
      stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } })}\n`);
    },
  });
  const peer = {
    agentId: options.agentId,
    transport: "stdio",
    sessionId,
    depth: options.depth ?? 0,
  } as const;
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
  const stopListening = camel.onToolsChanged(() => {
    for (const server of servers) void server.sendToolListChanged().catch(() => {});
  });

  let finish = (): void => {};
  const ended = new Promise<void>((resolve) => (finish = resolve));
  // All three: hosts end a server by closing the pipe, and a pipe can break instead of ending.
  stdin.once("end", finish);
  stdin.once("close", finish);
  stdin.once("error", finish);
  stdout.once("error", finish);

  const stop = async (): Promise<void> => {
    finish();
    stopListening();
    stopWatching();
    asking.close();
    await handle.close();
    await camel.close();
  };
  return { done: ended.then(stop), stop };
}
