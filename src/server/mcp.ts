import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  isInputRequiredResult,
  type ServerContext,
  type Tool,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { newId } from "../shared/ids.ts";
import type { Caller, Progress } from "../tools/context.ts";
import type { ToolDef } from "../tools/tool.ts";
import type { Asking } from "./ask.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { leanSchema } from "./lean-schema.ts";
import type { MemoryResources, Refused } from "./resources.ts";
import { textHost } from "./text-hosts.ts";
import { MAX_WATCHED } from "./watches.ts";

export interface McpOptions {
  version: string;
  dispatcher: Dispatcher;
  resources: MemoryResources;
  /** One a process: a call may begin on one instance and go on, with its answer, on another. */
  asking: Asking;
  prefix: () => string | undefined;
  /** The configured cap of a result; some hosts take less. */
  outputChars: () => number;
  /** Refreshes the config if its files changed; awaited before anything is listed. The dispatcher does it for calls. */
  ready: () => Promise<void>;
  onClose: () => void;
  /** Adds to a server what the product itself doesn't offer; the conformance fixtures come in here. */
  extend?: ((server: unknown) => void) | undefined;
}

/** Who is at the other end, as far as the transport knows; the client's name is filled in from the protocol. */
export type Peer = Omit<Caller, "client" | "depth"> & {
  client?: string;
  /** More than 0 for a server that was started inside a job's run. */
  depth?: number;
};

const INSTRUCTIONS =
  "Files, memory, schedules and tools under one policy. If a result says denied_by_policy, don't look for a way round it: tell the user.";

const PAGE = 100;
const DEFAULT_AGENT_ROOTS_MS = 2_000;

/**
 * MCP on one side, the dispatcher on the other: the protocol knows no tool, a tool knows no protocol. Cheap and
 * without side effects, because the modern era makes one instance a request and hosts probe with throw-away ones.
 */
export function createMcpServer(options: McpOptions, peer: Peer): Server {
  const { dispatcher, resources } = options;
  const server = new Server(
    { name: "camel-mcp", title: "camel-mcp", version: options.version },
    {
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      instructions: INSTRUCTIONS,
    },
  );
  // Kept: making it anew takes longer than most of what a call does with it.
  let last: Caller | undefined;
  const callerOf = (context: ServerContext): Caller => {
    const client = peer.client ?? clientName(server, context);
    const sessionId = context.sessionId ?? peer.sessionId;
    if (last?.client !== client || last.sessionId !== sessionId)
      last = { ...peer, client, depth: peer.depth ?? 0, sessionId };
    return last;
  };

  let askedRoots: Promise<readonly string[]> | undefined;
  const roots = (): Promise<readonly string[]> => (askedRoots ??= listRoots(server));

  server.setRequestHandler("tools/list", async (request, context) => {
    await options.ready();
    const caller = callerOf(context);
    const tools = dispatcher.list(caller);
    const prefix = options.prefix() ?? "";
    const describe = (tool: ToolDef): Tool => {
      const { outputSchema, ...rest } = describeTool(tool, prefix);
      // Who is promised structured content takes its absence for an error.
      return outputSchema === undefined || textHost(caller.client) !== undefined
        ? rest
        : { ...rest, outputSchema };
    };
    return { ...page(tools, request.params?.cursor, describe, "tools") };
  });

  server.setRequestHandler("tools/call", async (request, context) => {
    const { name, arguments: args } = request.params;
    const caller = callerOf(context);
    const host = textHost(caller.client);
    const usual = options.outputChars();
    // In order and before the result: clients forget the token as soon as the result is there.
    let notified = Promise.resolve();
    const result = await options.asking.run({ name, args, caller }, server, context, async (leg) => {
      const { ask } = leg;
      const answer = await dispatcher.call({
        id: newId("call"),
        name,
        args,
        caller,
        signal: leg.signal,
        roots,
        outputChars: Math.min(host?.outputChars ?? usual, usual),
        progress(update) {
          const now = leg.current();
          notified = notified.then(() => sendProgress(now, update)).catch(() => {});
        },
        ...(ask === undefined
          ? {}
          : {
              ask: async (question, signal) => {
                await notified;
                return ask(question, signal);
              },
            }),
      });
      await notified;
      return answer;
    });
    if (isInputRequiredResult(result)) return result;
    return {
      content: [{ type: "text", text: result.text }],
      ...(result.structured === undefined || host !== undefined
        ? {}
        : { structuredContent: result.structured }),
      ...(result.isError === true ? { isError: true } : {}),
    };
  });

  server.setRequestHandler("resources/list", async (request, context) => {
    await options.ready();
    const found = await resources.list(callerOf(context), roots);
    return page(found, request.params?.cursor, (resource) => resource, "resources");
  });
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [
      {
        uriTemplate: "memory:///{+path}",
        name: "memory",
        title: "Memory file",
        description: "MEMORY.md or memory/…",
        mimeType: "text/markdown",
      },
    ],
  }));
  server.setRequestHandler("resources/read", async (request, context) => {
    await options.ready();
    const result = await resources.read(request.params.uri, callerOf(context), context.mcpReq.signal, roots);
    if ("error" in result) throw resourceError(request.params.uri, result);
    return { contents: [{ uri: request.params.uri, mimeType: "text/markdown", text: result.text }] };
  });

  // The 2025 eras subscribe a resource at a time; the 2026 era's subscriptions/listen is the transports' business.
  const subscriptions = new Map<string, () => void>();
  server.setRequestHandler("resources/subscribe", async (request, context) => {
    await options.ready();
    const { uri } = request.params;
    if (subscriptions.has(uri)) return {};
    if (subscriptions.size >= MAX_WATCHED)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `At most ${MAX_WATCHED} resources can be followed. Unsubscribe from one first.`,
      );
    const watched = await resources.watch(uri, callerOf(context), roots, () => {
      void server.sendResourceUpdated({ uri }).catch(() => {});
    });
    if ("error" in watched) throw resourceError(uri, watched);
    // The same one may have been asked for twice at once.
    subscriptions.get(uri)?.();
    subscriptions.set(uri, watched.stop);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", (request) => {
    subscriptions.get(request.params.uri)?.();
    subscriptions.delete(request.params.uri);
    return {};
  });
  server.onclose = () => {
    for (const stop of subscriptions.values()) stop();
    subscriptions.clear();
    options.onClose();
  };
  options.extend?.(server);
  return server;
}

