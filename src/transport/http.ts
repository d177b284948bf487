import {
  NodeStreamableHTTPServerTransport,
  hostHeaderValidation,
  originValidation,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  classifyInboundRequest,
  type AuthInfo,
  type McpHttpHandler,
  type Server,
} from "@modelcontextprotocol/server";
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Camel } from "../camel.ts";
import { createAsking } from "../server/ask.ts";
import { createMcpServer, type Peer } from "../server/mcp.ts";
import { watchAll } from "../server/watches.ts";
import type { Clock } from "../shared/clock.ts";
import { CamelError, toCamelError } from "../shared/errors.ts";
import { newId } from "../shared/ids.ts";
import type { Logger } from "../shared/log.ts";
import type { TokenRecord, TokenStore } from "../stores/tokens.ts";
import { clientOfListen, parseListen, type Listen } from "./listen.ts";

export interface HttpOptions {
  camel: Camel;
  version: string;
  /** Identity of callers without a token; they are let in only on loopback and only while no token exists. */
  agentId: string;
  host: string;
  port: number;
  tokens: TokenStore;
  clock: Clock;
  log: Logger;
  /** Gets each MCP server that is made, as the SDK's own object; the conformance fixtures come in here. */
  extend?: ((server: unknown) => void) | undefined;
}

export interface HttpServer {
  url: string;
  stop: () => Promise<void>;
}

interface Session {
  server: Server;
  owner: string;
  lastUsed: number;
  close(): Promise<void>;
  handle(req: IncomingMessage, res: ServerResponse, body: unknown): Promise<void>;
}

const LOOPBACK = ["127.0.0.1", "localhost", "::1", "[::1]"];

