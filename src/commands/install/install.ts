import { homedir } from "node:os";
import type { CommandContext } from "../../cli.ts";
import { closest } from "../../shared/glob.ts";
import type { Flags } from "../flags.ts";
import { usageError } from "../options.ts";
import { findHosts } from "./find.ts";
import { HOST_IDS, hostOf, type HostId, type Scope } from "./hosts.ts";
import type { Machine } from "./machine.ts";
import { register, snippet, type Change } from "./register.ts";
import { entryFor, type Request } from "./request.ts";

/** `install HOST`: registers this server in a host's own config file. */
export async function install(context: CommandContext): Promise<number> {
  const { flags, print } = context;
  const machine = thisMachine();
  if (flags.list === true) return list(context, machine);
  const id = hostFrom(context.words);
  const request = requestFrom(flags);
  const entry = entryFor(id, request, machine);
  if (flags.print === true) {
    print(await snippet(id, request.name, entry));
    return 0;
  }
  return report(context, request, await register(id, request, entry, machine, { isDry: isDry(context) }));
}

/** `uninstall HOST`: takes the entry out again and leaves the rest as it is. */
export async function uninstall(context: CommandContext): Promise<number> {
  const id = hostFrom(context.words);
  const request = requestFrom(context.flags);
  const done = await register(id, request, undefined, thisMachine(), { isDry: isDry(context) });
  return report(context, request, done);
}

async function report(context: CommandContext, request: Request, change: Change): Promise<number> {
  const { flags, print } = context;
  const { title, after } = hostOf(change.host);
  const { backup, file } = change;
  const { path } = file;
  if (flags.json === true) {
    const { host, scope, action } = change;
    print(
      `${JSON.stringify({ host, scope, name: request.name, file: path, action, dryRun: isDry(context), backup })}\n`,
    );
    return 0;
  }
  if (isDry(context) && change.after !== (file.text ?? "")) {
    const { createTwoFilesPatch } = await import("diff");
    print(createTwoFilesPatch(path, path, file.text ?? "", change.after, "before", "after"));
    return 0;
  }
  const said = {
    created: `${title}: registered as "${request.name}" in ${path} (a new file).`,
    added: `${title}: registered as "${request.name}" in ${path}.`,
    updated: `${title}: "${request.name}" brought up to date in ${path}.`,
    unchanged: `${title}: "${request.name}" in ${path} is already as it should be.`,
    removed: `${title}: "${request.name}" taken out of ${path}.`,
    absent: `${title}: there is no "${request.name}" in ${path}.`,
  };
  print(`${said[change.action]}\n`);
  if (backup !== undefined) print(`The file as it was: ${backup}\n`);
  if (request.tokenEnv !== undefined && change.action !== "removed")
    print(`Start ${title} with the token in ${request.tokenEnv}.\n`);
  if (after !== undefined && change.action !== "unchanged" && change.action !== "absent") print(`${after}\n`);
  return 0;
}

async function list({ flags, print }: CommandContext, machine: Machine): Promise<number> {
  const found = await findHosts(machine);
  if (flags.json === true) {
    print(`${JSON.stringify(found, null, 2)}\n`);
    return 0;
  }
  for (const { id, isHere, files } of found) {
    print(
      `${id.padEnd(15)} ${isHere ? "found " : "      "} ${files.map((one) => `${one.scope}: ${one.path}`).join("   ")}\n`,
    );
  }
  return 0;
}

const isDry = ({ flags }: CommandContext): boolean => flags["dry-run"] === true;

function hostFrom(given: readonly string[]): HostId {
  const [word] = given;
  if (word === undefined)
    throw usageError(`Which host? One of ${HOST_IDS.join(", ")}. --list shows which are here.`);
  const id = HOST_IDS.find((one) => one === word);
  if (id !== undefined) return id;
  const near = HOST_IDS.filter(
    (one) => one.startsWith(word) || word.replaceAll(/[-_ ]/g, "").startsWith(one),
  );
  const guesses = near.length > 0 ? near : [closest(word, HOST_IDS)].filter((one) => one !== undefined);
  const hint = guesses.length === 0 ? "" : ` Did you mean ${guesses.map((one) => `"${one}"`).join(" or ")}?`;
  throw usageError(`"${word}" is not a host this knows.${hint} Known: ${HOST_IDS.join(", ")}.`);
}

function requestFrom(flags: Flags): Request {
  const { name = "camel", scope = "user", url, command } = flags;
  if (!/^[A-Za-z][\w-]{0,31}$/.test(name))
    throw usageError(`--name: "${name}" must be a letter, then letters, digits, - or _; at most 32.`);
  const tokenEnv = flags["token-env"];
  if (tokenEnv !== undefined && (!/^[A-Za-z_]\w*$/.test(tokenEnv) || /^camel_.{30}/.test(tokenEnv)))
    throw usageError("--token-env takes the NAME of an environment variable, never the token itself.");
  if (tokenEnv !== undefined && url === undefined) throw usageError("--token-env goes with --url.");
  if (url !== undefined) checkUrl(url);
  const passed = Object.fromEntries(
    (["workspace", "memory-root", "agent", "config", "home"] as const).flatMap((flag) =>
      flags[flag] === undefined ? [] : [[flag, flags[flag]]],
    ),
  );
  if (url !== undefined && Object.keys(passed).length > 0)
    throw usageError(
      `--${Object.keys(passed)[0]} belongs to the server; give it to \`serve\`, not with --url.`,
    );
  return {
    name,
    scope: scopeFrom(scope),
    passed,
    ...(command === undefined ? {} : { command }),
    ...(url === undefined ? {} : { url }),
    ...(tokenEnv === undefined ? {} : { tokenEnv }),
  };
}

export function scopeFrom(scope: string): Scope {
  if (scope !== "user" && scope !== "project")
    throw usageError(`--scope: "${scope}" is neither user nor project.`);
  return scope;
}

function checkUrl(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !["http:", "https:"].includes(parsed.protocol))
    throw usageError(`--url: "${url}" is not an http or https address.`);
  if (parsed.username !== "" || parsed.password !== "" || /token|key|secret/i.test(parsed.search))
    throw usageError(
      "--url must hold no secret. Put the token in an environment variable and name it with --token-env.",
    );
}

export function thisMachine(): Machine {
  return { platform: process.platform, env: process.env, home: homedir(), cwd: process.cwd() };
}
