import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import type { Server } from "@modelcontextprotocol/server";
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Peer } from "../server/mcp.ts";
import { createRelisting, type Relisting } from "../server/relisting.ts";
import type { Clock } from "../shared/clock.ts";
import { newId } from "../shared/ids.ts";
import type { TokenRecord } from "../stores/tokens.ts";
import { ownerOf } from "./http-auth.ts";
import { refuse } from "./http-messages.ts";
import type { Session, Sessions } from "./http-sessions.ts";

interface LegacyOptions {
  clock: Clock;
  sessions: Sessions;
  peer: (transport: "http" | "sse", sessionId: string, token: TokenRecord | undefined) => Peer;
  newServer: (peer: Peer, relisting: Relisting, onClose: () => void) => Server;
}

type Handler = (
  req: IncomingMessage,
  res: ServerResponse,
  body: unknown,
  token: TokenRecord | undefined,
) => Promise<void>;

/** The revisions until 2025-11-25, which have sessions: Streamable HTTP at /mcp, and the legacy /sse and /messages. */
export function createLegacy({ clock, sessions, peer, newServer }: LegacyOptions): {
  mcp: Handler;
  sse(res: ServerResponse, token: TokenRecord | undefined): Promise<void>;
  messages(
    req: IncomingMessage,
    res: ServerResponse,
    sessionId: string,
    body: unknown,
    token: TokenRecord | undefined,
  ): Promise<void>;
} {
  const sessionOf = (server: Server, relisting: Relisting, owner: string): Omit<Session, "handle"> => ({
    owner,
    toolsChanged() {
      relisting.told();
      void server.sendToolListChanged().catch(() => {});
    },
    close: () => server.close(),
  });

  const open: Handler = async (req, res, body, token) => {
    const relisting = createRelisting(clock);
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        sessions.add(id, {
          ...sessionOf(server, relisting, ownerOf(token)),
          handle: (request, response, parsed) => transport.handleRequest(request, response, parsed),
        });
      },
    });
    const server = newServer(peer("http", newId("ses"), token), relisting, () => {
      if (transport.sessionId !== undefined) sessions.forget(transport.sessionId);
    });
    await server.connect(transport);
    await transport.handleRequest(req, res, body);
    if (transport.sessionId === undefined || !sessions.has(transport.sessionId)) await server.close();
  };

  return {
    async mcp(req, res, body, token) {
      const given = req.headers["mcp-session-id"];
      if (typeof given === "string") {
        const session = sessions.use(given, ownerOf(token), res);
        if (session?.handle === undefined)
          return refuse(res, 404, -32_001, "Session not found. Start a new one with initialize.");
        return session.handle(req, res, body);
      }
      if (!mayOpen(body))
        return refuse(
          res,
          400,
          -32_000,
          "No session. Send initialize first, and the Mcp-Session-Id of its answer with every request.",
        );
      return open(req, res, body, token);
    },

    async sse(res, token) {
      const { SSEServerTransport } = await import("@modelcontextprotocol/sdk/server/sse.js");
      const transport = new SSEServerTransport("/messages", res);
      const id = transport.sessionId;
      const relisting = createRelisting(clock);
      const server = newServer(peer("sse", newId("ses"), token), relisting, () => sessions.forget(id));
      const session = {
        ...sessionOf(server, relisting, ownerOf(token)),
        handle: (request: IncomingMessage, response: ServerResponse, parsed: unknown) =>
          transport.handlePostMessage(request, response, parsed),
      };
      sessions.add(id, session, res);
      // The 1.x transport is the same interface at run time; only its message types are older.
      await server.connect(transport);
    },

    async messages(req, res, sessionId, body, token) {
      const session = sessions.use(sessionId, ownerOf(token), res);
      if (session?.handle === undefined)
        return refuse(res, 404, -32_001, "Session not found. Open /sse again.");
      await session.handle(req, res, body);
    },
  };
}

/** What isn't a message at all, the transport refuses in its own words. */
function mayOpen(body: unknown): boolean {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  return (
    messages.some(
      (message) =>
        typeof message !== "object" ||
        message === null ||
        !("method" in message) ||
        message.method === "initialize",
    ) && body !== undefined
  );
}
