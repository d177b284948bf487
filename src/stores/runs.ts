import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { replaceFile } from "../shared/durable.ts";
import { codeOf } from "../shared/errors.ts";
import { linkExclusive, publishExclusive, raceForName, removeFile, syncNamed } from "./exclusive.ts";
import type { Claim, RunRecord, RunResult, Started } from "./jobs.ts";

/** A job's chain is found by these two. */
export interface ChainKey {
  id: string;
  uid: string;
}

export interface Chain {
  newest: Claim | undefined;
  /** Claims without a result, oldest first. */
  unfinished: number[];
  /** When it was read, by a clock that nobody sets. */
  readAt: number;
}

/** A claim that somebody is, or was, at work on. */
export interface ActiveClaim extends ChainKey {
  seq: number;
  nonce: string;
  file: string;
}

/**
 * Markers, in order: intent (a finished file in active/), claim (the same file, linked into the job's chain under
 * the next number), started, result. Each is made exclusively and read by anybody.
 */
export interface RunStore {
  chain(key: ChainKey): Promise<Chain>;
  /**
   * Undefined when another process has made that claim, or a later one, meanwhile. `after` is the newest claim of a
   * chain that was read at `readAt`. The claim holds against all other processes; against a power cut once `sync`ed.
   */
  claim(
    key: ChainKey,
    draft: Omit<Claim, "seq" | "nonce" | "previous">,
    after: Claim | undefined,
    readAt?: number,
  ): Promise<Claim | undefined>;
  /** Brings a claim to the disk itself. Needed before a run that must not be made twice, and before any result. */
  sync(key: ChainKey, claim: Claim): Promise<void>;
  /** False when that attempt was started before: whoever gets true, and nobody else, runs it. */
  start(key: ChainKey, seq: number, started: Started): Promise<boolean>;
  /** False when there is a result already; the first one stands. */
  finish(key: ChainKey, seq: number, result: RunResult): Promise<boolean>;
  record(key: ChainKey, seq: number): Promise<RunRecord | undefined>;
  /** Newest first, of all jobs that ever had this id, whoever's they were. */
  history(id: string, limit: number, isWanted?: (run: RunRecord) => boolean): Promise<RunRecord[]>;
  /** Ids of all jobs with a history. */
  ids(): Promise<string[]>;
  active(): Promise<ActiveClaim[]>;
  activeEntry(key: ChainKey, claim: Claim): ActiveClaim;
  /** Marks an unfinished claim as one to look after, should a power cut have taken its marker. */
  reactivate(key: ChainKey, seq: number): Promise<void>;
  /** Nothing is left to do for it. */
  settle(active: ActiveClaim): void;
  /** False for a claim made out of turn by a process that slept too long; it counts for nothing. */
  isInChain(key: ChainKey, claim: Claim): Promise<boolean>;
  withdraw(key: ChainKey, claim: Claim): Promise<void>;
  prune(key: ChainKey, keep: number): Promise<void>;
  /** Forgets the history of jobs that are gone and last ran before that time. */
  forget(before: number, isThere: (key: ChainKey) => Promise<boolean>): Promise<void>;
}

const CLAIM = /^(\d{8})\.claim$/;
/** A claim younger than this is never pruned, so whoever claims within it can't be fooled by a pruned chain. */
const YOUNG_MS = 600_000;
const QUICK_MS = 60_000;
/** Where hard links are refused a crash can leave half a claim; after this time nobody is still writing it. */
const HALF_WRITTEN_MS = 10_000;

