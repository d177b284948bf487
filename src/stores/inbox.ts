import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { mkdir, readFile, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { codeOf } from "../shared/errors.ts";
import { publishExclusive, removeFile, syncNamed, writeQuickly } from "./exclusive.ts";
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
  /**
   * Seen by all at once; kept through a power cut once `sync`ed. A slot's prompt is delivered once, however often this
   * is called, and whichever claim it is for: the first may be lost in a power cut.
   */
  deliver(agentId: string, entry: InboxEntry): Promise<void>;
  sync(agentId: string, key: ChainKey, slot: number): Promise<void>;
  list(agentId: string): Promise<InboxEntry[]>;
  pending(agentId: string, key: ChainKey): Promise<number>;
  /** Returns how many there were. */
  acknowledge(agentId: string, matches: (entry: InboxEntry) => boolean): Promise<number>;
  /** Changes whenever the list may have; cheap. */
  mark(agentId: string): Promise<string>;
  folder(agentId: string): string;
}

/** Folder times may be as coarse as this. */
const COARSE_MS = 2_000;
const TAKEN_MS = 3 * 86_400_000;

export function createFileInbox(options: { directory: string; clock: Clock }): Inbox {
  const folder = (agentId: string): string => join(options.directory, "inbox", agentId);
  const taken = join(options.directory, "inbox", ".taken");
  const nameOf = (key: ChainKey, slot: number): string => `${key.id}.${key.uid}.${slot}.json`;
  const isTaken = (name: string): boolean => existsSync(join(taken, name));

  const listed = new Map<string, { mark: string; names: string[] }>();
  /** A thousand jobs that are due together ask for the same folder; it is read again when its time has changed. */
  const namesIn = (agentId: string): readonly string[] => {
    const path = folder(agentId);
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) return [];
    const mark = `${found.ino}:${found.mtimeNs}`;
    const known = listed.get(agentId);
    if (known?.mark === mark) return known.names;
    const names = readdirSync(path).filter((name) => name.endsWith(".json"));
    // Another change so soon after this one may leave the same time.
    const isCertain = Math.abs(Date.now() - Number(found.mtimeNs / 1_000_000n)) > COARSE_MS;
    if (isCertain) listed.set(agentId, { mark, names });
    return names;
  };

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
    const [id = "", uid = "", slot = ""] = name.split(".");
    const at = await stat(path).then(
      ({ mtimeMs }) => Math.floor(mtimeMs),
      () => 0,
    );
    const prompt = `(The prompt can't be read: ${path} is damaged.)`;
    return { job: { id, uid, name: id }, seq: 0, slot: Number(slot) || at, prompt, deliveredAt: at };
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
      const name = nameOf(entry.job, entry.slot);
      if (isTaken(name)) return;
      const path = join(folder(agentId), name);
      const finished = join(folder(agentId), `.${name}.${randomBytes(6).toString("hex")}.tmp`);
      const text = JSON.stringify(entry);
      try {
        writeQuickly(finished, text);
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error;
        mkdirSync(folder(agentId), { recursive: true, mode: 0o700 });
        writeQuickly(finished, text);
      }
      try {
        // In place of what a power cut may have left of an earlier try.
        renameSync(finished, path);
      } catch (error) {
        removeFile(finished);
        throw error;
      }
      // Taken between our look and our write by an agent that had it from another process.
      if (isTaken(name)) removeFile(path);
    },
    sync: (agentId, key, slot) => syncNamed(join(folder(agentId), nameOf(key, slot))),
    list: async (agentId) => (await read(agentId)).map(({ entry }) => entry),
    async pending(agentId, key) {
      const prefix = `${key.id}.${key.uid}.`;
      return namesIn(agentId).filter((name) => name.startsWith(prefix)).length;
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
