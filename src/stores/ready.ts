import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, stat, unlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { codeOf } from "../shared/errors.ts";

/** A run that will need a process at a known time. */
export interface ExpectedRun {
  id: string;
  due: number;
  workspace?: string | undefined;
}

/**
 * Processes that have got ready and wait for a run. All servers of a home share them: whoever has a claim takes
 * one, and two hundred servers that expect the same run make one process ready, not two hundred.
 */
export interface ReadyPool {
  /** A process waits at this socket. What it returns takes that back; false when somebody has taken it meanwhile. */
  offer(kind: string, socket: string): Promise<() => Promise<boolean>>;
  /** The socket of one that waits, and is nobody else's from now on. */
  take(kind: string): Promise<string | undefined>;
  /** For how many of these runs this server is to get a process ready. */
  missing(kind: string, runs: readonly ExpectedRun[]): Promise<number>;
}

/** One that nobody needed leaves after this time. */
export const READY_MS = 10_000;
const FORGOTTEN_MS = 60_000;
const MOST_READY = 4;

/** Only a process that was started in the same way will do for a run. */
export function kindOf(start: readonly (string | undefined)[]): string {
  return createHash("sha256").update(JSON.stringify(start)).digest("hex").slice(0, 12);
}

export function createReadyPool(options: { directory: string; clock: Clock }): ReadyPool {
  const { directory, clock } = options;
  const names = (): Promise<string[]> => readdir(directory).catch(() => []);
  const ageOf = (name: string): Promise<number> =>
    stat(join(directory, name)).then(
      ({ mtimeMs }) => clock.now() - mtimeMs,
      () => Number.POSITIVE_INFINITY,
    );
  /** Nothing here has to survive a power cut. */
  const make = async (name: string, text: string): Promise<boolean> => {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    try {
      await writeFile(join(directory, name), text, { flag: "wx", mode: 0o600 });
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    }
  };
  /** Of all who remove a file, one succeeds. */
  const remove = (name: string): Promise<boolean> =>
    unlink(join(directory, name)).then(
      () => true,
      () => false,
    );

  return {
    async offer(kind, socket) {
      const name = `${kind}.${basename(socket)}`;
      await make(name, socket);
      return () => remove(name);
    },
    async take(kind) {
      for (const name of await names()) {
        if (!name.startsWith(`${kind}.`)) continue;
        const socket = await readFile(join(directory, name), "utf8").catch(() => "");
        if ((await remove(name)) && socket !== "") return socket;
      }
      return undefined;
    },
    async missing(kind, runs) {
      let waiting = 0;
      for (const name of await names()) {
        const age = await ageOf(name);
        if (age > FORGOTTEN_MS) await remove(name);
        else if (name.startsWith(`${kind}.`) && age < READY_MS) waiting++;
      }
      let count = 0;
      for (const run of runs.slice(0, Math.max(0, Math.min(runs.length, MOST_READY) - waiting)))
        if (await make(`.${kind}.${run.id}.${run.due}`, "")) count++;
      return count;
    },
  };
}
