import {
  ProtocolError as UpstreamError,
  type Client,
  type ClientCapabilities,
  type ElicitRequest,
  type ElicitResult,
  type Implementation,
  type RequestOptions,
} from "@modelcontextprotocol/client";
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type RequestMethod,
  type Result,
  type ServerCapabilities,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { CamelClientError } from "./errors.ts";
import { NO_TIMEOUT_MS, type Link } from "./link.ts";
import type { Watching } from "./watching.ts";

/** Who the host says it is; the server's policy may match it. */
export interface HostIdentity {
  info: { name: string; version: string };
  capabilities: Pick<ClientCapabilities, "elicitation">;
}

/** Where a request stands that may be carried over several of the host's. */
interface Carried {
  signal: AbortSignal;
  current(): ServerContext | undefined;
}

export interface HostQuestions {
  /** How to ask a host of the 2025 era. */
  useDirect(ask: (params: ElicitRequest["params"], signal: AbortSignal) => Promise<ElicitResult>): void;
  ask(params: ElicitRequest["params"], signal: AbortSignal): Promise<ElicitResult>;
  /** Runs a call that questions may ride on. Undefined: the host came back with a state nobody waits for. */
  carry(context: ServerContext, run: (carried: Carried) => Promise<Result>): Promise<Result | undefined>;
  close(): void;
}

/** What the server said of itself when the connection came up. */
export interface UpstreamFacts {
  info: Implementation;
  capabilities: ServerCapabilities;
  instructions: string | undefined;
}

export interface HostOptions {
  link: Link;
  facts: UpstreamFacts;
  watching: Watching;
  questions: HostQuestions;
  isModern: boolean;
  identify(host: HostIdentity): Promise<void>;
  onClose(): void;
}

const METHODS = {
  tools: ["tools/list", "tools/call"],
  resources: ["resources/list", "resources/templates/list", "resources/read"],
  prompts: ["prompts/list", "prompts/get"],
  completions: ["completion/complete"],
} as const satisfies Partial<Record<keyof ServerCapabilities, RequestMethod[]>>;

const INFO = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** The face the host sees: the server's own name, capabilities and answers. */
export function createHostServer(options: HostOptions): Server {
  const { link, watching, questions, isModern } = options;
  const { info, capabilities: offered, instructions } = options.facts;
  const { tools, resources, prompts, completions } = offered;
  const server = new Server(info, {
    capabilities: {
      ...(tools === undefined ? {} : { tools }),
      ...(resources === undefined ? {} : { resources }),
      ...(prompts === undefined ? {} : { prompts }),
      ...(completions === undefined ? {} : { completions }),
    },
    ...(instructions === undefined ? {} : { instructions }),
  });
  if (!isModern)
    questions.useDirect((params, signal) =>
      server.request({ method: "elicitation/create", params }, { signal, timeout: NO_TIMEOUT_MS }),
    );

  let identified: Promise<HostIdentity> | undefined;
  const identify = (context: ServerContext): Promise<HostIdentity> => {
    identified ??= (async () => {
      const host = identityOf(server, context);
      await options.identify(host);
      return host;
    })().catch((error: unknown) => {
      identified = undefined;
      throw error;
    });
    return identified;
  };

  const forward = async (method: RequestMethod, params: object, context: ServerContext): Promise<Result> => {
    const host = await identify(context);
    const isUpstreamModern = link.current()?.getProtocolEra() === "modern";
    if (method !== "tools/call" || !isModern || isUpstreamModern)
      return send(method, params, host, { signal: context.mcpReq.signal, current: () => context }, context);
    const result = await questions.carry(context, (carried) => send(method, params, host, carried));
    if (result !== undefined) return result;
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      "This requestState is not valid, or no longer. Call again without it.",
    );
  };

  /** `returning`: the request whose answers and state go along, where the server itself takes them. */
  const send = async (
    method: RequestMethod,
    params: object,
    host: HostIdentity,
    carried: Carried,
    returning?: ServerContext,
  ): Promise<Result> => {
    // In order and before the result: hosts forget the token as soon as the result is there.
    let notified = Promise.resolve();
    const onprogress: RequestOptions["onprogress"] = (update) => {
      const now = carried.current();
      notified = notified.then(() => sendProgress(now, update)).catch(() => {});
    };
    const wantsProgress = carried.current()?.mcpReq._meta?.progressToken !== undefined;
    const result = await link.run({ signal: carried.signal, timeoutMs: NO_TIMEOUT_MS }, (client, request) =>
      sendOn(
        client,
        method,
        { ...params, ...paramsFor(client, host, carried, returning) },
        {
          ...request,
          allowInputRequired: true,
          ...(wantsProgress ? { onprogress } : {}),
        },
      ),
    );
    await notified;
    return result;
  };

  for (const [capability, methods] of Object.entries(METHODS)) {
    if (offered[capability as keyof typeof METHODS] === undefined) continue;
    for (const method of methods)
      setHandler(server, method, (request, context) =>
        forward(method, request.params ?? {}, context).catch((error: unknown) => answerError(method, error)),
      );
  }
  const stopWatching =
    resources?.subscribe === true && !isModern ? watchForHost(server, watching, link, identify) : () => {};
  server.onclose = () => {
    stopWatching();
    options.onClose();
  };
  return server;
}

