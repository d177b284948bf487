import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { Client as ModernClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport as OldStdioTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHttpTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import { createCamel, type Camel, type CamelOptions } from "../src/camel.ts";
import type { Call, ToolResult } from "../src/pipeline/call.ts";
import { newId } from "../src/shared/ids.ts";
import { serveOnHttp, type HttpServer } from "../src/transport/http.ts";
import { tempFolder } from "./temp-folder.ts";

export const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

export interface Sandbox {
  home: string;
  workspace: string;
  /** Writes a file below the sandbox (`workspace/a.txt`, `home/config.yaml`) and returns its path. */
  write(path: string, content: string | Uint8Array): Promise<string>;
}

/** A throw-away home and workspace; removed when the test ends. */
export async function sandbox(files: Record<string, string | Uint8Array> = {}): Promise<Sandbox> {
  const root = await tempFolder("test");
  const write = async (path: string, content: string | Uint8Array): Promise<string> => {
    const full = join(root, path);
    await mkdir(dirname(full), { recursive: true });
    await writeFile(full, content);
    return full;
  };
  await mkdir(join(root, "home"));
  await mkdir(join(root, "workspace"));
  for (const [path, content] of Object.entries(files)) await write(path, content);
  return { home: join(root, "home"), workspace: join(root, "workspace"), write };
}

/** With nothing of this machine's environment. */
function createIn(box: Sandbox, options: CamelOptions): Promise<Camel> {
  const { home, workspace } = box;
  return createCamel({ home, workspace, env: {}, cwd: workspace, ...options });
}

/** The whole product in this process, without a transport. */
export async function startCamel(box: Sandbox, options: CamelOptions = {}): Promise<Camel> {
  const camel = await createIn(box, options);
  onTestFinished(() => camel.close());
  return camel;
}

export function callOf(name: string, args: unknown, over: Partial<Call["caller"]> = {}): Call {
  return {
    id: newId("call"),
    name,
    args,
    caller: {
      agentId: "main",
      depth: 0,
      client: "test",
      transport: "library",
      sessionId: "ses_test",
      ...over,
    },
    signal: new AbortController().signal,
  };
}

export function call(
  camel: Camel,
  name: string,
  args: unknown,
  over: Partial<Call["caller"]> = {},
): Promise<ToolResult> {
  return camel.dispatcher.call(callOf(name, args, over));
}

export async function startHttp(
  box: Sandbox,
  options: CamelOptions = {},
  wrap: (camel: Camel) => Camel = (camel) => camel,
): Promise<HttpServer & { camel: Camel }> {
  const camel = await createIn(box, options);
  const server = await serveOnHttp({
    camel: wrap(camel),
    version: "0.0.0-test",
    port: 0,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  onTestFinished(() => server.stop());
  return { ...server, camel };
}

/** The clients that hosts are built on: both generations, both eras, each over every transport it has. */
export const CLIENTS = [
  "1.x stdio",
  "1.x http",
  "1.x sse",
  "2.x legacy stdio",
  "2.x legacy http",
  "2.x modern stdio",
  "2.x modern http",
] as const;

export type ClientKind = (typeof CLIENTS)[number];

/** The few things both client generations do in the same words. */
export interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(
    request: { name: string; arguments?: Record<string, unknown> },
    options?: { signal?: AbortSignal; onprogress?: (update: { progress: number }) => void },
  ): Promise<{ content: { type: string; text?: string }[]; structuredContent?: unknown; isError?: boolean }>;
  listResources(): Promise<{ resources: { uri: string; name: string }[] }>;
  readResource(uri: string): Promise<{ contents: { text?: string }[] }>;
  /** Asks to hear of changes of a resource, in the words of the client's era; returns how to stop. */
  follow(uri: string, changed: () => void): Promise<() => Promise<unknown>>;
  close(): Promise<void>;
}

export interface Asked {
  message: string;
  requestedSchema: Record<string, unknown>;
}

export interface ConnectOptions {
  /** With it the client declares elicitation. */
  onAsk?: (
    asked: Asked,
    signal: AbortSignal,
  ) => Promise<{ action: "accept" | "decline" | "cancel"; content?: Record<string, string | boolean> }>;
  onToolsChanged?: () => void;
  /** Use this running HTTP server, or this script over stdio, instead of the plain product. */
  url?: string;
  /** Bearer token for HTTP; 2.x clients only. */
  token?: string;
  script?: readonly string[];
  /** What the client calls itself. */
  name?: string;
}

export async function connect(
  kind: ClientKind,
  box: Sandbox,
  { onToolsChanged, onAsk, url, token, script, name = "interop" }: ConnectOptions = {},
): Promise<AnyClient> {
  const [generation = "", ...rest] = kind.split(" ");
  const over = rest.at(-1);
  const base = over === "stdio" ? undefined : (url ?? (await startHttp(box)).url);
  const command = {
    command: process.execPath,
    args: [...(script ?? [CLI, "--home", box.home, "--workspace", box.workspace])],
    stderr: "ignore" as const,
  };
  const info = { name, version: "1.0.0" };
  const capabilities = onAsk === undefined ? {} : { capabilities: { elicitation: { form: {} } } };
  if (generation === "1.x") {
    const client = new OldClient(info, {
      ...capabilities,
      ...(onToolsChanged === undefined
        ? {}
        : { listChanged: { tools: { autoRefresh: false, onChanged: onToolsChanged } } }),
    });
    if (onAsk !== undefined)
      client.setRequestHandler(ElicitRequestSchema, (request, { signal }) =>
        onAsk(request.params as unknown as Asked, signal),
      );
    const transport =
      base === undefined
        ? new OldStdioTransport(command)
        : over === "sse"
          ? new SSEClientTransport(new URL(`${base}/sse`))
          : new OldHttpTransport(new URL(`${base}/mcp`));
    await client.connect(transport);
    onTestFinished(() => client.close());
    return {
      listTools: () => client.listTools(),
      callTool: (request, options) =>
        client.callTool(request, undefined, options) as ReturnType<AnyClient["callTool"]>,
      listResources: () => client.listResources(),
      readResource: (uri) => client.readResource({ uri }) as ReturnType<AnyClient["readResource"]>,
      follow: async (uri, changed) => {
        client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
          if (params.uri === uri) changed();
        });
        await client.subscribeResource({ uri });
        return () => client.unsubscribeResource({ uri });
      },
      close: () => client.close(),
    };
  }
  const client = new ModernClient(info, {
    ...capabilities,
    versionNegotiation: { mode: rest[0] === "modern" ? { pin: "2026-07-28" } : "legacy" },
    ...(onToolsChanged === undefined
      ? {}
      : { listChanged: { tools: { autoRefresh: false, onChanged: onToolsChanged } } }),
  });
  if (onAsk !== undefined)
    client.setRequestHandler("elicitation/create", (request, { mcpReq }) =>
      onAsk(request.params as unknown as Asked, mcpReq.signal),
    );
  await client.connect(
    base === undefined
      ? new StdioClientTransport(command)
      : new StreamableHTTPClientTransport(new URL(`${base}/mcp`), {
          requestInit: { headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } },
        }),
  );
  onTestFinished(() => client.close());
  return {
    listTools: () => client.listTools(),
    callTool: (request, options) => client.callTool(request, options) as ReturnType<AnyClient["callTool"]>,
    listResources: () => client.listResources(),
    readResource: (uri) => client.readResource({ uri }) as ReturnType<AnyClient["readResource"]>,
    follow: async (uri, changed) => {
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
        if (params.uri === uri) changed();
      });
      if (rest[0] === "legacy") {
        await client.subscribeResource({ uri });
        return () => client.unsubscribeResource({ uri });
      }
      const listening = await client.listen({ resourceSubscriptions: [uri] });
      if (listening.honoredFilter.resourceSubscriptions?.includes(uri) !== true)
        throw new Error(`${uri} is not followed`);
      return () => listening.close();
    },
    close: () => client.close(),
  };
}

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the built CLI to its end, with nothing of this machine's environment but PATH. */
export function runCli(
  args: readonly string[],
  box: Sandbox,
  { stdin = "", env = {} }: { stdin?: string; env?: Record<string, string> } = {},
): Promise<CliResult> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [CLI, ...args],
      {
        cwd: box.workspace,
        env: { PATH: process.env["PATH"], HOME: box.home, CAMELAGI_HOME: box.home, ...env },
        maxBuffer: 50_000_000,
      },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end(stdin);
  });
}

/** The same on a pseudo-terminal, as a person at a keyboard; what it prints, to either stream, is in `stdout`. */
export function atTerminal(args: readonly string[], box: Sandbox, typed: string): Promise<CliResult> {
  const command = [process.execPath, CLI, ...args].map((word) => `'${word}'`).join(" ");
  return new Promise((resolve) => {
    const child = execFile(
      "/usr/bin/script",
      ["-qec", command, "/dev/null"],
      { cwd: box.workspace, env: { PATH: process.env["PATH"], HOME: box.home, CAMELAGI_HOME: box.home } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
    // One line for each question: what is typed before a question is asked would be lost.
    const lines = typed.split("\n").slice(0, -1);
    let shown = "";
    child.stdout?.on("data", (text: string) => {
      // Without what moves the cursor.
      shown += stripVTControlCharacters(text);
      if (!/(?:N\]|PIN|it\)|Again|nothing):? $/.test(shown)) return;
      shown = "";
      child.stdin?.write(`${lines.shift() ?? ""}\n`);
    });
  });
}

/** Whether the process runs; one that is dead but not yet collected by its parent doesn't. */
export async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return !/\) Z /.test(stat);
}