export async function serveOnHttp(options: HttpOptions): Promise<HttpServer> {
  const { camel, clock, log, tokens } = options;
  const settings = (): ReturnType<Camel["config"]>["settings"]["http"] => camel.config().settings.http;
  const isLoopback = LOOPBACK.includes(options.host);
  if (!isLoopback && !(await tokens.list()).some((token) => token.revoked === undefined)) {
    throw new CamelError(
      "unauthorized",
      `Listening on ${options.host} needs at least one token, and there is none.`,
      {
        next: "Make one with `camel-mcp token create --agent ID`, or listen on 127.0.0.1.",
      },
    );
  }

  const hostNames = [...LOOPBACK, bracketed(options.host), ...settings().allowedHosts];
  const validHost = hostHeaderValidation(hostNames);
  const validOrigin = originValidation([...LOOPBACK, ...settings().allowedOrigins]);

  const asking = createAsking({ clock });
  const newServer = (peer: Peer, onClose: () => void = () => {}): Server =>
    createMcpServer(
      {
        version: options.version,
        dispatcher: camel.dispatcher,
        resources: camel.resources,
        asking,
        prefix: () => camel.config().settings.tools.prefix,
        outputChars: () => camel.config().settings.limits.outputChars,
        ready: () => camel.refresh(),
        onClose,
        extend: options.extend,
      },
      peer,
    );
  const peerOf = (transport: "http" | "sse", sessionId: string, token: TokenRecord | undefined): Peer => ({
    agentId: token?.agent ?? options.agentId,
    transport,
    sessionId,
    ...(token === undefined ? {} : { token: token.scope ?? token.id }),
  });

  // 2026-07-28: one instance a request. Everything older has sessions, below.
  const newModern = (): McpHttpHandler =>
    // No sessions there: what is kept for one (limits, approvals) is kept for the token while the server lives.
    createMcpHandler(
      ({ authInfo }) =>
        newServer(peerOf("http", `ses_${tokenOf(authInfo)?.id ?? "local"}`, tokenOf(authInfo))),
      {
        legacy: "reject",
        maxRequestBodySize: settings().maxBodyBytes,
        onerror: (error) => log.debug(`http: ${error.message}`),
      },
    );
  const modern = newModern();
  const modernNode = toNodeHandler(modern, { maxRequestBodySize: settings().maxBodyBytes });

  // A stream of changes has a handler of its own: one agent's MEMORY.md is not another's, though the name is.
  const streams = new Set<McpHttpHandler>();
  const listen = async (
    req: IncomingMessage,
    res: ServerResponse,
    body: Listen,
    token: TokenRecord | undefined,
  ): Promise<void> => {
    const handler = newModern();
    const { notifications } = body.params;
    const watched = await watchAll(
      camel.resources,
      notifications.resourceSubscriptions ?? [],
      { ...peerOf("http", newId("ses"), token), client: clientOfListen(body), depth: 0 },
      (uri) => handler.notify.resourceUpdated(uri),
    );
    streams.add(handler);
    const end = (): void => {
      watched.stop();
      streams.delete(handler);
      void handler.close().catch(() => {});
    };
    if (res.closed) return end();
    res.once("close", end);
    const granted = { ...notifications, resourceSubscriptions: watched.uris };
    const request = { ...body, params: { ...body.params, notifications: granted } };
    return toNodeHandler(handler)(req as Parameters<typeof modernNode>[0], res, request);
  };

  const sessions = new Map<string, Session>();
  const evictIdle = (): void => {
    const oldest = clock.monotonic() - settings().idleSeconds * 1000;
    for (const [id, session] of sessions) if (session.lastUsed < oldest) drop(id);
  };
  const drop = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    void session?.close().catch(() => {});
  };
  const admit = (id: string, session: Session): void => {
    evictIdle();
    // Full: the longest unused goes, so that forgotten sessions can't lock everybody out.
    while (sessions.size >= settings().maxSessions) {
      const [victim] = [...sessions].sort(([, a], [, b]) => a.lastUsed - b.lastUsed);
      if (victim === undefined) break;
      drop(victim[0]);
    }
    sessions.set(id, session);
  };
  let sweeping = sweep();
  function sweep(): { cancel(): void } {
    return clock.setTimeout(() => {
      evictIdle();
      sweeping = sweep();
    }, 30_000);
  }

  const legacy = async (
    req: IncomingMessage,
    res: ServerResponse,
    body: unknown,
    token: TokenRecord | undefined,
  ): Promise<void> => {
    const given = req.headers["mcp-session-id"];
    if (typeof given === "string") {
      const session = sessions.get(given);
      // Somebody else's session is answered like a missing one: nothing is told about it.
      if (session === undefined || session.owner !== ownerOf(token))
        return refuse(res, 404, -32_001, "Session not found. Start a new one with initialize.");
      session.lastUsed = clock.monotonic();
      return session.handle(req, res, body);
    }
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        admit(id, {
          server,
          owner: ownerOf(token),
          lastUsed: clock.monotonic(),
          close: () => server.close(),
          handle: (request, response, parsed) => transport.handleRequest(request, response, parsed),
        });
      },
    });
    const server = newServer(peerOf("http", newId("ses"), token), () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
    });
    await server.connect(transport);
    await transport.handleRequest(req, res, body);
    if (transport.sessionId === undefined || !sessions.has(transport.sessionId)) await server.close();
  };

  const openSse = async (res: ServerResponse, token: TokenRecord | undefined): Promise<void> => {
    const { SSEServerTransport } = await import("@modelcontextprotocol/sdk/server/sse.js");
    const transport = new SSEServerTransport("/messages", res);
    const id = transport.sessionId;
    const server = newServer(peerOf("sse", newId("ses"), token), () => sessions.delete(id));
    admit(id, {
      server,
      owner: ownerOf(token),
      lastUsed: clock.monotonic(),
      close: () => server.close(),
      handle: (request, response, parsed) => transport.handlePostMessage(request, response, parsed),
    });
    // The 1.x transport is the same interface at run time; only its message types are older.
    await server.connect(transport);
  };

  const postMessage = async (
    req: IncomingMessage,
    res: ServerResponse,
    url: URL,
    body: unknown,
    token: TokenRecord | undefined,
  ): Promise<void> => {
    const session = sessions.get(url.searchParams.get("sessionId") ?? "");
    if (session === undefined || session.owner !== ownerOf(token))
      return refuse(res, 404, -32_001, "Session not found. Open /sse again.");
    session.lastUsed = clock.monotonic();
    await session.handle(req, res, body);
  };

  let active = 0;
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (!validHost(req, res) || !validOrigin(req, res)) return;
    const url = new URL(req.url ?? "/", "http://localhost");
    if (url.pathname === "/healthz")
      return json(res, 200, { status: "ok", name: "camel-mcp", version: options.version });
    if (url.pathname.startsWith("/approvals/")) {
      const { serveApprovalPage } = await import("./approval-page.ts");
      return serveApprovalPage(req, res, url, {
        store: camel.approvals,
        keyFile: join(camel.home, "keys", "approvals.key"),
      });
    }
    const known = ["/mcp", "/sse", "/messages"].includes(url.pathname);
    if (!known) return json(res, 404, { error: "Not found. MCP is at /mcp (or /sse for older hosts)." });

    const token = await authenticate(req, tokens, isLoopback);
    if (token === "refused") {
      res.setHeader("WWW-Authenticate", 'Bearer realm="camel-mcp"');
      return refuse(
        res,
        401,
        -32_001,
        "A valid bearer token is needed. Make one with `camel-mcp token create --agent ID`.",
      );
    }
    if (url.pathname === "/sse") {
      if (req.method !== "GET") return refuse(res, 405, -32_000, "Use GET on /sse.");
      return openSse(res, token);
    }
    const body = req.method === "POST" ? await readBody(req, settings().maxBodyBytes) : undefined;
    if (body === "too_large")
      return refuse(
        res,
        413,
        -32_600,
        `The body is longer than ${settings().maxBodyBytes} bytes. Send less in one message.`,
      );
    if (body === "not_json") return refuse(res, 400, -32_700, "The body is not JSON.");
    if (url.pathname === "/messages") return postMessage(req, res, url, body, token);
    if (isLegacy(req, body)) return legacy(req, res, body, token);
    if (token !== undefined) Object.assign(req, { auth: authInfoOf(token) });
    const listening = parseListen(body);
    if (listening !== undefined) return listen(req, res, listening, token);
    // Node types an absent method as undefined where the SDK wants it absent; at run time they are the same.
    return modernNode(req as Parameters<typeof modernNode>[0], res, body);
  };

  const http = createServer((req, res) => {
    if (active >= settings().maxConcurrent) {
      res.setHeader("Retry-After", "1");
      return refuse(res, 503, -32_000, "Too many requests at once. Retry in a second.");
    }
    active += 1;
    res.once("close", () => {
      active -= 1;
    });
    serve(req, res).catch((error: unknown) => {
      log.error(`http: ${toCamelError(error).message}`);
      if (!res.headersSent) refuse(res, 500, -32_603, "The server failed to handle the request.");
      else res.end();
    });
  });
  http.headersTimeout = 20_000;
  await new Promise<void>((resolve, reject) => {
    http.once("error", (error) => {
      reject(
        new CamelError("unavailable", `Can't listen on ${options.host}:${options.port}: ${error.message}`, {
          cause: error,
          next: "Choose another --port, or stop what uses it.",
        }),
      );
    });
    http.listen(options.port, options.host, resolve);
  });

  const stopListening = camel.onToolsChanged(() => {
    for (const { notify } of streams) notify.toolsChanged();
    for (const { server } of sessions.values()) void server.sendToolListChanged().catch(() => {});
  });

  const { port } = http.address() as AddressInfo;
  return {
    url: `http://${bracketed(options.host)}:${port}`,
    async stop() {
      sweeping.cancel();
      stopListening();
      for (const id of sessions.keys()) drop(id);
      asking.close();
      await Promise.all([modern, ...streams].map((handler) => handler.close()));
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      http.closeIdleConnections();
      // Streams never end by themselves; answers that are under way get a moment.
      clock.setTimeout(() => http.closeAllConnections(), 1_000);
      await closed;
      await camel.close();
    },
  };
}

