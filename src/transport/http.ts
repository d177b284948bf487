import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, type McpHttpHandler, type Server } from "@modelcontextprotocol/server";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Camel } from "../camel.ts";
import { createAsking } from "../server/ask.ts";
import { createMcpServer, type Peer } from "../server/mcp.ts";
import { createRelisting, type Relisting } from "../server/relisting.ts";
import { watchAll } from "../server/watches.ts";
import { systemClock, type Clock } from "../shared/clock.ts";
import { CamelError, toCamelError } from "../shared/errors.ts";
import { newId } from "../shared/ids.ts";
import { silentLogger, type Logger } from "../shared/log.ts";
import { VERSION } from "../shared/version.ts";
import { createFileTokens, type TokenRecord, type TokenStore } from "../stores/tokens.ts";
import { anyToken, authInfoOf, authenticate, isWelcome, ownerOf, peerOf, tokenOf } from "./http-auth.ts";
import { LOOPBACK, answerBrowser, foreign } from "./http-gate.ts";
import { createLegacy } from "./http-legacy.ts";
import { isLegacy, json, readBody, refuse } from "./http-messages.ts";
import { createSessions } from "./http-sessions.ts";
import { clientOfListen, parseListen, type Listen } from "./listen.ts";

export interface HttpOptions {
  camel: Camel;
  /** What the server says it is; default: this package's version. */
  version?: string;
  /** Identity of callers without a token; they are let in only on loopback and only while no token exists. */
  agentId?: string;
  /** Default: what `http` of the config says. Port 0 takes a free one. */
  host?: string;
  port?: number;
  /** Default: those that `camel-mcp token` makes. */
  tokens?: TokenStore;
  clock?: Clock;
  log?: Logger;
  /** Gets each MCP server that is made, as the SDK's own object; the conformance fixtures come in here. */
  extend?: ((server: unknown) => void) | undefined;
}

export interface HttpServer {
  url: string;
  stop: () => Promise<void>;
}

/** A request that isn't here whole by then is given up, or slow ones would keep others out. */
const REQUEST_MS = 60_000;
/** A host that was switched off says nothing; the system asks whether it is still there. */
const KEEP_ALIVE_MS = 60_000;