/** The 2025 eras' way; the 2026 era's is in bridge.ts. Returns how to stop. */
function watchForHost(
  server: Server,
  watching: Watching,
  link: Link,
  identify: (context: ServerContext) => Promise<unknown>,
): () => void {
  const watched = new Map<string, () => Promise<void>>();
  server.setRequestHandler("resources/subscribe", async ({ params: { uri } }, context) => {
    await identify(context);
    if (watched.has(uri)) return {};
    try {
      const stop = await watching.watch(
        uri,
        link,
        () => void server.sendResourceUpdated({ uri }).catch(() => {}),
      );
      watched.set(uri, stop);
      return {};
    } catch (error) {
      return answerError("resources/subscribe", error);
    }
  });
  server.setRequestHandler("resources/unsubscribe", async ({ params: { uri } }) => {
    const stop = watched.get(uri);
    watched.delete(uri);
    await stop?.();
    return {};
  });
  return () => {
    for (const stop of watched.values()) void stop();
  };
}

type Handler = (request: { params?: object }, context: ServerContext) => Promise<Result>;

/** The SDK types each method's handler; here one handler serves them all. */
function setHandler(server: Server, method: RequestMethod, handler: Handler): void {
  server.setRequestHandler(method as "tools/call", handler as never);
}

function sendOn(
  client: Client,
  method: RequestMethod,
  params: object,
  options: RequestOptions,
): Promise<Result> {
  return client.request({ method, params: { ...params } }, options);
}

function paramsFor(
  client: Client,
  host: HostIdentity,
  carried: Carried,
  returning: ServerContext | undefined,
): Record<string, unknown> {
  const { progressToken: _, ...meta } = carried.current()?.mcpReq._meta ?? {};
  if (client.getProtocolEra() !== "modern") return { _meta: meta };
  const state = returning?.mcpReq.requestState<string>();
  const responses = returning?.mcpReq.inputResponses;
  return {
    _meta: { ...meta, [INFO]: host.info, [CAPABILITIES]: host.capabilities },
    ...(state === undefined ? {} : { requestState: state }),
    ...(responses === undefined ? {} : { inputResponses: responses }),
  };
}

function identityOf(server: Server, context: ServerContext): HostIdentity {
  const envelope: Record<string, unknown> = { ...context.mcpReq.envelope };
  const info = (envelope[INFO] ?? server.getClientVersion()) as HostIdentity["info"] | undefined;
  const declared =
    (envelope[CAPABILITIES] as ClientCapabilities | undefined) ?? server.getClientCapabilities();
  return {
    info: { name: info?.name ?? "unknown", version: info?.version ?? "0" },
    // Only what this bridge can carry.
    capabilities: declared?.elicitation === undefined ? {} : { elicitation: declared.elicitation },
  };
}

async function sendProgress(
  context: ServerContext | undefined,
  update: { progress: number; total?: number | undefined; message?: string | undefined },
): Promise<void> {
  const { progressToken } = context?.mcpReq._meta ?? {};
  if (context === undefined || progressToken === undefined) return;
  await context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, ...update } });
}

/** An error of the server goes on as it is. One of the connection becomes a tool's result that a model can act on. */
function answerError(method: RequestMethod, error: unknown): Result {
  if (!(error instanceof CamelClientError)) throw error;
  const { cause, code, message, next, retryable } = error;
  if (cause instanceof UpstreamError && code === "rejected")
    throw new ProtocolError(cause.code, cause.message, cause.data);
  const facts = { code, message, retryable, ...(next === undefined ? {} : { next }) };
  if (method !== "tools/call")
    throw new ProtocolError(ProtocolErrorCode.InternalError, `${message} ${next ?? ""}`, facts);
  return {
    isError: true,
    content: [
      { type: "text", text: `Error (${code}): ${message}${next === undefined ? "" : `\nNext: ${next}`}` },
    ],
    structuredContent: { error: facts },
  };
}
