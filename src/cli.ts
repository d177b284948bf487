#!/usr/bin/env node
import { parseArgs } from "node:util";
// Static on purpose: this is the start-up path of every host, and one file loads faster than several.
import { stdio } from "./commands/stdio.ts";
import { CamelError, toCamelError } from "./shared/errors.ts";
import { closest } from "./shared/glob.ts";
import { LOG_LEVELS, createLogger, type LogLevel, type Logger } from "./shared/log.ts";
import { VERSION } from "./shared/version.ts";
import { isAgentId } from "./shared/ids.ts";

/** argv -> command. The only file that prints errors and exits. */
const HELP = `camel-mcp ${VERSION}: an MCP server with tools worth trusting, under one policy.

Usage: camel-mcp [command] [flags]

Commands
  (none)                     serve one host on stdin and stdout; this is what mcp.json starts
  serve                      serve many hosts over HTTP: /mcp, /sse, /healthz
  connect URL                serve a host on stdin and stdout with a server elsewhere
  call TOOL JSON|@FILE|-     call a tool from the shell
  tools list|info|schema     show the tools and their schemas
  patch [FILE|-] [--dry-run] apply a patch in the current folder
  checkpoint list|show|restore
                             undo what a tool changed
  memory search|get|add|list|reindex|stats
                             the memory for people: search WORDS, get FILE[:FROM-TO], add TEXT, list [GLOB]
  policy explain TOOL JSON   say what policy would decide, and which line of which file decides
  policy command LINE        say whether a command line would need approval
  secret set|list|remove     values that tools use as secret://NAME; set reads the value from stdin
  key status|rotate          the key that tools and secrets are sealed with
  approvals list|show|approve|deny|pin
                             decide what waits for a person; needs a terminal
  insights [FOCUS]           how the tools are doing, and which one is missing
  token create|list|revoke   bearer tokens for \`serve\`
  cron list|add|run|...      scheduled jobs; cron tick fires what is due, cron install lets the system do it
  install HOST, uninstall    register in Claude Code, VS Code, Codex, ...; --list shows them
  init                       write a config file with every setting explained
  doctor                     check this installation and say what to do about what is wrong
  demo                       a short tour against a real server in a throw-away folder

Flags on every command (and their environment names)
  --workspace DIR    folder that file tools work in        CAMEL_WORKSPACE
  --memory-root DIR  folder with MEMORY.md and memory/     CAMEL_MEMORY_ROOT
  --agent ID         whose memory and policy               CAMELAGI_AGENT
  --config FILE      config file                           CAMEL_CONFIG
  --home DIR         state directory                       CAMELAGI_HOME
  --log-level LEVEL  silent, error, warn, info, debug      CAMEL_LOG_LEVEL
  --json             machine-readable output where a command has any
  --help, --version

\`camel-mcp COMMAND --help\` tells more about a command.
`;

