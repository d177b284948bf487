import { mkdir, readFile, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { publishExclusive } from "./exclusive.ts";
import type { ChainKey } from "./runs.ts";

/** A prompt that is due and waits for its agent. */
export interface InboxEntry {
  job: { id: string; uid: string; name: string };
  seq: number;
  slot: number;
  prompt: string;
  deliveredAt: number;
}

export interface Inbox {
  /** Delivering again what was delivered before changes nothing, even if it was acknowledged meanwhile. */
  deliver(agentId: string, entry: InboxEntry): Promise<void>;
  list(agentId: string): Promise<InboxEntry[]>;
  pending(agentId: string, key: ChainKey): Promise<number>;
  /** Returns how many there were. */
  acknowledge(agentId: string, matches: (entry: InboxEntry) => boolean): Promise<number>;
  /** Changes whenever the list may have; cheap. */
  mark(agentId: string): Promise<string>;
  folder(agentId: string): string;
}

const TAKEN_MS = 3 * 86_400_000;

export function createFileInbox(options: { directory: string; clock: Clock }): Inbox {
  const folder = (agentId: string): string => join(options.directory, "inbox", agentId);
  const taken = join(options.directory, "inbox", ".taken");
  const nameOf = (key: ChainKey, seq: number): string => `${key.id}.${key.uid}.${seq}.json`;
  const isTaken = (name: string): Promise<boolean> =>
    stat(join(taken, name)).then(
      () => true,
      () => false,
    );

  const read = async (agentId: string): Promise<{ name: string; entry: InboxEntry }[]> => {
    const names = (await readdir(folder(agentId)).catch(() => [])).filter((name) => name.endsWith(".json"));
    const entries = await Promise.all(
      names.map(async (name) => {
        const text = await readFile(join(folder(agentId), name), "utf8").catch(() => undefined);
        // Taken since the folder was read.
        if (text === undefined) return [];
        return [{ name, entry: parseEntry(text) ?? (await damagedEntry(agentId, name)) }];
      }),
    );
    return entries.flat().sort((a, b) => a.entry.slot - b.entry.slot);
  };

  /** It counts as waiting all the same, so it has to be seen, and taken. */
  const damagedEntry = async (agentId: string, name: string): Promise<InboxEntry> => {
    const path = join(folder(agentId), name);
    const [id = "", uid = "", seq = ""] = name.split(".");
    const at = await stat(path).then(
      ({ mtimeMs }) => Math.floor(mtimeMs),
      () => 0,
    );
    const prompt = `(The prompt can't be read: ${path} is damaged.)`;
    return { job: { id, uid, name: id }, seq: Number(seq), slot: at, prompt, deliveredAt: at };
  };

  /** A marker is needed only as long as a process might still deliver what it marks. */
  const forgetOldTaken = async (): Promise<void> => {
    for (const name of await readdir(taken).catch(() => [])) {
      const path = join(taken, name);
      const age = await stat(path).then(
        (found) => options.clock.now() - found.mtimeMs,
        () => 0,
      );
      if (age > TAKEN_MS) await unlink(path).catch(() => {});
    }
  };

  return {
    folder,
    async deliver(agentId, entry) {
      const name = nameOf(entry.job, entry.seq);
      if (await isTaken(name)) return;
      await mkdir(folder(agentId), { recursive: true, mode: 0o700 });
      const path = join(folder(agentId), name);
      await publishExclusive(path, JSON.stringify(entry));
      // Taken between our look and our write by an agent that had it from another process.
      if (await isTaken(name)) await unlink(path).catch(() => {});
    },
    list: async (agentId) => (await read(agentId)).map(({ entry }) => entry),
    async pending(agentId, key) {
      const prefix = `${key.id}.${key.uid}.`;
      return (await readdir(folder(agentId)).catch(() => [])).filter((name) => name.startsWith(prefix))
        .length;
    },
    async acknowledge(agentId, matches) {
      let count = 0;
      for (const { name, entry } of await read(agentId)) {
        if (!matches(entry)) continue;
        await mkdir(taken, { recursive: true, mode: 0o700 });
        await publishExclusive(join(taken, name), "taken");
        await unlink(join(folder(agentId), name)).catch(() => {});
        count++;
      }
      if (count > 0) await forgetOldTaken();
      return count;
    },
    async mark(agentId) {
      const found = await stat(folder(agentId), { bigint: true }).catch(() => undefined);
      return found === undefined ? "-" : `${found.ino}:${found.mtimeNs}`;
    },
  };
}

function parseEntry(text: string): InboxEntry | undefined {
  try {
    const entry = JSON.parse(text) as Partial<InboxEntry> | null;
    return typeof entry?.job?.id === "string" &&
      typeof entry.prompt === "string" &&
      Number.isFinite(entry.slot)
      ? (entry as InboxEntry)
      : undefined;
  } catch {
    return undefined;
  }
}
