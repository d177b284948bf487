import type { AuthInfo } from "@modelcontextprotocol/server";
import type { IncomingMessage } from "node:http";
import type { Peer } from "../server/mcp.ts";
import type { TokenRecord, TokenStore } from "../stores/tokens.ts";

/**
 * Once there was a token everybody needs one; before, loopback is let in. To revoke the last must not open the door
 * to all.
 */
export async function authenticate(
  req: IncomingMessage,
  tokens: TokenStore,
  isLoopback: boolean,
): Promise<TokenRecord | undefined | "refused"> {
  const [, secret] = /^Bearer\s+(\S+)\s*$/i.exec(req.headers.authorization ?? "") ?? [];
  if (secret !== undefined) return (await tokens.verify(secret)) ?? "refused";
  return (await needsToken(tokens, isLoopback)) ? "refused" : undefined;
}

/** Whether one who was let in as this owner would be now. */
export async function isWelcome(owner: string, tokens: TokenStore, isLoopback: boolean): Promise<boolean> {
  if (owner === NOBODY) return !(await needsToken(tokens, isLoopback));
  return (await tokens.list()).some(({ id, revoked }) => id === owner && revoked === undefined);
}

async function needsToken(tokens: TokenStore, isLoopback: boolean): Promise<boolean> {
  return !isLoopback || (await tokens.list()).length > 0;
}

export async function anyToken(tokens: TokenStore): Promise<boolean> {
  return (await tokens.list()).some((token) => token.revoked === undefined);
}

const NOBODY = "";

/** What a session is compared by: one token never reaches another's. */
export function ownerOf(token: TokenRecord | undefined): string {
  return token?.id ?? NOBODY;
}

/** Identity comes from the token, never from what a request says. */
export function peerOf(
  transport: "http" | "sse",
  sessionId: string,
  token: TokenRecord | undefined,
  agentWithoutToken: string,
): Peer {
  return {
    agentId: token?.agent ?? agentWithoutToken,
    transport,
    sessionId,
    ...(token === undefined ? {} : { token: token.scope ?? token.id }),
  };
}

/** The SDK hands it from the request to the server that is made for it. */
export function authInfoOf(token: TokenRecord): AuthInfo {
  return { token: "", clientId: token.agent, scopes: [], extra: { record: token } };
}

export function tokenOf(auth: AuthInfo | undefined): TokenRecord | undefined {
  return auth?.extra?.["record"] as TokenRecord | undefined;
}