const FLAGS = {
  workspace: { type: "string" },
  "memory-root": { type: "string" },
  agent: { type: "string" },
  config: { type: "string" },
  home: { type: "string" },
  "log-level": { type: "string" },
  host: { type: "string" },
  port: { type: "string" },
  scope: { type: "string" },
  note: { type: "string" },
  json: { type: "boolean" },
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
  id: { type: "string" },
  schedule: { type: "string" },
  prompt: { type: "string" },
  tz: { type: "string" },
  runner: { type: "string" },
  overlap: { type: "string" },
  missed: { type: "string" },
  timeout: { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

export interface Flags {
  workspace?: string;
  "memory-root"?: string;
  agent?: string;
  config?: string;
  home?: string;
  host?: string;
  port?: string;
  scope?: string;
  note?: string;
  json?: boolean;
  pretty?: boolean;
  "dry-run"?: boolean;
  force?: boolean;
  name?: string;
  url?: string;
  "token-env"?: string;
  command?: string;
  print?: boolean;
  list?: boolean;
  "with-schema"?: boolean;
  openai?: boolean;
  max?: string;
  file?: string;
  since?: string;
  until?: string;
  heading?: string;
  id?: string;
  schedule?: string;
  prompt?: string;
  tz?: string;
  runner?: string;
  overlap?: string;
  missed?: string;
  timeout?: string;
}

/** What a command gets: parsed words and flags, and where to print. It returns the exit code. */
export interface CommandContext {
  words: readonly string[];
  flags: Flags;
  agentId: string;
  log: Logger;
  print: (text: string) => void;
}

type Command = (context: CommandContext) => Promise<number>;

// Lazy: the host's start-up path must not pay for HTTP, the client or the demo.
const COMMANDS: Record<string, () => Promise<Command>> = {
  serve: async () => (await import("./commands/serve.ts")).serve,
  connect: async () => (await import("./commands/connect.ts")).connect,
  approvals: async () => (await import("./commands/approvals.ts")).approvals,
  call: async () => (await import("./commands/call.ts")).call,
  tools: async () => (await import("./commands/tools.ts")).tools,
  patch: async () => (await import("./commands/patch.ts")).patch,
  checkpoint: async () => (await import("./commands/checkpoint.ts")).checkpoint,
  memory: async () => (await import("./commands/memory.ts")).memory,
  policy: async () => (await import("./commands/policy.ts")).policy,
  secret: async () => (await import("./commands/secret.ts")).secret,
  key: async () => (await import("./commands/key.ts")).key,
  insights: async () => (await import("./commands/insights.ts")).insights,
  token: async () => (await import("./commands/token.ts")).token,
  cron: async () => (await import("./commands/cron.ts")).cron,
  install: async () => (await import("./commands/install/install.ts")).install,
  uninstall: async () => (await import("./commands/install/install.ts")).uninstall,
  init: async () => (await import("./commands/init.ts")).init,
  doctor: async () => (await import("./commands/doctor/doctor.ts")).doctor,
  demo: async () => (await import("./commands/demo.ts")).demo,
};

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parse(argv);
  if (values.version === true) return print(`${VERSION}\n`);
  if (values.help === true || positionals[0] === "help")
    return print(await helpFor(positionals[0] === "help" ? positionals[1] : positionals[0]));
  const { "log-level": levelFlag, help: _help, version: _version, ...flags } = values;
  const level = levelFlag ?? process.env["CAMEL_LOG_LEVEL"] ?? "warn";
  if (!LOG_LEVELS.includes(level as LogLevel))
    throw usage(`--log-level: "${level}" is not one of ${LOG_LEVELS.join(", ")}.`);
  const agentId = flags.agent ?? process.env["CAMELAGI_AGENT"] ?? "main";
  if (!isAgentId(agentId))
    throw usage(
      `--agent: "${agentId}" is not an agent id: letters, digits, dot, dash, underscore; at most 64.`,
    );
  const context: CommandContext = {
    words: positionals.slice(1),
    flags,
    agentId,
    log: createLogger(level as LogLevel, (line) => process.stderr.write(line)),
    print: (text) => void process.stdout.write(text),
  };
  const [name] = positionals;
  if (name === undefined) return stdio(context);
  const load = COMMANDS[name];
  if (load === undefined) {
    const guess = closest(name, Object.keys(COMMANDS));
    throw usage(`"${name}" is not a command.${guess === undefined ? "" : ` Did you mean "${guess}"?`}`);
  }
  return (await load())(context);
}

async function helpFor(command: string | undefined): Promise<string> {
  if (command === undefined) return HELP;
  const { HELP_PAGES } = await import("./commands/help.ts");
  return HELP_PAGES[command] ?? linesAbout(command) ?? HELP;
}

/** What the list of commands says about one, for those without a page. */
function linesAbout(command: string): string | undefined {
  const lines = HELP.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`  ${command} `));
  if (start === -1) return undefined;
  const more = lines.slice(start + 1).findIndex((line) => !line.startsWith("     "));
  return `camel-mcp ${lines
    .slice(start, start + 1 + more)
    .join("\n")
    .trim()}\n\nFlags on every command: camel-mcp --help\n`;
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: FLAGS, allowPositionals: true });
  } catch (error) {
    throw usage(error instanceof Error ? error.message : String(error));
  }
}

function usage(message: string): CamelError {
  return new CamelError("usage", message, { next: "See camel-mcp --help." });
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

main(process.argv.slice(2)).then(
  (code) => {
    // exitCode, not exit(): what is still being written to a pipe must reach its end.
    process.exitCode = code;
  },
  (thrown: unknown) => {
    const error = toCamelError(thrown);
    process.stderr.write(`camel-mcp: ${error.message}\n${error.next === undefined ? "" : `${error.next}\n`}`);
    if (error.code === "internal" && thrown instanceof Error) process.stderr.write(`${thrown.stack ?? ""}\n`);
    process.exitCode = error.code === "usage" ? 2 : 1;
  },
);
