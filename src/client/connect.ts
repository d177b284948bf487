import { Client, type Transport } from "@modelcontextprotocol/client";
import { systemClock, type Clock } from "../shared/clock.ts";
import { VERSION } from "../shared/version.ts";
import { CamelClientError } from "./errors.ts";
import { createLink, type Link } from "./link.ts";
import { StdioTransport, httpTransport } from "./transports.ts";
import type { CamelClient, ConnectBase, ConnectOptions } from "./types.ts";
import { createWatching } from "./watching.ts";

const CONNECT_TIMEOUT_MS = 30_000;
const PROBE_MS = 5_000;

/** Unlike the server's, these timers keep the process alive: a script that listens must outlast a server's restart. */
const clock: Clock = {
  ...systemClock,
  setTimeout(callback, milliseconds) {
    const timer = setTimeout(callback, milliseconds);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Connects to a server: one it starts (`command`), or one that runs (`url`). Speaks both protocol eras. */
export async function connectCamel(options: ConnectOptions): Promise<CamelClient> {
  const where = targetOf(options);
  const connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  // On a pipe silence means an older server, at an address it means none.
  const probeMs = "url" in options ? connectTimeoutMs : Math.min(connectTimeoutMs, PROBE_MS);
  const watching = createWatching();
  const link = createLink({
    where,
    clock,
    connectTimeoutMs,
    reconnect: options.reconnect ?? true,
    open() {
      const client = newClient(options, probeMs, () => link.hold());
      watching.attach(client);
      return { client, transport: transportFor(options) };
    },
    async onUp(client, again) {
      await watching.start(client, again, link.drop);
      options.onConnection?.("connected");
    },
    onDown: () => options.onConnection?.("lost"),
  });
  await link.connect();
  return clientOver(link, watching);
}

/** The URL or the command, for messages; whoever writes JavaScript has no compiler to check it. */
function targetOf(options: ConnectOptions | undefined): string {
  const { url, command }: { url?: string | URL; command?: string } = options ?? {};
  const address = url === undefined ? undefined : String(url);
  if (address !== undefined && /^https?:/.test(address) && URL.canParse(address)) return address;
  if (address === undefined && typeof command === "string" && command !== "") return command;
  throw new CamelClientError(
    "rejected",
    address === undefined
      ? "There is nothing to connect to."
      : `"${address}" is not an http or https address.`,
    { next: 'Give { command: "npx", args: ["-y", "camel-mcp"] } or { url: "http://127.0.0.1:7800/mcp" }.' },
  );
}

function clientOver(link: Link, watching: ReturnType<typeof createWatching>): CamelClient {
  return {
    async tools() {
      const { tools } = await link.run({}, (client, request) =>
        client.listTools(undefined, { ...request, cacheMode: "refresh" }),
      );
      return tools.map(({ name, title, description, inputSchema, outputSchema, annotations }) => ({
        name,
        inputSchema: { ...inputSchema },
        ...(title === undefined ? {} : { title }),
        ...(description === undefined ? {} : { description }),
        ...(outputSchema === undefined ? {} : { outputSchema: { ...outputSchema } }),
        ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      }));
    },
    async call(name, args = {}, { signal, onProgress, timeoutMs } = {}) {
      const result = await link.run({ signal, timeoutMs }, (client, request, alive) =>
        client.callTool(
          { name, arguments: args },
          {
            ...request,
            onprogress({ progress, total, message }) {
              alive();
              onProgress?.({
                progress,
                ...(total === undefined ? {} : { total }),
                ...(message === undefined ? {} : { message }),
              });
            },
          },
        ),
      );
      const text = result.content
        .map((part) => (part.type === "text" ? part.text : `[${part.type}]`))
        .join("\n");
      const structured = result.structuredContent as Record<string, unknown> | undefined;
      return { text, isError: result.isError === true, ...(structured === undefined ? {} : { structured }) };
    },
    async resources() {
      const { resources } = await link.run({}, (client, request) =>
        client.listResources(undefined, { ...request, cacheMode: "refresh" }),
      );
      return resources.map(({ uri, name, title, description, mimeType }) => ({
        uri,
        name,
        ...(title === undefined ? {} : { title }),
        ...(description === undefined ? {} : { description }),
        ...(mimeType === undefined ? {} : { mimeType }),
      }));
    },
    async readResource(uri) {
      const { contents } = await link.run({}, (client, request) =>
        client.readResource({ uri }, { ...request, cacheMode: "bypass" }),
      );
      return contents.map((content) => textOf(uri, content)).join("");
    },
    onToolsChanged: (listener) => watching.onToolsChanged.add(listener),
    onResourceUpdated: (uri, listener) => watching.watch(uri, link, listener),
    close: () => link.close(),
  };
}

function textOf(uri: string, content: { text: string } | { blob: string }): string {
  if ("text" in content) return content.text;
  throw new CamelClientError("rejected", `${uri} is not text.`, {
    next: "Read a resource with a text type.",
  });
}

function newClient({ name, onAsk }: ConnectBase, probeMs: number, hold: () => () => void): Client {
  const client = new Client(
    { name: name ?? "camel-mcp-client", version: VERSION },
    {
      versionNegotiation: { mode: "auto", probe: { timeoutMs: probeMs } },
      ...(onAsk === undefined ? {} : { capabilities: { elicitation: { form: {} } } }),
    },
  );
  if (onAsk === undefined) return client;
  client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) => {
    if (params.mode === "url") return { action: "decline" };
    const release = hold();
    try {
      const { action, content } = await onAsk(
        { message: params.message, schema: { ...params.requestedSchema } },
        { signal: mcpReq.signal },
      );
      return { action, ...(content === undefined ? {} : { content }) };
    } catch {
      // Whoever should have answered failed: that is no yes and no no.
      return { action: "cancel" };
    } finally {
      release();
    }
  });
  return client;
}

function transportFor(options: ConnectOptions): Transport {
  if ("url" in options) return httpTransport(options.url, options.token);
  const { command, args = [], env, cwd, agent, onStderr } = options;
  const transport = new StdioTransport({
    command,
    args: [...args],
    stderr: onStderr === undefined ? "ignore" : "pipe",
    env: { ...env, ...(agent === undefined ? {} : { CAMELAGI_AGENT: agent }) },
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (onStderr !== undefined) transport.stderr?.on("data", (chunk: Buffer) => onStderr(chunk.toString()));
  return transport;
}