export async function serveOnHttp(options: HttpOptions): Promise<HttpServer> {
  const { camel, clock = systemClock, log = silentLogger, version = VERSION, agentId = "main" } = options;
  const settings = (): ReturnType<Camel["config"]>["settings"]["http"] => camel.config().settings.http;
  const { host = settings().host, port = settings().port } = options;
  const tokens = options.tokens ?? createFileTokens({ path: join(camel.home, "tokens.json"), clock });
  const isLoopback = LOOPBACK.includes(host);
  if (!isLoopback && !(await anyToken(tokens))) {
    throw new CamelError(
      "unauthorized",
      `Listening on ${host} needs at least one token, and there is none.`,
      {
        next: "Make one with `camel-mcp token create --agent ID`, or listen on 127.0.0.1.",
      },
    );
  }

  const asking = createAsking({
    clock,
    personSeconds: () => camel.config().settings.approvals.timeoutSeconds,
  });
  const newServer = (
    caller: Peer,
    relisting: Relisting | undefined,
    onClose: () => void = () => {},
  ): Server =>
    createMcpServer(
      {
        version,
        dispatcher: camel.dispatcher,
        resources: camel.resources,
        asking,
        prefix: () => camel.config().settings.tools.prefix,
        outputChars: () => camel.config().settings.limits.outputChars,
        ready: () => camel.refresh(),
        onClose,
        relisting,
        extend: options.extend,
      },
      caller,
    );
  const peer = (transport: "http" | "sse", sessionId: string, token: TokenRecord | undefined): Peer =>
    peerOf(transport, sessionId, token, agentId);

  const sessions = createSessions({
    clock,
    settings,
    isWelcome: (owner) => isWelcome(owner, tokens, isLoopback),
  });
  // Of those who have a stream to hear of changes on, by owner.
  const relistings = new Map<string, Relisting>();

  // 2026-07-28: one instance a request. Everything older has sessions, below.
  const newModern = (): McpHttpHandler =>
    // No sessions there: what is kept for one (limits, approvals) is kept for the token while the server lives.
    createMcpHandler(
      ({ authInfo }) => {
        const token = tokenOf(authInfo);
        return newServer(peer("http", `ses_${token?.id ?? "local"}`, token), relistings.get(ownerOf(token)));
      },
      {
        legacy: "reject",
        maxRequestBodySize: settings().maxBodyBytes,
        onerror: (error) => log.debug(`http: ${error.message}`),
      },
    );
  const modern = newModern();
  const modernNode = toNodeHandler(modern, { maxRequestBodySize: settings().maxBodyBytes });

  // A stream of changes has a handler of its own: one agent's MEMORY.md is not another's, though the name is.
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
      { ...peer("http", newId("ses"), token), client: clientOfListen(body), depth: 0 },
      (uri) => handler.notify.resourceUpdated(uri),
    );
    const id = newId("ses");
    const owner = ownerOf(token);
    const relisting = relistings.get(owner) ?? createRelisting(clock);
    relistings.set(owner, relisting);
    const end = (): void => {
      watched.stop();
      sessions.forget(id);
      void handler.close().catch(() => {});
    };
    if (res.closed) return end();
    res.once("close", end);
    const toolsChanged = (): void => {
      relisting.told();
      handler.notify.toolsChanged();
    };
    sessions.add(id, { owner, toolsChanged, close: () => handler.close() }, res);
    const granted = { ...notifications, resourceSubscriptions: watched.uris };
    const request = { ...body, params: { ...body.params, notifications: granted } };
    return toNodeHandler(handler)(req as Parameters<typeof modernNode>[0], res, request);
  };

  const legacy = createLegacy({ clock, sessions, peer, newServer });

  let active = 0;
  const serve = async (req: IncomingMessage, res: ServerResponse, waits: () => void): Promise<void> => {
    const { pathname, searchParams } = targetOf(req);
    const { forward } = camel.config().settings.approvals;
    // Whoever got a signed link knows this server by the name that the config gives it there.
    const replyUrl = pathname.startsWith("/approvals/") ? forward?.replyUrl : undefined;
    const names = replyUrl === undefined ? [host] : [host, new URL(replyUrl).hostname];
    const why = foreign(req, names, settings());
    if (why !== undefined) return refuse(res, 403, -32_000, why);
    if (pathname.startsWith("/approvals/")) {
      const { serveApprovalPage } = await import("./approval-page.ts");
      return serveApprovalPage(req, res, pathname.slice("/approvals/".length), searchParams, {
        store: camel.approvals,
        keyFile: join(camel.home, "keys", "approvals.key"),
      });
    }
    if (answerBrowser(req, res, settings())) return;
    if (pathname === "/healthz") return json(res, 200, { status: "ok", name: "camel-mcp", version });
    const known = ["/mcp", "/sse", "/messages"].includes(pathname);
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
    if (pathname === "/sse") {
      if (req.method !== "GET") return refuse(res, 405, -32_000, "Use GET on /sse.");
      return legacy.sse(res, token);
    }
    if (pathname === "/messages" && req.method !== "POST")
      return refuse(res, 405, -32_000, "Use POST on /messages.");
    const read = req.method === "POST" ? await readBody(req, settings().maxBodyBytes) : { parsed: undefined };
    if (read === "too_large") {
      // The rest of it is still on its way and would be taken for the next request.
      res.setHeader("Connection", "close");
      return refuse(
        res,
        413,
        -32_600,
        `The body is longer than ${settings().maxBodyBytes} bytes. Send less in one message.`,
      );
    }
    if (read === "not_json") return refuse(res, 400, -32_700, "The body is not JSON.");
    const body = read.parsed;
    if (pathname === "/messages")
      return legacy.messages(req, res, searchParams.get("sessionId") ?? "", body, token);
    if (isLegacy(req, body)) return legacy.mcp(req, res, body, token);
    if (token !== undefined) Object.assign(req, { auth: authInfoOf(token) });
    const listening = parseListen(body);
    if (listening !== undefined) {
      waits();
      return listen(req, res, listening, token);
    }
    // Node types an absent method as undefined where the SDK wants it absent; at run time they are the same.
    return modernNode(req as Parameters<typeof modernNode>[0], res, body);
  };

  const http = createServer({ keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS }, (req, res) => {
    if (active >= settings().maxConcurrent) {
      res.setHeader("Retry-After", "1");
      return refuse(res, 503, -32_000, "Too many requests at once. Retry in a second.");
    }
    // The streams of waiting hosts are as many as sessions, and must not keep those hosts' calls out.
    let weight = req.method === "GET" ? 0 : 1;
    active += weight;
    const done = (): void => {
      active -= weight;
      weight = 0;
    };
    res.once("close", done);
    serve(req, res, done).catch((error: unknown) => {
      log.error(`http: ${toCamelError(error).message}`);
      if (!res.headersSent) refuse(res, 500, -32_603, "The server failed to handle the request.");
      else res.end();
    });
  });
  http.headersTimeout = 20_000;
  http.requestTimeout = REQUEST_MS;
  await new Promise<void>((resolve, reject) => {
    http.once("error", (error) => {
      reject(
        new CamelError("unavailable", `Can't listen on ${host}:${port}: ${error.message}`, {
          cause: error,
          next: "Choose another --port, or stop what uses it.",
        }),
      );
    });
    http.listen(port, host, resolve);
  });

  const stopListening = camel.onToolsChanged(() => sessions.toolsChanged());

  const { port: bound } = http.address() as AddressInfo;
  return {
    url: `http://${bracketed(host)}:${bound}`,
    async stop() {
      stopListening();
      asking.close();
      await Promise.all([modern.close(), sessions.close()]);
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      http.closeIdleConnections();
      // Streams never end by themselves; answers that are under way get a moment.
      clock.setTimeout(() => http.closeAllConnections(), 1_000);
      await closed;
      await camel.close();
    },
  };
}

/** Of any request line: one that is no address is simply none of ours. */
function targetOf({ url = "/" }: IncomingMessage): Pick<URL, "pathname" | "searchParams"> {
  const [path = "", query] = url.split("?", 2);
  return {
    pathname: path.length > 1 ? path.replace(/\/$/, "") : path,
    searchParams: new URLSearchParams(query ?? ""),
  };
}

function bracketed(host: string): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}
