import { link, readFile, readdir, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../shared/clock.ts";
import { replaceFile } from "../shared/durable.ts";
import { newId } from "../shared/ids.ts";

const requestSchema = z.object({
  /** Made from the call itself, so that the same call repeated finds its own request. */
  id: z.string(),
  tool: z.string(),
  agent: z.string(),
  client: z.string(),
  /** What a person is shown. */
  prompt: z.string(),
  /** Which rule asked. */
  reason: z.string(),
  /** What "always" would write; absent where it isn't offered. */
  always: z.array(z.string()).optional(),
  createdAt: z.number(),
  expiresAt: z.number(),
});

const decisionSchema = z.object({
  decision: z.enum(["allow", "deny"]),
  note: z.string().optional(),
  /** Who decided: "cli", "forward", "link". */
  by: z.string(),
  decidedAt: z.number(),
  expiresAt: z.number(),
});

export type ApprovalRequest = z.output<typeof requestSchema>;
export type ApprovalDecision = z.output<typeof decisionSchema>;

/** Requests that wait for a person. Shared by all processes on the same home; a decision is used once. */
export interface ApprovalStore {
  /** Adds the request unless it waits already. */
  add(request: ApprovalRequest): Promise<void>;
  get(id: string): Promise<ApprovalRequest | undefined>;
  /** Those that wait, oldest first. */
  list(): Promise<ApprovalRequest[]>;
  /** False when there is no such request, or it has been decided. The first decision stands. */
  decide(id: string, decision: Pick<ApprovalDecision, "decision" | "note" | "by">): Promise<boolean>;
  /** Takes the decision away and returns it: exactly one caller in all processes gets it. */
  take(id: string): Promise<ApprovalDecision | undefined>;
  /** Removes a request that nobody waits for any more, unless it was decided. */
  withdraw(id: string): Promise<void>;
}

/** A decision that isn't used in this time is void: the person meant the call they saw, now. */
const DECISION_LIFE_MS = 15 * 60_000;
const ID = /^apr_[0-9a-f]{32}$/;

/** `<id>.request.json`, and beside it `<id>.decision.json` once somebody decided. */
export function createFileApprovals(options: { directory: string; clock: Clock }): ApprovalStore {
  const { directory, clock } = options;
  const requestFile = (id: string): string => join(directory, `${id}.request.json`);
  const decisionFile = (id: string): string => join(directory, `${id}.decision.json`);
  const remove = (path: string): Promise<void> => unlink(path).catch(() => {});

  const read = async <T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
    const text = await readFile(path, "utf8").catch(() => undefined);
    if (text === undefined) return undefined;
    try {
      return schema.parse(JSON.parse(text));
    } catch {
      // A damaged record approves nothing.
      return undefined;
    }
  };

  const get = async (id: string): Promise<ApprovalRequest | undefined> => {
    if (!ID.test(id)) return undefined;
    const request = await read(requestFile(id), requestSchema);
    return request === undefined || request.expiresAt <= clock.now() ? undefined : request;
  };

  return {
    get,
    async add(request) {
      if ((await get(request.id)) !== undefined) return;
      // What is left of an expired request must not decide the new one.
      await remove(decisionFile(request.id));
      await replaceFile(requestFile(request.id), JSON.stringify(request));
    },
    async list() {
      const names: string[] = await readdir(directory).catch(() => []);
      const ids = names
        .filter((name) => name.endsWith(".request.json"))
        .map((name) => name.slice(0, -".request.json".length));
      const found = await Promise.all(
        ids.map(async (id) => {
          const request = await get(id);
          const isDecided = names.includes(`${id}.decision.json`);
          return request === undefined || isDecided ? [] : [request];
        }),
      );
      return found.flat().sort((a, b) => a.createdAt - b.createdAt);
    },
    async decide(id, decision) {
      if ((await get(id)) === undefined) return false;
      const now = clock.now();
      const record: ApprovalDecision = { ...decision, decidedAt: now, expiresAt: now + DECISION_LIFE_MS };
      const finished = join(directory, `.${newId("new")}.tmp`);
      await writeFile(finished, JSON.stringify(record), { mode: 0o600, flag: "wx" });
      try {
        // A link appears whole and only once: of two people who decide, one is first.
        await link(finished, decisionFile(id));
        return true;
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
        throw error;
      } finally {
        await remove(finished);
      }
    },
    async take(id) {
      if (!ID.test(id)) return undefined;
      const request = await get(id);
      const taken = join(directory, `.${id}.${newId("by")}.taken`);
      try {
        await rename(decisionFile(id), taken);
      } catch {
        return undefined;
      }
      const decision = await read(taken, decisionSchema);
      await remove(requestFile(id));
      await remove(taken);
      if (request === undefined || decision === undefined || decision.expiresAt <= clock.now())
        return undefined;
      return decision;
    },
    async withdraw(id) {
      if (!ID.test(id)) return;
      await remove(requestFile(id));
    },
  };
}
