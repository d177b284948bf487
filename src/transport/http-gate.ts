import { validateHostHeader, validateOriginHeader } from "@modelcontextprotocol/server";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Config } from "../config/schema.ts";

export const LOOPBACK = ["127.0.0.1", "localhost", "::1", "[::1]"];

type Allowed = Pick<Config["http"], "allowedHosts" | "allowedOrigins">;

/** Why this request isn't taken, if it isn't: pages that a browser shows must not reach a server by a rebound name. */
export function foreign(
  { headers }: IncomingMessage,
  names: readonly string[],
  { allowedHosts, allowedOrigins }: Allowed,
): string | undefined {
  const own = [...LOOPBACK, ...names].map(hostName);
  const host = validateHostHeader(headers.host, [...own, ...allowedHosts.map(hostName)]);
  if (!host.ok)
    return `${host.message}. If this server is to be reached by that name, add it to http.allowedHosts in its config.`;
  const origin = validateOriginHeader(headers.origin, [...own, ...allowedOrigins.map(hostName)]);
  return origin.ok
    ? undefined
    : `${origin.message}. If pages from there may use this server, add the name to http.allowedOrigins in its config.`;
}

/**
 * Lets pages read the answers, from origins the user named. Not from loopback by itself: any program's page is there.
 * True if that was all the browser asked.
 */
export function answerBrowser(
  req: IncomingMessage,
  res: ServerResponse,
  { allowedOrigins }: Allowed,
): boolean {
  const { origin } = req.headers;
  if (origin === undefined || !allowedOrigins.map(hostName).includes(new URL(origin).hostname)) return false;
  res.setHeader("Access-Control-Allow-Origin", origin);
  res.setHeader("Vary", "Origin");
  res.setHeader("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate");
  if (req.method !== "OPTIONS" || req.headers["access-control-request-method"] === undefined) return false;
  res
    .writeHead(204, {
      "Access-Control-Allow-Methods": "GET, POST, DELETE",
      "Access-Control-Allow-Headers": req.headers["access-control-request-headers"] ?? "",
      "Access-Control-Max-Age": "600",
    })
    .end();
  return true;
}

/** Of a name, an address, or what people paste instead: with a scheme, a port. */
function hostName(given: string): string {
  const bare = given.includes(":") && !/[[/.]|^\w+:\d+$/.test(given) ? `[${given}]` : given;
  const url = bare.includes("://") ? bare : `http://${bare}`;
  return URL.canParse(url) ? new URL(url).hostname : given;
}
