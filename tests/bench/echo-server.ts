/**
 * The servers whose calls are timed: `echo-server.ts camel|bare stdio|http HOME`. Both offer the same two tools: echo, and
 * memory_get, which the bare one does in the shortest way. "camel" is the product with one tool added, "bare" the
 * SDK alone. Over HTTP the address is the first line on stdout; both end with stdin.
 */
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { z } from "zod";
import { createCamel } from "../../src/camel.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { silentLogger } from "../../src/shared/log.ts";
import { createFileTokens } from "../../src/stores/tokens.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { serveOnHttp } from "../../src/transport/http.ts";
import { serveOnStdio } from "../../src/transport/stdio.ts";

const [kind, transport, home = ""] = process.argv.slice(2);
const ready = (url: string): void => {
  process.stdout.write(`${url}\n`);
  process.stdin.resume().once("end", () => process.exit(0));
};

const echoSchema = z.object({ text: z.string() });

if (kind === "camel") {
  const echo = defineTool({
    name: "echo",
    title: "Echo",
    description: "Says it again.",
    tier: "core",
    effect: "read",
    schema: echoSchema,
    execute: ({ text }) => Promise.resolve(text),
  });
  const camel = await createCamel({ home, workspace: home, env: {}, tools: [echo] });
  const common = { camel, version: "0.0.0", agentId: "main", log: silentLogger };
  if (transport === "stdio") {
    await serveOnStdio({ ...common, stdin: process.stdin, stdout: process.stdout }).done;
  } else {
    const tokens = createFileTokens({ path: join(home, "tokens.json"), clock: systemClock });
    const http = { host: "127.0.0.1", port: 0, tokens, clock: systemClock };
    ready((await serveOnHttp({ ...common, ...http })).url);
  }
} else if (transport === "stdio") {
  serveStdio(bareServer);
} else {
  const server = createServer((req, res) => void bareHttp(req, res));
  server.listen(0, "127.0.0.1", () => {
    ready(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
}

function bareServer(): McpServer {
  const server = new McpServer({ name: "bare", version: "0.0.0" });
  server.registerTool("echo", { description: "Says it again.", inputSchema: echoSchema }, ({ text }) => ({
    content: [{ type: "text", text }],
  }));
  server.registerTool(
    "memory_get",
    { description: "Reads a memory file.", inputSchema: z.object({ filePath: z.string() }) },
    async ({ filePath }) => {
      const content = await readFile(join(home, filePath), "utf8");
      const lines = content.split("\n");
      return {
        content: [{ type: "text", text: lines.map((line, index) => `${index + 1}: ${line}`).join("\n") }],
        structuredContent: { filePath, from: 1, count: lines.length, content },
      };
    },
  );
  return server;
}

const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
const modern = toNodeHandler(createMcpHandler(bareServer, { legacy: "reject" }));

/** What the SDK's own examples do: sessions for the older revisions, a handler for the newest. */
async function bareHttp(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body: unknown = req.method === "POST" ? await json(req) : undefined;
  const probe = new Request("http://localhost/mcp", {
    method: req.method ?? "GET",
    headers: Object.entries(req.headers) as [string, string][],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!(await isLegacyRequest(probe, body))) return modern(req as Parameters<typeof modern>[0], res, body);
  const existing = sessions.get(String(req.headers["mcp-session-id"]));
  if (existing !== undefined) return existing.handleRequest(req, res, body);
  const session = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, session),
  });
  await bareServer().connect(session);
  await session.handleRequest(req, res, body);
}
