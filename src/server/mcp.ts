import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  isInputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { newId } from "../shared/ids.ts";
import { isObject } from "../shared/is-object.ts";
import type { Caller, Progress } from "../tools/context.ts";
import type { Asking } from "./ask.ts";
import { describeFor } from "./describe-tool.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { clientNameOf, identityOf } from "./identity.ts";
import { page } from "./page.ts";
import type { Relisting } from "./relisting.ts";
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
  /** The client's, which may be at several instances. Absent where it is told of no changes. */
  relisting: Relisting | undefined;
  /** Adds to a server what the product itself doesn't offer; the conformance fixtures come in here. */
  extend?: ((server: unknown) => void) | undefined;
}

/** Who is at the other end, as far as the transport knows; the client's name is filled in from the protocol. */
export type Peer = Omit<Caller, "client" | "depth"> & {
  client?: string;
  /** More than 0 for a server that was started inside a job's run. */
  depth?: number;
};

const DEFAULT_AGENT_ROOTS_MS = 2_000;

/**
 * MCP on one side, the dispatcher on the other: the protocol knows no tool, a tool knows no protocol. Cheap and
 * without side effects, because the modern era makes one instance a request and hosts probe with throw-away ones.
 */
export function createMcpServer(options: McpOptions, peer: Peer): Server {
  const { dispatcher, resources, relisting } = options;
  const { serverInfo, ...rest } = identityOf(options.version);
  const server = new Server(serverInfo, rest);
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
    const { cursor } = request.params ?? {};
    const describe = describeFor(caller.client, options.prefix());
    relisting?.listed();
    return page(dispatcher.list(caller), cursor, describe, "tools") ?? badCursor(cursor);
  });

  server.setRequestHandler("tools/call", async (request, context) => {
    const { name, arguments: args } = request.params;
    const caller = callerOf(context);
    const host = textHost(caller.client);
    const usual = options.outputChars();
    const before = relisting?.pending();
    // In order and before the result: clients forget the token as soon as the result is there.
    let notified: Promise<void> | undefined;
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
          notified = (notified ?? Promise.resolve()).then(() => sendProgress(now, update)).catch(() => {});
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
      if (notified !== undefined) await notified;
      return answer;
    });
    if (isInputRequiredResult(result)) return result;
    const fetched = relisting?.pending();
    if (fetched !== before) await fetched;
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
    const { cursor } = request.params ?? {};
    return page(found, cursor, (resource) => resource, "resources") ?? badCursor(cursor);
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
  const info = isObject(envelope) && key in envelope ? envelope[key] : server.getClientVersion();
  return clientNameOf(info);
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

function badCursor(cursor: string | undefined): never {
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `"${cursor}" is not a cursor of this list.`);
}
