import type { Readable, Writable } from "node:stream";
import type { Camel } from "../camel.ts";
import { describeFor } from "../server/describe-tool.ts";
import { clientNameOf, identityOf } from "../server/identity.ts";
import { page } from "../server/page.ts";
import { silentLogger, type Logger } from "../shared/log.ts";
import { VERSION } from "../shared/version.ts";
import { hostGone } from "./host-gone.ts";
import { MAX_MESSAGE_BYTES } from "./line-guard.ts";
import { openLazily } from "./stdio-opening.ts";
import type { StdioSession } from "./stdio-session.ts";
import { createStdioWire } from "./stdio-wire.ts";

export interface StdioOptions {
  camel: Camel;
  /** What the server says it is; default: this package's version. */
  version?: string;
  agentId?: string;
  /** More than 0 inside a job's run. */
  depth?: number;
  /** Default: those of the process. */
  stdin?: Readable;
  stdout?: Writable;
  log?: Logger;
}

/** Serves one host on stdin and stdout. Resolves when the host has gone (end of stdin) or `stop` was called. */
export function serveOnStdio(options: StdioOptions): {
  done: Promise<void>;
  stop: () => Promise<void>;
} {
  const { camel, stdin = process.stdin, stdout = process.stdout } = options;
  const { version = VERSION, agentId = "main", depth = 0, log = silentLogger } = options;
  // One a process, and a name for the log rather than a secret: random bytes would load node:crypto at every start.
  const sessionId = `ses_${process.pid.toString(16)}_${Date.now().toString(16)}`;
  const wire = createStdioWire({
    stdin,
    stdout,
    maxBytes: MAX_MESSAGE_BYTES,
    refuse(code, message, id = null) {
      log.warn(message);
      stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`);
    },
  });
  const peer = {
    agentId,
    transport: "stdio",
    sessionId,
    depth,
  } as const;
  let session: StdioSession | undefined;
  const opening = openLazily({
    wire,
    log,
    identity: identityOf(version),
    async listTools(clientInfo) {
      await camel.refresh();
      const client = clientNameOf(clientInfo);
      const tools = camel.dispatcher.list({ ...peer, client });
      const describe = describeFor(client, camel.config().settings.tools.prefix);
      return { ...page(tools, undefined, describe, "tools") };
    },
    async load() {
      const { startSession } = await import("./stdio-session.ts");
      return (transport, isOlder) => {
        session = startSession(transport, { camel, version, peer, log, isOlder });
      };
    },
  });
  const stopListening = camel.onToolsChanged(() => (session ?? opening).toolsChanged());

  let finish = (): void => {};
  const ended = new Promise<void>((resolve) => (finish = resolve));
  void hostGone({ stdin, stdout, wire }).then(finish);

  const stop = async (): Promise<void> => {
    finish();
    stopListening();
    await (session ?? opening).close();
    await camel.close();
  };
  return { done: ended.then(stop), stop };
}