async function sendProgress(context: ServerContext | undefined, update: Progress): Promise<void> {
  const { progressToken } = context?.mcpReq._meta ?? {};
  if (context === undefined || progressToken === undefined) return;
  await context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, ...update } });
}

function clientName(server: Server, context: ServerContext): string {
  const envelope: unknown = context.mcpReq.envelope;
  const key = "io.modelcontextprotocol/clientInfo";
  const info =
    typeof envelope === "object" && envelope !== null && key in envelope
      ? envelope[key as never]
      : server.getClientVersion();
  return clientNameOf(info);
}

/** From what a client says about itself, which may be anything. */
export function clientNameOf(info: unknown): string {
  const name = typeof info === "object" && info !== null && "name" in info ? info.name : undefined;
  return typeof name === "string" ? name.toLowerCase().slice(0, 100) : "unknown";
}

/** The folders a 2025-era client says are open. The 2026 era has no such question. A client may never answer. */
async function listRoots(server: Server): Promise<readonly string[]> {
  if (server.getClientCapabilities()?.roots === undefined) return [];
  try {
    const { roots } = await server.listRoots(undefined, { timeout: DEFAULT_AGENT_ROOTS_MS });
    return roots.map((root) => root.uri);
  } catch {
    return [];
  }
}

function resourceError(uri: string, { error, notFound }: Refused): ProtocolError {
  const code = notFound ? ProtocolErrorCode.ResourceNotFound : ProtocolErrorCode.InvalidParams;
  return new ProtocolError(code, error, { uri });
}

const described = new WeakMap<ToolDef, Omit<Tool, "name">>();

/** A tool as hosts see it; every annotation explicit, because hosts decide on missing ones differently. */
export function describeTool(tool: ToolDef, prefix = ""): Tool {
  let rest = described.get(tool);
  if (rest === undefined) {
    rest = {
      title: tool.title,
      description: tool.description,
      inputSchema:
        tool.inputSchema === undefined
          ? jsonSchema(tool.schema, "input")
          : { ...tool.inputSchema, type: "object" },
      ...(tool.output === undefined ? {} : { outputSchema: outputSchemaOf(tool.output) }),
      annotations: {
        title: tool.title,
        readOnlyHint: tool.effect === "read",
        destructiveHint: tool.destructive ?? tool.effect !== "read",
        idempotentHint: tool.idempotent ?? false,
        openWorldHint: tool.openWorld ?? (tool.effect === "network" || tool.effect === "exec"),
      },
    };
    described.set(tool, rest);
  }
  return { name: prefix + tool.name, ...rest };
}

function jsonSchema(schema: z.ZodObject, io: "input" | "output"): { type: "object"; [key: string]: unknown } {
  const { $schema: _, additionalProperties: _unused, ...rest } = leanSchema(z.toJSONSchema(schema, { io }));
  // No additionalProperties: a boolean or empty schema makes some hosts drop every tool of the server.
  return { ...rest, type: "object" };
}

/**
 * Nothing is required in it: 1.x clients check the structured content of errors against it too, and would turn an
 * error that says what to do next into one of the protocol that doesn't.
 */
function outputSchemaOf(output: z.ZodObject): { type: "object"; [key: string]: unknown } {
  const { required: _, ...rest } = jsonSchema(output, "output");
  return rest;
}

/** A cursor is the index to go on at; anything else a client sends as one is its mistake. */
function page<T, U, K extends string>(
  items: readonly T[],
  cursor: string | undefined,
  map: (item: T) => U,
  key: K,
): Record<K, U[]> & { nextCursor?: string } {
  const start = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isInteger(start) || start < 0 || start > items.length) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `"${cursor}" is not a cursor of this list.`);
  }
  const end = start + PAGE;
  const result = { [key]: items.slice(start, end).map(map) } as Record<K, U[]>;
  return end < items.length ? { ...result, nextCursor: String(end) } : result;
}
