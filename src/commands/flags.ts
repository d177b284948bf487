import { parseArgs, type ParseArgsConfig } from "node:util";
import { messageOf } from "../shared/errors.ts";
import { closest } from "../shared/glob.ts";
import { usageError } from "./options.ts";

/** The flags of all commands, and which command takes which. */
const FLAGS = {
  workspace: { type: "string" },
  "memory-root": { type: "string" },
  agent: { type: "string" },
  config: { type: "string" },
  home: { type: "string" },
  "log-level": { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
  host: { type: "string" },
  port: { type: "string" },
  scope: { type: "string" },
  note: { type: "string" },
  pretty: { type: "boolean" },
  "dry-run": { type: "boolean" },
  force: { type: "boolean" },
  name: { type: "string" },
  url: { type: "string" },
  "token-env": { type: "string" },
  command: { type: "string" },
  print: { type: "boolean" },
  list: { type: "boolean" },
  "with-schema": { type: "boolean" },
  openai: { type: "boolean" },
  max: { type: "string" },
  file: { type: "string" },
  since: { type: "string" },
  until: { type: "string" },
  heading: { type: "string" },
  "allow-secrets": { type: "boolean" },
  id: { type: "string" },
  schedule: { type: "string" },
  prompt: { type: "string" },
  tz: { type: "string" },
  runner: { type: "string" },
  overlap: { type: "string" },
  missed: { type: "string" },
  timeout: { type: "string" },
  "missed-within": { type: "string" },
  "on-interrupted": { type: "string" },
  "max-runs": { type: "string" },
  jitter: { type: "string" },
} as const satisfies ParseArgsConfig["options"];

type FlagName = keyof typeof FLAGS;

export type Flags = {
  -readonly [Name in FlagName]?: (typeof FLAGS)[Name]["type"] extends "boolean" ? boolean : string;
};

const EVERYWHERE: readonly FlagName[] = [
  "workspace",
  "memory-root",
  "agent",
  "config",
  "home",
  "log-level",
  "json",
  "help",
  "version",
];

interface Syntax {
  /** How many words may follow the command. */
  words: number;
  flags?: readonly FlagName[];
}

const INSTALLS_TICK: Syntax = { words: 2, flags: ["print", "dry-run"] };

/**
 * A flag or word that a command doesn't know is refused, never ignored: `--dry-run` where there is none would
 * write, and an unquoted text would be cut to its first word. "COMMAND WORD" goes before "COMMAND".
 */
export const SYNTAX: Record<string, Syntax> = {
  "": { words: 0 },
  serve: { words: 0, flags: ["host", "port"] },
  connect: { words: 1, flags: ["token-env"] },
  call: { words: 2 },
  "tools list": { words: 1, flags: ["with-schema", "openai", "pretty"] },
  tools: { words: 2, flags: ["with-schema", "openai", "pretty"] },
  patch: { words: 1, flags: ["dry-run"] },
  checkpoint: { words: Infinity, flags: ["dry-run", "force"] },
  memory: { words: Infinity, flags: ["max", "file", "since", "until", "heading", "allow-secrets"] },
  policy: { words: 3 },
  "policy command": { words: Infinity },
  secret: { words: 2 },
  key: { words: 1 },
  approvals: { words: 2, flags: ["note"] },
  insights: { words: 1 },
  token: { words: 2, flags: ["scope"] },
  cron: {
    words: 3,
    flags: [
      "id",
      "name",
      "schedule",
      "prompt",
      "tz",
      "runner",
      "overlap",
      "missed",
      "missed-within",
      "on-interrupted",
      "timeout",
      "max-runs",
      "until",
      "jitter",
    ],
  },
  "cron install": INSTALLS_TICK,
  "cron uninstall": INSTALLS_TICK,
  "cron supervise": { words: 4 },
  install: {
    words: 1,
    flags: ["scope", "name", "url", "token-env", "command", "dry-run", "print", "list"],
  },
  uninstall: { words: 1, flags: ["scope", "name", "dry-run"] },
  init: { words: 0, flags: ["scope", "print"] },
  doctor: { words: 0 },
  demo: { words: 0 },
};

export function parseCommandLine(argv: readonly string[]): { flags: Flags; words: string[] } {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: FLAGS, allowPositionals: true });
    return { flags: values, words: positionals };
  } catch (error) {
    const message = messageOf(error);
    const unknown = /Unknown option '(-[^']*)'/.exec(message)?.[1];
    if (unknown !== undefined) throw usageError(`${unknown} is not a flag.${guessFor(unknown)}`);
    const bare = /'(?:-\w, )?(--[\w-]+) <value>' argument missing/.exec(message)?.[1];
    throw usageError(bare === undefined ? `${message}.` : `${bare} needs a value.`);
  }
}

function guessFor(unknown: string): string {
  const guess = closest(unknown.replace(/^-+/, ""), Object.keys(FLAGS));
  return guess === undefined || !unknown.startsWith("--")
    ? " Quote a text that starts with a dash together with the words around it, or put -- before it."
    : ` Did you mean --${guess}?`;
}

export function checkSyntax(flags: Flags, words: readonly string[]): void {
  const [command = "", action = ""] = words;
  const syntax = SYNTAX[`${command} ${action}`] ?? SYNTAX[command];
  if (syntax === undefined) return;
  const known = [...EVERYWHERE, ...(syntax.flags ?? [])];
  for (const name of Object.keys(flags) as FlagName[]) {
    if (known.includes(name)) continue;
    const own = (syntax.flags ?? []).map((one) => `--${one}`).join(", ");
    throw usageError(
      `--${name} is not a flag of ${command === "" ? "the server" : `\`${command}\``}.${own === "" ? "" : ` It has ${own}.`} Nothing was done.`,
    );
  }
  const extra = words[syntax.words + 1];
  if (extra !== undefined)
    throw usageError(
      `"${extra}" is one word too many for \`${command}\`. Put quotes around a text with spaces. Nothing was done.`,
    );
}