export function createFileRuns(options: { directory: string; clock: Clock }): RunStore {
  const { clock } = options;
  const chains = join(options.directory, "runs");
  const activeFolder = join(options.directory, "active");
  const folderOf = ({ id, uid }: ChainKey): string => join(chains, id, uid);
  const fileOf = (key: ChainKey, seq: number, kind: string): string =>
    join(folderOf(key), `${String(seq).padStart(8, "0")}.${kind}`);
  const intentOf = (key: ChainKey, claim: Pick<Claim, "seq" | "nonce">): string =>
    join(activeFolder, `${key.id}.${key.uid}.${claim.seq}.${claim.nonce}`);
  const made = new Set<string>();
  const ensure = (folder: string): void => {
    if (made.has(folder)) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    made.add(folder);
  };

  const claimAt = async (key: ChainKey, seq: number): Promise<Claim | undefined> => {
    const path = fileOf(key, seq, "claim");
    const claim = readJson<Claim>(path);
    if (claim === undefined) return undefined;
    if (claim !== "broken" && isClaim(claim)) return claim;
    const age = clock.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? clock.now());
    if (age < HALF_WRITTEN_MS) throw new Error(`the claim ${path} is being written`);
    const before = seq > 1 ? await claimAt(key, seq - 1) : undefined;
    const repaired: Claim = {
      seq,
      nonce: randomBytes(8).toString("hex"),
      previous: before?.nonce ?? "",
      slot: before?.slot ?? 0,
      newestSlot: before?.newestSlot ?? 0,
      runs: before?.runs ?? 0,
      manual: true,
      claimedAt: clock.now(),
      ...(before?.agentId === undefined ? {} : { agentId: before.agentId }),
      owner: { pid: 0, host: "", socket: "" },
      final: { status: "missed", reason: "a crash cut this claim off; its slot was claimed again" },
    };
    await replaceFile(path, JSON.stringify(repaired));
    await publish(key, seq, "result", {
      status: "missed",
      text: repaired.final?.reason ?? "",
      finishedAt: clock.now(),
    } satisfies RunResult);
    return repaired;
  };

  const publish = async (key: ChainKey, seq: number, kind: string, value: unknown): Promise<boolean> => {
    ensure(folderOf(key));
    return publishExclusive(fileOf(key, seq, kind), JSON.stringify(value));
  };

  const namesIn = (folder: string): string[] => {
    // Most jobs have not run yet, and throwing a hundred thousand errors takes seconds.
    if (!existsSync(folder)) return [];
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  };
  const seqsOf = (names: readonly string[]): number[] =>
    names
      .map((name) => Number(CLAIM.exec(name)?.[1] ?? Number.NaN))
      .filter((seq) => !Number.isNaN(seq))
      .sort((a, b) => a - b);

  const record = async (key: ChainKey, seq: number): Promise<RunRecord | undefined> => {
    const claim = await claimAt(key, seq);
    if (claim === undefined) return undefined;
    const result = readJson<RunResult>(fileOf(key, seq, "result"));
    let started: Started | undefined;
    for (let attempt = 1; ; attempt++) {
      const found = readJson<Started>(fileOf(key, seq, `started${attempt}`));
      if (found === undefined || found === "broken") break;
      started = found;
    }
    return {
      job: { id: key.id, uid: key.uid },
      claim,
      ...(started === undefined ? {} : { started }),
      ...(result === undefined ? {} : { result: result === "broken" ? unreadable(key, seq) : result }),
    };
  };

  /** It has ended, or there would be no such file; how is not known any more. */
  const unreadable = (key: ChainKey, seq: number): RunResult => {
    const path = fileOf(key, seq, "result");
    return {
      status: "interrupted",
      text: `The result can't be read: ${path}.`,
      finishedAt: Math.floor(statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? clock.now()),
    };
  };

  const isInChain = async (key: ChainKey, claim: Claim): Promise<boolean> => {
    const own = await claimAt(key, claim.seq);
    if (own?.nonce !== claim.nonce) return false;
    const seqs = seqsOf(namesIn(folderOf(key)));
    if (seqs.at(-1) === claim.seq) return true;
    return (await claimAt(key, claim.seq + 1))?.previous === claim.nonce;
  };

  return {
    record,
    isInChain,
    async chain(key) {
      const readAt = clock.monotonic();
      const names = namesIn(folderOf(key));
      const seqs = seqsOf(names);
      const last = seqs.at(-1);
      const present = new Set(names);
      return {
        newest: last === undefined ? undefined : await claimAt(key, last),
        unfinished: seqs.filter((seq) => !present.has(`${String(seq).padStart(8, "0")}.result`)),
        readAt,
      };
    },
    async claim(key, draft, after, readAt = clock.monotonic()) {
      const seq = (after?.seq ?? 0) + 1;
      // Most often another process was first: seen here, it costs no write.
      if (existsSync(fileOf(key, seq, "claim"))) return undefined;
      ensure(folderOf(key));
      ensure(activeFolder);
      const claim: Claim = {
        seq,
        nonce: randomBytes(8).toString("hex"),
        previous: after?.nonce ?? "",
        ...draft,
      };
      const intent = intentOf(key, claim);
      let won: boolean;
      try {
        won = raceForName(intent, JSON.stringify(claim), fileOf(key, seq, "claim"));
      } catch (error) {
        removeFile(intent);
        // Somebody has removed the folders: they are made again at the next try.
        if (codeOf(error) === "ENOENT") made.clear();
        throw error;
      }
      if (won && clock.monotonic() - readAt > QUICK_MS && !(await isInChain(key, claim))) {
        removeFile(fileOf(key, seq, "claim"));
        won = false;
      }
      if (!won) removeFile(intent);
      return won ? claim : undefined;
    },
    sync: (key, claim) => syncNamed(fileOf(key, claim.seq, "claim")),
    start: (key, seq, started) => publish(key, seq, `started${started.attempt}`, started),
    finish: (key, seq, result) => publish(key, seq, "result", result),
    async history(id, limit, isWanted = () => true) {
      const found: RunRecord[] = [];
      for (const uid of namesIn(join(chains, id))) {
        const key = { id, uid };
        for (const seq of seqsOf(namesIn(folderOf(key))).slice(-limit)) {
          const one = await record(key, seq);
          if (one !== undefined && isWanted(one)) found.push(one);
        }
      }
      return found
        .sort((a, b) => b.claim.claimedAt - a.claim.claimedAt || b.claim.seq - a.claim.seq)
        .slice(0, limit);
    },
    ids: () => Promise.resolve(namesIn(chains)),
    async active() {
      return namesIn(activeFolder).flatMap((name) => {
        const [id, uid, seq, nonce, more] = name.split(".");
        if (
          id === undefined ||
          uid === undefined ||
          seq === undefined ||
          nonce === undefined ||
          more !== undefined
        )
          return [];
        return [{ id, uid, seq: Number(seq), nonce, file: join(activeFolder, name) }];
      });
    },
    async reactivate(key, seq) {
      const claim = await claimAt(key, seq);
      if (claim === undefined) return;
      ensure(activeFolder);
      await linkExclusive(fileOf(key, seq, "claim"), intentOf(key, claim));
    },
    activeEntry: (key, claim) => ({
      id: key.id,
      uid: key.uid,
      seq: claim.seq,
      nonce: claim.nonce,
      file: intentOf(key, claim),
    }),
    settle: (active) => removeFile(active.file),
    async withdraw(key, claim) {
      removeFile(fileOf(key, claim.seq, "claim"));
    },
    async forget(before, isThere) {
      for (const id of namesIn(chains)) {
        for (const uid of namesIn(join(chains, id))) {
          const key = { id, uid };
          const folder = folderOf(key);
          const changed = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? before;
          if (changed >= before || (await isThere(key))) continue;
          rmSync(folder, { recursive: true, force: true });
          made.delete(folder);
        }
      }
    },
    async prune(key, keep) {
      const folder = folderOf(key);
      const names = namesIn(folder);
      const present = new Set(names);
      const seqs = seqsOf(names);
      for (const seq of seqs.slice(0, Math.max(0, seqs.length - Math.max(1, keep)))) {
        const prefix = String(seq).padStart(8, "0");
        // Only from the oldest on and only what is finished, so a chain never has holes.
        if (!present.has(`${prefix}.result`)) return;
        const claim = await claimAt(key, seq);
        if (claim !== undefined && clock.now() - claim.claimedAt < YOUNG_MS) return;
        removeFile(join(folder, `${prefix}.claim`));
        const rest = names.filter((name) => name.startsWith(`${prefix}.`) && !name.endsWith(".claim"));
        for (const name of rest) removeFile(join(folder, name));
      }
    },
  };
}

function readJson<T>(path: string): T | undefined | "broken" {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as T) : "broken";
  } catch {
    return "broken";
  }
}

function isClaim(value: Partial<Claim>): boolean {
  return (
    typeof value.nonce === "string" &&
    typeof value.owner?.socket === "string" &&
    [value.seq, value.slot, value.newestSlot, value.runs, value.claimedAt].every(Number.isFinite)
  );
}
