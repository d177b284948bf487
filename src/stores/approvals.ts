import { readFile, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../shared/clock.ts";
import { replaceFile } from "../shared/durable.ts";

const requestSchema = z.object({
  /** Made from the call itself, so that the same call repeated finds its own request. */
  id: z.string(),
  tool: z.string(),
  agent: z.string(),
  client: z.string(),
  /** What a person is shown. */
  prompt: z.string(),
  /** The same in a line. */
  summary: z.string().optional(),
  /** Which rule asked. */
  reason: z.string(),
  /** What "session" would let pass, and what "always" would write; absent where it isn't offered. */
  session: z.array(z.string()).optional(),
  always: z.array(z.string()).optional(),
  createdAt: z.number(),
  expiresAt: z.number(),
});

const decisionSchema = z.object({
  decision: z.enum(["allow", "deny"]),
  /** How long an "allow" holds; default once. */
  remember: z.enum(["once", "session", "always"]).optional(),
  note: z.string().optional(),
  /** Who decided: "cli", "forward", "link"; of answers that never become a record also "host", "fallback". */
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
  decide(
    id: string,
    decision: Pick<ApprovalDecision, "decision" | "remember" | "note" | "by">,
  ): Promise<boolean>;
  /** Takes the decision away and returns it: exactly one caller in all processes gets it. */
  take(id: string): Promise<ApprovalDecision | undefined>;
  /** Removes a request that nobody waits for any more, and what was decided about it. */
  withdraw(id: string): Promise<void>;
}

/** A decision that isn't used in this time is void: the person meant the call they saw, now. */
const DECISION_LIFE_MS = 15 * 60_000;
/** How long a request waits for a person who isn't there now. */
export const REQUEST_LIFE_MS = 24 * 3_600_000;
const ID = /^apr_[0-9a-f]{32}$/;
const OWN = /^apr_.*\.json$|^\..*\.(?:tmp|taken)$/;

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

  /** Deciding and using a decision exclude each other: a second answer never meets a request that is half used up. */
  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    const { withLock } = await import("../shared/lock.ts");
    return withLock(join(directory, ".lock"), { clock, purpose: "deciding", timeoutMs: 10_000 }, work);
  };

  /** What nobody decided or used in time goes, and what a killed process left. */
  const sweep = async (): Promise<void> => {
    const names: string[] = await readdir(directory).catch(() => []);
    const oldest = clock.now() - REQUEST_LIFE_MS - DECISION_LIFE_MS;
    for (const name of names.filter((one) => OWN.test(one))) {
      const path = join(directory, name);
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < oldest) await remove(path);
    }
  };

  return {
    get,
    async add(request) {
      if ((await get(request.id)) !== undefined) return;
      await sweep();
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
      return alone(async () => {
        if ((await get(id)) === undefined || (await isThere(decisionFile(id)))) return false;
        const now = clock.now();
        const record: ApprovalDecision = { ...decision, decidedAt: now, expiresAt: now + DECISION_LIFE_MS };
        await replaceFile(decisionFile(id), JSON.stringify(record));
        return true;
      });
    },
    async take(id) {
      if (!ID.test(id) || !(await isThere(decisionFile(id)))) return undefined;
      return alone(async () => {
        const [request, decision] = await Promise.all([get(id), read(decisionFile(id), decisionSchema)]);
        // What can't be removed could be used again, and so counts as no decision.
        await remove(decisionFile(id));
        if (await isThere(decisionFile(id))) return undefined;
        await remove(requestFile(id));
        const counts = request !== undefined && decision !== undefined && decision.expiresAt > clock.now();
        return counts ? decision : undefined;
      });
    },
    async withdraw(id) {
      if (!ID.test(id)) return;
      await remove(requestFile(id));
      await remove(decisionFile(id));
    },
  };
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
