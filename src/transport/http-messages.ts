import { classifyInboundRequest } from "@modelcontextprotocol/server";
import type { IncomingMessage, ServerResponse } from "node:http";

/** The parsed body, or why there is none. */
export async function readBody(
  req: IncomingMessage,
  limit: number,
): Promise<{ parsed: unknown } | "too_large" | "not_json"> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) return "too_large";
    chunks.push(chunk);
  }
  try {
    return { parsed: JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown };
  } catch {
    return "not_json";
  }
}

/** The SDK's own decision, without its detour over a Request, which takes longer to make than the answer. */
export function isLegacy({ headers, method = "GET" }: IncomingMessage, body: unknown): boolean {
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

export function json(res: ServerResponse, status: number, body: unknown): void {
  res
    .writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" })
    .end(JSON.stringify(body));
}

/** An error in the words of the protocol, for what never reaches a server. */
export function refuse(res: ServerResponse, status: number, code: number, message: string): void {
  json(res, status, { jsonrpc: "2.0", id: null, error: { code, message } });
}
