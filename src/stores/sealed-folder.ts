import { readFileSync, readdirSync, statSync } from "node:fs";
import { mkdir, readFile, readdir, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { replaceFile, syncDirectory, type DurableFs } from "../shared/durable.ts";
import { CamelError, codeOf } from "../shared/errors.ts";
import { withLock } from "../shared/lock.ts";
import { addKey, dropOldKeys, loadKeyring, type Keyring, type KeyringOptions } from "./keyring.ts";
import { keyIdOf, seal, unknownKeyError, unseal } from "./sealed.ts";

export interface SealedFolderOptions extends KeyringOptions {
  /** Folder below the home, one file an item. */
  folder: string;
  kind: string;
  clock: Clock;
  fs?: DurableFs;
}

export interface Refused {
  name: string;
  why: string;
  /** Where the file is now: aside where it was damaged, in its place where only the key is missing. */
  file: string;
}

export interface SealedFolder<T> {
  /** Changes whenever an item may have been added, changed or removed; one stat. */
  fingerprint(): string;
  /** Every item that can be opened, and what couldn't be. Only what changed since the last call is read. */
  load(): Promise<{ items: ReadonlyMap<string, T>; refused: readonly Refused[] }>;
  read(name: string): Promise<T | undefined>;
  /** Reads, changes and writes one item while no other process does; undefined removes it. */
  change(
    name: string,
    work: (current: T | undefined, names: readonly string[]) => T | undefined | Promise<T | undefined>,
  ): Promise<T | undefined>;
}

/** A folder of sealed JSON files, shared by every process on the same home. */
export function createSealedFolder<T extends object>(options: SealedFolderOptions): SealedFolder<T> {
  const directory = join(options.home, options.folder);
  const suffix = `.${options.kind}`;
  const fileOf = (name: string): string => join(directory, name + suffix);
  let keyring: Keyring | undefined;
  let cache = new Map<string, { mark: string; item: T }>();
  let refusedCache = new Map<string, { mark: string; refused: Refused }>();

  const open = (name: string, bytes: Buffer): T | { refused: "unknown_key" | "damaged"; why: string } => {
    const opened = unseal({ kind: options.kind, name }, bytes, (id) => keyring?.find(id));
    if ("refused" in opened) return opened;
    try {
      return JSON.parse(opened.plain.toString()) as T;
    } catch {
      return { refused: "damaged", why: "its content isn't what was sealed" };
    }
  };

  const names = (): string[] => {
    try {
      return readdirSync(directory)
        .filter((file) => file.endsWith(suffix) && !file.startsWith("."))
        .map((file) => file.slice(0, -suffix.length))
        .sort();
    } catch {
      return [];
    }
  };

  const setAside = async (name: string): Promise<string> => {
    const aside = join(directory, "refused");
    await mkdir(aside, { recursive: true, mode: 0o700 });
    const to = join(aside, `${name}.${options.clock.now()}${suffix}`);
    // Another process may have moved it first; then it is aside all the same.
    await rename(fileOf(name), to).catch(() => {});
    return to;
  };

  /** Only what was looked at: another process may have put a new file in its place meanwhile. */
  const setAsideIf = (name: string, bytes: Buffer): Promise<string> =>
    locked(async () => {
      const now = await readFile(fileOf(name)).catch(() => undefined);
      return now?.equals(bytes) === true ? setAside(name) : fileOf(name);
    }).catch(() => fileOf(name)); // the lock was taken all the while: it is set aside the next time

  /** By this process or another, now or in the past. */
  const setAsideBefore = async (): Promise<[string, { mark: string; refused: Refused }][]> => {
    const aside = join(directory, "refused");
    const files = (await readdir(aside).catch(() => [])).filter((file) => file.endsWith(suffix));
    return files.map((file) => {
      const name = file.slice(0, -suffix.length).replace(/\.\d+$/, "");
      const why = "its file was damaged or foreign and was set aside";
      return [name, { mark: "", refused: { name, why, file: join(aside, file) } }];
    });
  };

  const openOrReload = async (
    name: string,
    bytes: Buffer,
  ): Promise<T | { refused: "unknown_key" | "damaged"; why: string }> => {
    const first = open(name, bytes);
    if (!isRefused(first) || first.refused !== "unknown_key") return first;
    // Another process may have made or changed the key since we read it.
    keyring = await loadKeyring(options, { make: false });
    return open(name, bytes);
  };

  const locked = <R>(work: () => Promise<R>): Promise<R> =>
    withLock(
      join(options.home, "locks", `${options.kind}.lock`),
      { clock: options.clock, purpose: "changing the stored tools", timeoutMs: 10_000 },
      work,
    );

  return {
    fingerprint() {
      try {
        const found = statSync(directory);
        return `${found.ino}:${found.mtimeMs}`;
      } catch {
        return "";
      }
    },

    async load() {
      const items = new Map<string, { mark: string; item: T }>();
      const refused = new Map<string, { mark: string; refused: Refused }>();
      for (const name of names()) {
        let mark: string;
        let bytes: Buffer;
        try {
          const found = statSync(fileOf(name));
          mark = `${found.ino}:${found.size}:${found.mtimeMs}`;
          const known = cache.get(name);
          if (known?.mark === mark) {
            items.set(name, known);
            continue;
          }
          bytes = readFileSync(fileOf(name));
        } catch {
          continue; // Removed meanwhile.
        }
        const opened = await openOrReload(name, bytes);
        if (!isRefused(opened)) items.set(name, { mark, item: opened });
        else {
          const file = opened.refused === "damaged" ? await setAsideIf(name, bytes) : fileOf(name);
          refused.set(name, { mark, refused: { name, why: opened.why, file } });
        }
      }
      // What was set aside is said by every process, until its file is removed or one in order takes its place.
      for (const [name, one] of [...refusedCache, ...(await setAsideBefore())]) {
        if (!items.has(name) && !refused.has(name)) refused.set(name, one);
      }
      cache = items;
      refusedCache = refused;
      return {
        items: new Map([...items].map(([name, { item }]) => [name, item])),
        refused: [...refused.values()].map((one) => one.refused),
      };
    },

    async read(name) {
      const bytes = await readFile(fileOf(name)).catch(() => undefined);
      if (bytes === undefined) return undefined;
      const opened = await openOrReload(name, bytes);
      if (!isRefused(opened)) return opened;
      if (opened.refused === "unknown_key") throw unknownKeyError(`"${name}"`);
      throw new CamelError("damaged", `"${name}" can't be used: ${opened.why}.`, {
        next: "Make it again, or restore it from a backup.",
      });
    },

    change: (name, work) =>
      locked(async () => {
        const current = await readForChange(name);
        const next = await work(current, names());
        if (next === undefined) {
          if (current !== undefined) {
            await unlink(fileOf(name));
            await syncDirectory(directory, options.fs);
          }
          return undefined;
        }
        // Read again inside the lock: the key may have been rotated since.
        keyring = await loadKeyring(options, { make: !(await hasFiles()) });
        if (keyring === undefined) throw unknownKeyError("What is stored");
        const bytes = seal({ kind: options.kind, name }, Buffer.from(JSON.stringify(next)), keyring.current);
        await replaceFile(fileOf(name), bytes, options.fs === undefined ? {} : { fs: options.fs });
        return next;
      }),
  };

  async function readForChange(name: string): Promise<T | undefined> {
    const bytes = await readFile(fileOf(name)).catch(() => undefined);
    if (bytes === undefined) return undefined;
    const opened = await openOrReload(name, bytes);
    if (!isRefused(opened)) return opened;
    if (opened.refused === "unknown_key") throw unknownKeyError(`"${name}"`);
    await setAside(name);
    return undefined;
  }

  /** A new key beside files nobody here can open would hide that the right one is only missing. */
  async function hasFiles(): Promise<boolean> {
    return (await readdir(directory).catch(() => [])).some((file) => file.endsWith(suffix));
  }
}

function isRefused(value: object): value is { refused: "unknown_key" | "damaged"; why: string } {
  return "refused" in value && "why" in value;
}

function missing(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error;
}

/**
 * Makes a new key and seals everything with it. Each step leaves a home in which every file can be opened: the new
 * key is added before the first file uses it, and the old one is dropped only when no file names it any more. So
 * an interrupted rotation loses nothing, and the next one finishes it.
 */
export async function rotateKey(
  options: KeyringOptions & { clock: Clock; folders: readonly { folder: string; kind: string }[] },
): Promise<{ resealed: number; left: string[]; source: string }> {
  const lockPaths = options.folders.map(({ kind }) => join(options.home, "locks", `${kind}.lock`)).sort();
  const lockAll = (rest: readonly string[], work: () => Promise<Result>): Promise<Result> => {
    const [path, ...others] = rest;
    if (path === undefined) return work();
    return withLock(path, { clock: options.clock, purpose: "changing the key", timeoutMs: 30_000 }, () =>
      lockAll(others, work),
    );
  };
  type Result = { resealed: number; left: string[]; source: string };
  return lockAll(lockPaths, async () => {
    const before = await loadKeyring(options, { make: true });
    // A key given from outside is changed outside: the old one then comes as CAMEL_MCP_KEY_PREVIOUS.
    const ours = before?.source === "keychain" || before?.source === "key file";
    if (ours) await addKey(options);
    const keyring = await loadKeyring(options, { make: false });
    if (keyring === undefined) throw unknownKeyError("What is stored");
    let resealed = 0;
    const left: string[] = [];
    for (const { folder, kind } of options.folders) {
      const directory = join(options.home, folder);
      for (const file of await readdir(directory).catch(() => [])) {
        if (!file.endsWith(`.${kind}`) || file.startsWith(".")) continue;
        const path = join(directory, file);
        const bytes = await readFile(path).catch(missing);
        // A process that found it damaged has just set it aside.
        if (bytes === undefined) continue;
        if (keyIdOf(bytes) === keyring.current.id) continue;
        const name = { kind, name: file.slice(0, -kind.length - 1) };
        const opened = unseal(name, bytes, (id) => keyring.find(id));
        if ("refused" in opened) left.push(`${file}: ${opened.why}`);
        else {
          await replaceFile(path, seal(name, opened.plain, keyring.current));
          resealed += 1;
        }
      }
    }
    // A damaged file can't be opened with any key; one under a missing key was never under ours.
    if (ours) await dropOldKeys(options);
    return { resealed, left, source: keyring.source };
  });
}
