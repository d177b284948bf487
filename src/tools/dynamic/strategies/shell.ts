import { lstat } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CamelError } from "../../../shared/errors.ts";
import { containedPath, isInside, realpathOfDeepestAncestor } from "../../../shared/paths.ts";
import type { TouchedPath } from "../../tool.ts";
import type { StrategyOf } from "../definition.ts";
import { commandTemplates } from "../envelope.ts";
import { propertiesOf } from "../json-schema.ts";
import { checkPin, programFolders } from "../program.ts";
import type { Token } from "../template.ts";
import { runProcesses, type ProcessResult, type ProcessSpec } from "./process.ts";
import { findSandbox, inSandbox } from "./sandbox.ts";
import { fillTemplate, type Engine, type Run } from "./strategy.ts";

/** One value is one argument of a program; the system refuses longer ones anyway. */
const LONGEST_VALUE = 100_000;

interface Argument {
  text: string;
  /** The placeholder it came from. */
  from?: string;
}

export const shell: Engine = {
  async foresee(run) {
    const workspace = await run.context.workspace("read");
    const cwd = await folderOf(run, workspace);
    const commands = argumentsOf(run);
    const paths: TouchedPath[] = [];
    const outside: string[] = [];
    const properties = propertiesOf(run.version.inputSchema);
    for (const [program, ...args] of commands) {
      const access = WRITERS.has(program?.text ?? "") ? "write" : "read";
      for (const arg of args) {
        const declared = arg.from !== undefined && properties[arg.from]?.["format"] === "path";
        for (const path of await pathsIn(arg.text, cwd, declared || access === "write")) {
          paths.push({ path, access });
          const { read, write } = run.envelope;
          const folders = (access === "write" ? write : [...read, ...write]).map((one) =>
            resolve(workspace, one),
          );
          if (arg.from !== undefined && !(await isBelow(path, folders)))
            outside.push(`"${arg.text}" is a path it wasn't approved to ${access}`);
        }
      }
    }
    return {
      touches: { paths, commands: commands.map((argv) => ({ argv: argv.map((one) => one.text) })) },
      outside,
    };
  },

  async execute(run) {
    const strategy = shellOf(run);
    const workspace = await run.context.workspace("read");
    const cwd = await folderOf(run, workspace);
    const specs: ProcessSpec[] = [];
    for (const [index, [, ...args]] of argumentsOf(run).entries()) {
      const pin = run.version.pins[index];
      if (pin === undefined) throw new CamelError("damaged", `${run.definition.name} has no pinned program.`);
      await checkPin(pin);
      specs.push({ path: pin.path, args: args.map((one) => one.text) });
    }
    const sandbox = await sandboxFor(run);
    const commands =
      sandbox === undefined
        ? specs
        : await Promise.all(
            specs.map((spec) =>
              inSandbox(sandbox, spec, {
                cwd,
                read: run.envelope.read.map((path) => resolve(workspace, path)),
                write: run.envelope.write.map((path) => resolve(workspace, path)),
                network: run.envelope.network,
              }),
            ),
          );
    const { outputBytes } = run.context.settings().shell;
    const result = await runProcesses(commands, {
      cwd,
      env: {
        ...(await environment(run, strategy, workspace)),
        // The user's folder isn't there, and many programs want to write into their home.
        ...(sandbox?.name === "bubblewrap" ? { HOME: "/tmp" } : {}),
      },
      maxBytes: outputBytes,
      clock: run.context.clock,
      signal: run.signal,
    });
    return answer(run, strategy, result, outputBytes, sandbox?.name ?? "none");
  },
};

function shellOf(run: Run): StrategyOf<"shell"> {
  const { strategy } = run.definition;
  if (strategy.type !== "shell") throw new CamelError("internal", "not a shell tool");
  return strategy;
}

/** The argv of each command: template words as they stand, each placeholder one whole element. */
function argumentsOf(run: Run): Argument[][] {
  const strategy = shellOf(run);
  return commandTemplates(run.definition).map((tokens) => {
    let afterDashes = false;
    return tokens.map((token: Token) => {
      if ("text" in token) {
        afterDashes ||= token.text === "--";
        return { text: token.text };
      }
      const { placeholder } = token;
      return {
        text: checkedValue(run.input[placeholder], placeholder, {
          dash: afterDashes || strategy.dash_values.includes(placeholder),
        }),
        from: placeholder,
      };
    });
  });
}

function checkedValue(value: unknown, name: string, allow: { dash: boolean }): string {
  const refuse = (why: string, next: string): never => {
    throw new CamelError("invalid_input", `"${name}" ${why}.`, { next });
  };
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
    return refuse("has to be text, a number or true/false", `Send "${name}" as text.`);
  const text = String(value);
  if (text.includes("\0")) return refuse("contains a NUL character", "Send plain text.");
  if (text.length > LONGEST_VALUE)
    return refuse(
      `is longer than ${LONGEST_VALUE} characters`,
      "Put long text into a file and pass its path.",
    );
  if (text.startsWith("-") && !allow.dash)
    return refuse(
      'begins with "-" and would be read as an option',
      `Pass another value (for a file: ./${text.slice(0, 40)}). The tool's maker can put -- before the placeholder or list it in dash_values.`,
    );
  return text;
}

/** Programs whose operands are files that they change. */
const WRITERS: ReadonlySet<string> = new Set(
  "rm rmdir mv cp mkdir touch tee dd ln chmod chown chgrp truncate install shred patch unlink rsync".split(
    " ",
  ),
);

/**
 * Every path an argument may stand for: itself, what follows `=` or a short option, an `@file`, a file: URL. A word
 * without a slash is one if such a file exists, or if the argument is known to be a path.
 */
