import { CamelError } from "../../shared/errors.ts";
import { isObject } from "../../shared/is-object.ts";
import {
  backupOf,
  lockConfigFile,
  readConfigFile,
  writeConfigFile,
  type ConfigFile,
  type ConfigFs,
} from "./config-file.ts";
import { brokenFile, formatOf, isSame, type Format, type Place } from "./format.ts";
import { hostOf, type Entry, type Host, type HostId, type Scope } from "./hosts.ts";
import type { Machine } from "./machine.ts";

export interface Change {
  host: HostId;
  scope: Scope;
  file: ConfigFile;
  action: "created" | "added" | "updated" | "unchanged" | "removed" | "absent";
  after: string;
  /** The copy of the original, if this change made one. */
  backup?: string;
}

const ATTEMPTS = 3;

/** Puts an entry into a host's file, or takes it out where `entry` is undefined. */
export async function register(
  id: HostId,
  { scope, name }: { scope: Scope; name: string },
  entry: Entry | undefined,
  machine: Machine,
  { isDry = false, fs }: { isDry?: boolean; fs?: ConfigFs } = {},
): Promise<Change> {
  const plan = async (): Promise<Change> =>
    planChange(id, scope, await fileOf(id, scope, machine, fs), name, entry, fs);
  const first = await plan();
  if (isDry || !isChange(first)) return first;
  return lockConfigFile(first.file, { isPrivate: scope === "user" }, async () => {
    for (let attempt = 1; ; attempt++) {
      const change = await plan();
      if (!isChange(change)) return change;
      try {
        const backup = await applyChange(change, fs);
        return backup === undefined ? change : { ...change, backup };
      } catch (error) {
        // Hosts write these files too, some of them all the time, and know nothing of our lock.
        const isAgain = error instanceof CamelError && error.code === "conflict" && attempt < ATTEMPTS;
        if (!isAgain) throw error;
      }
    }
  });
}

const isChange = ({ after, file }: Change): boolean => after !== (file.text ?? "");

/** The file of a host: the candidate that exists, else the first. */
export async function fileOf(id: HostId, scope: Scope, machine: Machine, fs?: ConfigFs): Promise<ConfigFile> {
  const host = hostOf(id);
  const candidates = scope === "user" ? host.user(machine) : host.project?.(machine);
  if (candidates === undefined) {
    throw new CamelError("usage", `${host.title} has no project file for servers.`, {
      next: `Leave --scope project out: camel-mcp install ${id}`,
    });
  }
  const files = await Promise.all(candidates.map((path) => readConfigFile(path, fs)));
  const [first] = files;
  if (first === undefined) throw new Error(`${id} has no file`);
  return files.find((file) => file.text !== undefined) ?? first;
}

/** What is to be done; nothing is written yet. */
async function planChange(
  id: HostId,
  scope: Scope,
  file: ConfigFile,
  name: string,
  entry: Entry | undefined,
  fs?: ConfigFs,
): Promise<Change> {
  const host = hostOf(id);
  const format = await formatOf(host.format);
  const place: Place = { key: host.key, name, list: host.list === true };
  const before = file.text ?? "";
  const content = format.read(before, file.path);
  const present = entryIn(content, host, name, file.path);
  const change = (action: Change["action"], after: string): Change => ({
    host: id,
    scope,
    file,
    action,
    after,
  });

  if (entry === undefined) {
    if (present === undefined) return change("absent", before);
    const expected = withEntry(content, host, name, undefined);
    const without = edited(format, expected, file.path, () => format.remove(before, place));
    return change("removed", (await originalOf(file, host, place, { present, without }, fs)) ?? without);
  }
  const wanted = merged(present, entry);
  if (isSame(present, wanted)) return change("unchanged", before);
  const base = await baseOf(host, before);
  const expected = withEntry(format.read(base, file.path), host, name, wanted);
  const after = edited(format, expected, file.path, () => format.set(base, place, wanted));
  return change(file.text === undefined ? "created" : present === undefined ? "added" : "updated", after);
}

/** The file as it was before `install`, if nothing but our entry came in since. */
async function originalOf(
  file: ConfigFile,
  host: Host,
  place: Place,
  { present, without }: { present: Entry; without: string },
  fs: ConfigFs | undefined,
): Promise<string | undefined> {
  try {
    const { text: original } = await readConfigFile(backupOf(file), fs);
    // Not back to a file without anything: it isn't valid JSON, and hosts complain.
    if (original === undefined || original.trim() === "") return undefined;
    const format = await formatOf(host.format);
    if (entryIn(format.read(original, file.path), host, place.name, file.path) !== undefined)
      return undefined;
    const withOurs = format.set(await baseOf(host, original), place, present);
    return format.remove(withOurs, place) === without ? original : undefined;
  } catch {
    // An old copy that can't be read says nothing about the file.
    return undefined;
  }
}

/** A file of ours starts with what the host demands in every file. */
async function baseOf(host: Host, text: string): Promise<string> {
  return text.trim() === "" && host.newFile !== undefined ? newFileText(host) : text;
}

