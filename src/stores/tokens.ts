import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Clock } from "../shared/clock.ts";
import { replaceFile } from "../shared/durable.ts";
import { CamelError } from "../shared/errors.ts";
import { isAgentId, newId } from "../shared/ids.ts";
import { withLock } from "../shared/lock.ts";

const tokenSchema = z.object({
  id: z.string(),
  hash: z.string(),
  agent: z.string(),
  scope: z.string().optional(),
  created: z.string(),
  revoked: z.string().optional(),
});

const fileSchema = z.object({ tokens: z.array(tokenSchema) });

export type TokenRecord = z.output<typeof tokenSchema>;

/** Bearer tokens for HTTP. Only hashes are stored; the secret is shown once, when it is made. */
export interface TokenStore {
  create(agent: string, scope?: string): Promise<{ record: TokenRecord; secret: string }>;
  list(): Promise<TokenRecord[]>;
  /** False when there is no such token. */
  revoke(id: string): Promise<boolean>;
  /** The token's record if the secret is valid and not revoked. */
  verify(secret: string): Promise<TokenRecord | undefined>;
}

export function createFileTokens(options: { path: string; clock: Clock }): TokenStore {
  let cached: { mark: string; tokens: TokenRecord[] } | undefined;
  const hashOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

  const load = async (): Promise<TokenRecord[]> => {
    // At once: every request asks, a thread to look in takes thirty times as long, and a revoked token must be refused
    // from the next request on.
    const found = statSync(options.path, { throwIfNoEntry: false });
    if (found === undefined) return [];
    const mark = `${found.ino}:${found.size}:${found.mtimeMs}`;
    if (cached?.mark === mark) return cached.tokens;
    const parsed = fileSchema.safeParse(
      await readFile(options.path, "utf8")
        .then(JSON.parse)
        .catch(() => undefined),
    );
    // A damaged file must refuse everybody rather than let anybody in, and must never be overwritten.
    if (!parsed.success) {
      throw new CamelError("invalid_config", `${options.path} is damaged.`, {
        next: "Move the file aside and create new tokens with `camel-mcp token create`.",
      });
    }
    cached = { mark, tokens: parsed.data.tokens };
    return parsed.data.tokens;
  };

  /** Read, change, write under a lock: two shells that create tokens at once must not lose one. */
  const change = <T>(edit: (tokens: TokenRecord[]) => { tokens?: TokenRecord[]; result: T }): Promise<T> =>
    withLock(
      `${options.path}.lock`,
      { clock: options.clock, timeoutMs: 10_000, purpose: "changing the tokens" },
      async () => {
        const { tokens, result } = edit(await load());
        if (tokens !== undefined) await replaceFile(options.path, `${JSON.stringify({ tokens }, null, 2)}\n`);
        return result;
      },
    );
  const now = (): string => new Date(options.clock.now()).toISOString();

  return {
    list: load,
    async create(agent, scope) {
      if (!isAgentId(agent)) {
        throw new CamelError("invalid_input", `"${agent}" is not an agent id.`, {
          next: "Use letters, digits, dot, dash and underscore; at most 64 characters.",
        });
      }
      const secret = `camel_${randomBytes(32).toString("base64url")}`;
      const record: TokenRecord = {
        id: newId("tok", 6),
        hash: hashOf(secret).toString("hex"),
        agent,
        ...(scope === undefined ? {} : { scope }),
        created: now(),
      };
      return change((tokens) => ({ tokens: [...tokens, record], result: { record, secret } }));
    },
    revoke: (id) =>
      change((tokens) => {
        const found = tokens.some((token) => token.id === id && token.revoked === undefined);
        if (!found) return { result: false };
        return {
          tokens: tokens.map((token) => (token.id === id ? { ...token, revoked: now() } : token)),
          result: true,
        };
      }),
    async verify(secret) {
      const hash = hashOf(secret);
      return (await load()).find(
        (token) => token.revoked === undefined && timingSafeEqual(Buffer.from(token.hash, "hex"), hash),
      );
    },
  };
}
