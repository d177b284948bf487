import { createHash, randomBytes, scrypt } from "node:crypto";
import { link, mkdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "../shared/durable.ts";
import { CamelError, codeOf } from "../shared/errors.ts";
import { openKeychain, type Keychain } from "./keychain.ts";

/**
 * Where the key comes from: CAMEL_MCP_KEY, else a passphrase, else the system's keychain, else a file beside the
 * data directory (never in it: a copy of the data alone must be unreadable). New files are sealed with the first
 * source's current key; files are opened with any key at hand, which is what makes rotation safe to interrupt.
 */
export interface Key {
  id: string;
  bytes: Buffer;
}

export type KeySource = "CAMEL_MCP_KEY" | "passphrase" | "keychain" | "key file";

export interface Keyring {
  source: KeySource;
  current: Key;
  /** Any key at hand with this id. */
  find(id: string): Key | undefined;
}

export interface KeyringOptions {
  home: string;
  env: NodeJS.ProcessEnv;
  /** False: leave the system's keychain alone. */
  keychain: boolean;
}

interface StoredKeys {
  version: 1;
  current: string;
  keys: { id: string; key: string }[];
}

function keyFileOf(home: string): string {
  return `${home}.key`;
}

/** The keys as they are now; undefined when none was ever made and `make` is false. */
export async function loadKeyring(
  options: KeyringOptions,
  { make }: { make: boolean },
): Promise<Keyring | undefined> {
  const { env, home } = options;
  const fixed: { source: KeySource; key: Key }[] = [];
  const others: Key[] = [];
  const given = env["CAMEL_MCP_KEY"];
  if (given !== undefined && given !== "") fixed.push({ source: "CAMEL_MCP_KEY", key: parseKey(given) });
  const before = env["CAMEL_MCP_KEY_PREVIOUS"];
  if (before !== undefined && before !== "") others.push(parseKey(before));
  for (const [name, current] of [
    ["CAMEL_MCP_PASSPHRASE", true],
    ["CAMEL_MCP_PASSPHRASE_PREVIOUS", false],
  ] as const) {
    const passphrase = env[name];
    if (passphrase === undefined || passphrase === "") continue;
    const key = await keyFromPassphrase(passphrase, home);
    if (current) fixed.push({ source: "passphrase", key });
    else others.push(key);
  }

  const kept = await readKept(options);
  others.push(...kept.flatMap(({ stored }) => stored.keys.map(keyOf)));
  const [first] = fixed;
  if (first !== undefined)
    return keyring(first.source, first.key, [...fixed.map((one) => one.key), ...others]);
  const [place] = kept;
  if (place !== undefined) {
    const current = others.find((key) => key.id === place.stored.current);
    if (current === undefined) throw damagedKeys(place.source);
    return keyring(place.source, current, others);
  }
  return make ? makeFirstKey(options) : undefined;
}

/** Adds a new current key beside the old ones; `dropOldKeys` forgets those once nothing is sealed with them. */
export async function addKey(options: KeyringOptions): Promise<void> {
  const [place] = await readKept(options);
  if (place === undefined) {
    await makeFirstKey(options);
    return;
  }
  const key = newKey();
  await place.write({
    version: 1,
    current: key.id,
    keys: [...place.stored.keys, { id: key.id, key: key.bytes.toString("base64") }],
  });
}

export async function dropOldKeys(options: KeyringOptions): Promise<void> {
  const [place] = await readKept(options);
  if (place === undefined) return;
  const { current, keys } = place.stored;
  await place.write({ version: 1, current, keys: keys.filter((one) => one.id === current) });
}

interface Kept {
  source: KeySource;
  stored: StoredKeys;
  write(keys: StoredKeys): Promise<void>;
}

async function readKept(options: KeyringOptions): Promise<Kept[]> {
  const kept: Kept[] = [];
  const keychain = await keychainOf(options);
  const inKeychain = await keychain?.read();
  if (keychain !== undefined && inKeychain !== undefined) {
    kept.push({
      source: "keychain",
      stored: parseStored(inKeychain, "keychain"),
      write: (keys) => keychain.write(JSON.stringify(keys)),
    });
  }
  const path = keyFileOf(options.home);
  const inFile = await readKeyFile(path);
  if (inFile !== undefined) {
    kept.push({
      source: "key file",
      stored: parseStored(inFile, "key file"),
      write: (keys) => replaceFile(path, `${JSON.stringify(keys)}\n`),
    });
  }
  return kept;
}

async function readKeyFile(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  if (process.platform !== "win32" && (found.mode & 0o077) !== 0) {
    throw new CamelError("path_forbidden", `The key file ${path} can be read by other users.`, {
      next: `Run: chmod 600 ${path}`,
    });
  }
  return readFile(path, "utf8");
}

async function makeFirstKey(options: KeyringOptions): Promise<Keyring> {
  const key = newKey();
  const stored: StoredKeys = {
    version: 1,
    current: key.id,
    keys: [{ id: key.id, key: key.bytes.toString("base64") }],
  };
  const keychain = await keychainOf(options);
  if (
    keychain !== undefined &&
    (await keychain.write(JSON.stringify(stored)).then(
      () => true,
      () => false,
    ))
  )
    return keyring("keychain", key, [key]);
  const path = keyFileOf(options.home);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const finished = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  await writeFile(finished, `${JSON.stringify(stored)}\n`, { flag: "wx", mode: 0o600, flush: true });
  try {
    // A link never replaces: of two processes that start at once, one key wins and both use it.
    await link(finished, path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await unlink(finished).catch(() => {});
  }
  const made = await loadKeyring({ ...options, env: {} }, { make: false });
  if (made === undefined) throw damagedKeys("key file");
  return made;
}

/** A home other than the user's own keeps its key beside it: throw-away homes must not fill the keychain. */
async function keychainOf(options: KeyringOptions): Promise<Keychain | undefined> {
  return options.keychain ? openKeychain(options.home) : undefined;
}

function keyring(source: KeySource, current: Key, all: readonly Key[]): Keyring {
  const byId = new Map(all.map((key) => [key.id, key]));
  byId.set(current.id, current);
  return { source, current, find: (id) => byId.get(id) };
}

function newKey(): Key {
  return withId(randomBytes(32));
}

function withId(bytes: Buffer): Key {
  const id = createHash("sha256").update("camel-mcp key id\0").update(bytes).digest("hex").slice(0, 16);
  return { id, bytes };
}

function keyOf(stored: { id: string; key: string }): Key {
  return withId(Buffer.from(stored.key, "base64"));
}

function parseKey(text: string): Key {
  const bytes = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64");
  if (bytes.length !== 32) {
    throw new CamelError("invalid_config", "CAMEL_MCP_KEY is not a key of 32 bytes.", {
      next: "Give 64 hexadecimal digits or base64 of 32 bytes, for example from: openssl rand -hex 32",
    });
  }
  return withId(bytes);
}

function parseStored(text: string, source: KeySource): StoredKeys {
  try {
    const value = JSON.parse(text) as Partial<StoredKeys>;
    if (
      value.version === 1 &&
      typeof value.current === "string" &&
      Array.isArray(value.keys) &&
      value.keys.every((one) => Buffer.from(one.key, "base64").length === 32 && keyOf(one).id === one.id)
    )
      return { version: 1, current: value.current, keys: value.keys };
  } catch {
    // Said below.
  }
  throw damagedKeys(source);
}

function damagedKeys(source: KeySource): CamelError {
  return new CamelError("damaged", `The keys in the ${source} can't be read.`, {
    next: "Put a backup of it back. Without the key the stored tools can't be opened.",
  });
}

const derived = new Map<string, Promise<Buffer>>();

async function keyFromPassphrase(passphrase: string, home: string): Promise<Key> {
  const salt = await saltOf(home);
  const name = createHash("sha256").update(salt).update(passphrase).digest("hex");
  // Slow on purpose, so once a process.
  let bytes = derived.get(name);
  if (bytes === undefined) {
    bytes = new Promise<Buffer>((resolve, reject) => {
      scrypt(passphrase, salt, 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 }, (error, key) => {
        if (error === null) resolve(key);
        else reject(error);
      });
    });
    derived.set(name, bytes);
  }
  return withId(await bytes);
}

async function saltOf(home: string): Promise<Buffer> {
  const path = `${home}/passphrase.salt`;
  await mkdir(home, { recursive: true, mode: 0o700 });
  const finished = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const existing = await readFile(path).catch(() => undefined);
  if (existing !== undefined && existing.length === 16) return existing;
  await writeFile(finished, randomBytes(16), { flag: "wx", mode: 0o600, flush: true });
  await link(finished, path).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
  await unlink(finished);
  const salt = await readFile(path);
  if (salt.length !== 16) throw damagedKeys("passphrase");
  return salt;
}
