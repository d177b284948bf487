import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { VERSION } from "../shared/version.ts";

/** Where the server is: a command to spawn, or the URL of a running one. */
export type ConnectOptions = {
  /** Name this client gives itself; policy scopes may match it. */
  name?: string;
  /** Called whenever the server says that its list of tools changed. */
  onToolsChanged?: () => void;
} & (
  | {
      command: string;
      args?: readonly string[];
      env?: Record<string, string>;
      cwd?: string;
      onStderr?: (text: string) => void;
    }
  | { url: string | URL; token?: string }
);

export interface CamelTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
}

export interface CamelCallResult {
  text: string;
  structured?: Record<string, unknown>;
  isError: boolean;
}

export interface CallOptions {
  signal?: AbortSignal;
  onProgress?: (update: { progress: number; total?: number; message?: string }) => void;
  timeoutMs?: number;
}

/** A connection to a camel-mcp server. No type of the MCP SDK shows through. */
export interface CamelClient {
  tools(): Promise<CamelTool[]>;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<CamelCallResult>;
  resources(): Promise<{ uri: string; name: string }[]>;
  readResource(uri: string): Promise<string>;
  close(): Promise<void>;
}

export async function connectCamel(options: ConnectOptions): Promise<CamelClient> {
  const client = new Client(
    { name: options.name ?? "camel-mcp-client", version: VERSION },
    {
      versionNegotiation: { mode: "auto", probe: { timeoutMs: 5_000 } },
      ...(options.onToolsChanged === undefined
        ? {}
        : { listChanged: { tools: { autoRefresh: false, onChanged: options.onToolsChanged } } }),
    },
  );
  await client.connect(await transportFor(options));
  return {
    async tools() {
      const { tools } = await client.listTools();
      return tools.map(({ name, title, description, inputSchema, outputSchema, annotations }) => ({
        name,
        inputSchema: { ...inputSchema },
        ...(title === undefined ? {} : { title }),
        ...(description === undefined ? {} : { description }),
        ...(outputSchema === undefined ? {} : { outputSchema: { ...outputSchema } }),
        ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      }));
    },
    async call(name, args = {}, callOptions = {}) {
      const { signal, onProgress, timeoutMs } = callOptions;
      const result = await client.callTool(
        { name, arguments: args },
        {
          ...(signal === undefined ? {} : { signal }),
          ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
          ...(onProgress === undefined
            ? {}
            : {
                onprogress: ({ progress, total, message }) =>
                  onProgress({
                    progress,
                    ...(total === undefined ? {} : { total }),
                    ...(message === undefined ? {} : { message }),
                  }),
              }),
        },
      );
      const text = result.content
        .map((part) => (part.type === "text" ? part.text : `[${part.type}]`))
        .join("\n");
      const structured = result.structuredContent as Record<string, unknown> | undefined;
      return { text, isError: result.isError === true, ...(structured === undefined ? {} : { structured }) };
    },
    async resources() {
      const { resources } = await client.listResources();
      return resources.map(({ uri, name }) => ({ uri, name }));
    },
    async readResource(uri) {
      const { contents } = await client.readResource({ uri });
      return contents.map((content) => ("text" in content ? content.text : "")).join("");
    },
    close: () => client.close(),
  };
}

async function transportFor(options: ConnectOptions): Promise<Parameters<Client["connect"]>[0]> {
  if ("url" in options) {
    return new StreamableHTTPClientTransport(
      new URL(options.url),
      options.token === undefined
        ? {}
        : { requestInit: { headers: { Authorization: `Bearer ${options.token}` } } },
    );
  }
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const { command, args = [], env, cwd, onStderr } = options;
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    stderr: onStderr === undefined ? "ignore" : "pipe",
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (onStderr !== undefined) transport.stderr?.on("data", (chunk: Buffer) => onStderr(chunk.toString()));
  return transport;
}