/** The last guard: the new text must say what the old one said, plus or minus our entry, and nothing else. */
function edited(format: Format, expected: Entry, file: string, edit: () => string): string {
  try {
    const after = edit();
    if (isSame(withoutEmpty(format.read(after, file)), withoutEmpty(expected))) return after;
  } catch {
    // What can't be read afterwards was not editable either.
  }
  throw brokenFile(
    file,
    undefined,
    "it is written in a way that can't be edited safely.",
    "Change the entry by hand; `camel-mcp install HOST --print` shows what it should hold.",
  );
}

/** Writes a planned change, unless the file has changed since it was read. */
async function applyChange(change: Change, fs?: ConfigFs): Promise<string | undefined> {
  const now = await readConfigFile(change.file.path, fs);
  if (now.text !== change.file.text) {
    throw new CamelError("conflict", `${change.file.path} was changed by another program just now.`, {
      next: "Try again.",
    });
  }
  return writeConfigFile(change.file, change.after, {
    isPrivate: change.scope === "user",
    ...(fs === undefined ? {} : { fs }),
  });
}

/** Only the host's own entry, in the host's format, for a person to paste. */
export async function snippet(id: HostId, name: string, entry: Entry): Promise<string> {
  const host = hostOf(id);
  const format = await formatOf(host.format);
  return format.set("", { key: host.key, name, list: host.list === true }, entry);
}

/** The registered servers of a file by name, at the top or below `keys`; used to look, not to change. */
export async function serversIn(
  id: HostId,
  file: ConfigFile,
  keys: readonly string[] = [],
): Promise<Map<string, Entry>> {
  const host = hostOf(id);
  const content: unknown = (await formatOf(host.format)).read(file.text ?? "", file.path);
  const container = [...keys, host.key].reduce((at, key) => (isObject(at) ? at[key] : undefined), content);
  const pairs: [unknown, unknown][] = Array.isArray(container)
    ? container.filter(isObject).map((one) => [one["name"], one])
    : Object.entries(isObject(container) ? container : {});
  return new Map(
    pairs.filter((pair): pair is [string, Entry] => typeof pair[0] === "string" && isObject(pair[1])),
  );
}

async function newFileText(host: Host): Promise<string> {
  if (host.format === "json") return `${JSON.stringify(host.newFile, null, 2)}\n`;
  const { stringify } = await import("yaml");
  return stringify(host.newFile);
}

function entryIn(content: Entry, host: Host, name: string, file: string): Entry | undefined {
  const container = content[host.key];
  // `key:` without a value, as in YAML, is an empty container.
  if (container === undefined || (container === null && host.format === "yaml")) return undefined;
  if (host.list === true ? !Array.isArray(container) : !isObject(container))
    throw brokenFile(file, undefined, `"${host.key}" is not a ${host.list === true ? "list" : "map"}.`);
  const entry: unknown = Array.isArray(container)
    ? container.find((one) => isObject(one) && one["name"] === name)
    : (container as Entry)[name];
  if (entry !== undefined && !isObject(entry))
    throw brokenFile(file, undefined, `"${host.key}.${name}" is not a map.`);
  return entry;
}

/** Says where the server is, in the words of any host; at most one of these may stay in an entry. */
const ADDRESS = ["command", "cmd", "url", "uri", "httpUrl", "serverUrl", "transport"];
/** Makes sense for one way of connecting only. */
const CONNECTION = [
  "type",
  "args",
  "env",
  "envs",
  "env_keys",
  "env_vars",
  "environment",
  "cwd",
  "headers",
  "http_headers",
  "env_http_headers",
  "bearer_token_env_var",
  "requestOptions",
];

/** Ours is only where to start; the user may have set them otherwise. */
const DEFAULTS = ["timeout", "tools"];

/** Ours over what is there; what the user set (time-outs, trust, environment) stays as long as it makes sense. */
function merged(present: Entry | undefined, entry: Entry): Entry {
  if (present === undefined) return entry;
  const address = ADDRESS.filter((key) => key in present);
  const sameWay = address.length === 0 || address.some((key) => key in entry);
  const stale = sameWay ? ADDRESS : [...ADDRESS, ...CONNECTION];
  const kept = Object.entries(present).filter(([key]) => !stale.includes(key));
  const chosen = kept.filter(([key]) => DEFAULTS.includes(key));
  return { ...Object.fromEntries(kept), ...entry, ...Object.fromEntries(chosen) };
}

function withEntry(content: Entry, host: Host, name: string, entry: Entry | undefined): Entry {
  const container = content[host.key];
  if (host.list === true) {
    const list: unknown[] = Array.isArray(container) ? container : [];
    const at = list.findIndex((one) => isObject(one) && one["name"] === name);
    const next = [...list];
    next.splice(at === -1 ? list.length : at, at === -1 ? 0 : 1, ...(entry === undefined ? [] : [entry]));
    return { ...content, [host.key]: next };
  }
  const { [name]: _, ...others } = isObject(container) ? container : {};
  return { ...content, [host.key]: entry === undefined ? others : { ...others, [name]: entry } };
}

/** TOML has no way to write an empty container, so its last entry takes it along. */
function withoutEmpty(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([, one]) => !isObject(one) || Object.keys(one).length > 0),
  );
}