/** With tokens in the store everybody needs one; without any, only loopback is let in. */
async function authenticate(
  req: IncomingMessage,
  tokens: TokenStore,
  isLoopback: boolean,
): Promise<TokenRecord | undefined | "refused"> {
  const [, secret] = /^Bearer\s+(\S+)\s*$/i.exec(req.headers.authorization ?? "") ?? [];
  if (secret !== undefined) return (await tokens.verify(secret)) ?? "refused";
  const needed = !isLoopback || (await tokens.list()).some((token) => token.revoked === undefined);
  return needed ? "refused" : undefined;
}

function ownerOf(token: TokenRecord | undefined): string {
  return token?.id ?? "";
}

function authInfoOf(token: TokenRecord): AuthInfo {
  return { token: "", clientId: token.agent, scopes: [], extra: { record: token } };
}

function tokenOf(auth: AuthInfo | undefined): TokenRecord | undefined {
  return auth?.extra?.["record"] as TokenRecord | undefined;
}

async function readBody(req: IncomingMessage, limit: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) return "too_large";
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown;
  } catch {
    return "not_json";
  }
}

/** The SDK's own decision, without its detour over a Request, which takes longer to make than the answer. */
function isLegacy({ headers, method = "GET" }: IncomingMessage, body: unknown): boolean {
  const header = <K extends string>(key: K, name: string): Partial<Record<K, string>> => {
    const value = headers[name];
    return typeof value === "string" ? ({ [key]: value } as Partial<Record<K, string>>) : {};
  };
  const { kind } = classifyInboundRequest({
    httpMethod: method,
    ...header("protocolVersionHeader", "mcp-protocol-version"),
    ...header("mcpMethodHeader", "mcp-method"),
    ...header("mcpNameHeader", "mcp-name"),
    ...(body === undefined ? {} : { body }),
  });
  return kind === "legacy";
}

function bracketed(host: string): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

function json(res: ServerResponse, status: number, body: unknown): void {
  res
    .writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" })
    .end(JSON.stringify(body));
}

function refuse(res: ServerResponse, status: number, code: number, message: string): void {
  json(res, status, { jsonrpc: "2.0", id: null, error: { code, message } });
}