async function pathsIn(argument: string, cwd: string, surely: boolean): Promise<string[]> {
  if (argument === "" || argument.length > 4_096) return [];
  const spellings = new Set([argument]);
  const equals = argument.indexOf("=");
  if (equals > 0) spellings.add(argument.slice(equals + 1));
  if (/^-[^-]./.test(argument)) spellings.add(argument.slice(2));
  const found: string[] = [];
  for (const one of spellings) {
    const text = one.replace(/^@/, "");
    if (/^file:/i.test(text)) {
      try {
        found.push(fileURLToPath(text));
      } catch {
        // Not a URL of a file after all.
      }
    } else if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) continue;
    else if (text === "~" || text.startsWith("~/")) found.push(homedir() + text.slice(1), resolve(cwd, text));
    else if (/[/\\]/.test(text) || text === ".." || text === ".") found.push(resolve(cwd, text));
    else if (!text.startsWith("-") && text !== "") {
      const path = resolve(cwd, text);
      const exists = await lstat(path).then(
        () => true,
        () => false,
      );
      if (exists || (surely && one === argument)) found.push(path);
    }
  }
  return found;
}

/** By its name and by where its links lead; a link to nowhere can't be proven to stay. */
async function isBelow(path: string, folders: readonly string[]): Promise<boolean> {
  const real = await realpathOfDeepestAncestor(path).catch(() => undefined);
  return (
    real !== undefined &&
    folders.some((folder) => isInside(folder, path)) &&
    folders.some((folder) => isInside(folder, real))
  );
}

async function folderOf(run: Run, workspace: string): Promise<string> {
  const { cwd } = shellOf(run);
  return cwd === undefined
    ? workspace
    : containedPath(workspace, cwd, { rootName: "the workspace", allowAbsolute: true });
}

async function sandboxFor(run: Run): Promise<Awaited<ReturnType<typeof findSandbox>>> {
  const wanted = run.envelope.sandbox;
  if (wanted === "off") return undefined;
  const found = await findSandbox();
  if (found === undefined && wanted === "required") {
    throw new CamelError(
      "unavailable",
      "This tool runs only in a sandbox, and this machine has none that works.",
      {
        next: "Tell the user: on Linux install bubblewrap; or make the tool with sandbox: best-effort.",
      },
    );
  }
  return found;
}

const PASSED_ON = ["LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM"];

/** Nothing of the server's own environment but a few harmless names and what the tool was approved to get. */
async function environment(
  run: Run,
  strategy: StrategyOf<"shell">,
  workspace: string,
): Promise<Record<string, string>> {
  const env: Record<string, string> = {
    PATH: programFolders(run.env, workspace).join(process.platform === "win32" ? ";" : ":"),
    HOME: run.env["HOME"] ?? homedir(),
  };
  for (const name of [...PASSED_ON, ...strategy.inherit_env]) {
    const value = run.env[name];
    if (value !== undefined) env[name] = value;
  }
  for (const [name, value] of Object.entries(strategy.env))
    env[name] = await fillTemplate(value, run, () => "");
  return env;
}

function answer(
  run: Run,
  strategy: StrategyOf<"shell">,
  result: ProcessResult,
  maxBytes: number,
  sandbox: string,
): { text: string; structured: Record<string, unknown> } {
  const { statuses, stderr, stdout, stopped } = result;
  const structured = { status: statuses.at(-1), output: stdout, stderr, sandbox };
  const whole = `status=${statuses.join(" | ")}\nstdout:\n${stdout}\nstderr:\n${stderr}`;
  if (stopped === "aborted") {
    const { reason } = run.signal as { reason: unknown };
    if (!(reason instanceof CamelError) || reason.code !== "timeout")
      throw new CamelError("cancelled", `${run.definition.name} was cancelled.`);
    throw new CamelError("timeout", `${reason.message}\n${whole}`, {
      ...(reason.next === undefined ? {} : { next: reason.next }),
      details: structured,
    });
  }
  if (stopped === "overflow") {
    const notice = `(cut: the program wrote more than ${maxBytes} bytes and was stopped)`;
    // First, because a long text is cut at its end.
    return {
      text: `${notice}\n${stdout}${stderr === "" ? "" : `\nstderr:\n${stderr}`}`,
      structured: { notice, ...structured },
    };
  }
  // As in a shell with pipefail, except that a writer whose reader had enough did nothing wrong.
  const failed = statuses.findIndex(
    (status, index) =>
      !(typeof status === "number" && strategy.success_codes.includes(status)) &&
      !(status === "SIGPIPE" && index < statuses.length - 1),
  );
  if (failed >= 0) {
    throw new CamelError(
      "tool_failed",
      `${run.definition.name}: the program ended with ${statuses[failed]}.\n${whole}`,
      {
        next: `Read the program's message and correct the input, or update the tool.${sandboxHint(run, sandbox)}`,
        details: structured,
      },
    );
  }
  return { text: stderr === "" ? stdout : `${stdout}\nstderr:\n${stderr}`, structured };
}

/** What a program can't do in the sandbox looks to it like a broken machine. */
function sandboxHint(run: Run, sandbox: string): string {
  if (sandbox === "none") return "";
  const { network, write } = run.envelope;
  const missing = [
    ...(network ? [] : ["had no network (envelope.network: true grants it)"]),
    write.length > 0
      ? `could write only ${write.join(", ")}`
      : "could write nothing but /tmp, which is gone now (envelope.paths.write grants folders)",
  ];
  return ` It ran in a sandbox and ${missing.join(", and ")}.`;
}
