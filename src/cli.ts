#!/usr/bin/env node
import { homedir } from "node:os";
// Static on purpose: this is the start-up path of every host, and one file loads faster than several.
import { checkSyntax, parseCommandLine, type Flags } from "./commands/flags.ts";
import { usageError } from "./commands/options.ts";
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
  policy command|url WHAT    say whether a command line or an address would need approval
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

Exit codes: 0 done, 1 failed, 2 a wrong command line; \`policy\` also has 3 ask and 4 deny. With --json an error is
{"error": {code, message, next}} on stdout. \`camel-mcp COMMAND --help\` tells more about a command.
`;

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

/** What a shell expects of a program that was left with Ctrl-C. */
const INTERRUPTED = 130;

async function main(argv: readonly string[]): Promise<number> {
  const { flags, words } = parseCommandLine(argv);
  if (flags.version === true) return print(`${VERSION}\n`);
  if (flags.help === true || words[0] === "help")
    return print(await helpFor(words[0] === "help" ? words[1] : words[0]));
  const [name] = words;
  const load = name === undefined ? undefined : commandOf(name);
  checkSyntax(flags, words);
  const level = flags["log-level"] ?? process.env["CAMEL_LOG_LEVEL"] ?? "warn";
  if (!LOG_LEVELS.includes(level as LogLevel))
    throw usageError(`--log-level: "${level}" is not one of ${LOG_LEVELS.join(", ")}.`);
  const agentId = flags.agent ?? process.env["CAMELAGI_AGENT"] ?? "main";
  if (!isAgentId(agentId))
    throw usageError(
      `--agent: "${agentId}" is not an agent id: letters, digits, dot, dash, underscore; at most 64.`,
    );
  checkFolder();
  checkHome(flags.home ?? process.env["CAMELAGI_HOME"]);
  const context: CommandContext = {
    words: words.slice(1),
    flags,
    agentId,
    log: createLogger(level as LogLevel, (line) => process.stderr.write(line)),
    print: (text) => void process.stdout.write(text),
  };
  return load === undefined ? stdio(context) : (await load())(context);
}

function commandOf(name: string): () => Promise<Command> {
  const load = COMMANDS[name];
  if (load !== undefined) return load;
  const guess = closest(name, Object.keys(COMMANDS));
  throw usageError(`"${name}" is not a command.${guess === undefined ? "" : ` Did you mean "${guess}"?`}`);
}

/** A shell can stand in a folder that was removed; everything would fail there, and say something else. */
function checkFolder(): void {
  try {
    process.cwd();
  } catch (error) {
    throw new CamelError("not_found", "The folder this was started in is gone.", {
      cause: error,
      next: "Change to a folder that exists, then try again.",
    });
  }
}

/** In a container a user may have neither HOME nor a line in the system's list of users. */
function checkHome(stateFolder: string | undefined): void {
  try {
    homedir();
  } catch (error) {
    if (stateFolder === undefined)
      throw new CamelError("not_found", "This user has no home folder, so there is no place for the state.", {
        cause: error,
        next: "Set HOME, or give a folder with --home or CAMELAGI_HOME.",
      });
    // What systems call the home of users that have none.
    process.env["HOME"] = "/nonexistent";
  }
}

async function helpFor(command: string | undefined): Promise<string> {
  if (command === undefined) return HELP;
  const { HELP_PAGES } = await import("./commands/help.ts");
  commandOf(command);
  return HELP_PAGES[command] ?? HELP;
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** Who reads our output may leave before its end (`| head`). The command still ends what it began, in silence. */
function outliveReader(): void {
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    process.stderr.write(`camel-mcp: the output can't be written: ${error.message}\n`);
    process.on("exit", () => (process.exitCode = 1));
  });
}

/** A host that expands a variable to nothing means "not set"; an empty HOME would make any folder the home. */
function dropEmptySettings(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(env))
    if (env[name] === "" && /^(?:HOME|CLAUDE_PROJECT_DIR|CAMEL\w*)$/.test(name)) delete env[name];
}

function fail(thrown: unknown, argv: readonly string[]): number {
  const error = toCamelError(thrown);
  const { code, message } = error;
  const command = argv.find((word) => Object.hasOwn(COMMANDS, word));
  const next =
    error.next ??
    (code === "usage" ? `See camel-mcp ${command === undefined ? "" : `${command} `}--help.` : undefined);
  if (argv.includes("--json")) print(`${JSON.stringify({ error: { code, message, next } })}\n`);
  process.stderr.write(`camel-mcp: ${message}\n${next === undefined ? "" : `${next}\n`}`);
  if (code === "internal" && thrown instanceof Error) process.stderr.write(`${thrown.stack ?? ""}\n`);
  if (code === "cancelled") return INTERRUPTED;
  return code === "usage" ? 2 : 1;
}

outliveReader();
dropEmptySettings(process.env);
const argv = process.argv.slice(2);
// exitCode, not exit(): what is still being written to a pipe must reach its end.
void main(argv)
  .catch((thrown: unknown) => fail(thrown, argv))
  .then((code) => (process.exitCode = code));
