import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { CamelError, messageOf } from "../../../shared/errors.ts";
import { containedPath, isInside, realpathOfDeepestAncestor } from "../../../shared/paths.ts";
import type { StrategyOf } from "../definition.ts";
import { judgeArgv } from "../command-policy.ts";
import { commandTemplates } from "../envelope.ts";
import { propertiesOf } from "../json-schema.ts";
import { checkPin, programFolders } from "../program.ts";
import type { Token } from "../template.ts";
import { gitMayStart } from "./git-settings.ts";
import { runProcesses, type ProcessResult, type ProcessSpec } from "./process.ts";
import { findSandbox, inSandbox } from "./sandbox.ts";
import { pathsOf, type Argument, type ArgumentPath } from "./shell-paths.ts";
import { searched } from "./shell-search.ts";
import { fillTemplate, type Engine, type Run } from "./strategy.ts";

/** One value is one argument of a program; the system refuses longer ones anyway. */
const LONGEST_VALUE = 100_000;

export const shell: Engine = {
  async foresee(run) {
    const workspace = await run.context.workspace("read");
    const cwd = await folderOf(run, workspace);
    const commands = argumentsOf(run);
    const found = await allPaths(run, workspace, cwd);
    const walked = await Promise.all(
      commands.map((argv, index) => searched(run, argv, index, workspace, cwd)),
    );
    return {
      touches: {
        paths: [...found, ...walked.flatMap((one) => one.paths)].map(({ access, path }) => ({
          path,
          access,
        })),
        commands: commands.map((argv) => ({ argv: argv.map((one) => one.text) })),
      },
      outside: [
        ...found
          .filter((one) => one.isOutside)
          .map(({ access, argument }) => `"${argument}" is a path it wasn't approved to ${access}`),
        ...walked.flatMap((one) => one.outside),
        ...(await Promise.all(commands.map((argv, index) => judgedAnew(run, argv, index, cwd)))).flat(),
        ...(await strayedGrants(run, workspace)),
      ],
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
    // Whoever let the call pass saw these.
    const extra = (await allPaths(run, workspace, cwd)).filter((one) => one.isOutside);
    const granted = (access: "read" | "write"): string[] => [
      ...run.envelope[access].map((path) => resolve(workspace, path)),
      ...extra.filter((one) => one.access === access).map((one) => one.path),
    ];
    const commands =
      sandbox === undefined
        ? specs
        : await Promise.all(
            specs.map((spec) =>
              inSandbox(sandbox, spec, {
                cwd,
                read: granted("read"),
                write: granted("write"),
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
    }).catch((error: unknown) => Promise.reject(notStarted(run, error)));
    return answer(run, strategy, result, outputBytes, sandbox?.name ?? "none");
  },
};

/** A command that only policy approved was judged without its values and by the policy of then. */
async function judgedAnew(
  run: Run,
  argv: readonly Argument[],
  index: number,
  cwd: string,
): Promise<string[]> {
  const words = argv.map((one) => one.text);
  const { decision, why } = judgeArgv(words, run.context.settings().shell);
  if (decision === "deny")
    throw new CamelError("denied_by_policy", `The command may not be run: ${why}.`, {
      next: "Don't try to get round it. Work without this, or tell the user.",
    });
  const byPolicy = words.length > 1 && run.envelope.commands[index] === words[0];
  if (!byPolicy) return [];
  if (decision === "ask") return [why];
  const starts = words[0] === "git" && words[1] !== "--version" ? await gitMayStart(cwd) : undefined;
  return starts === undefined ? [] : [starts];
}

/** Folders of the workspace that were approved as such, and that a link now leads out of it. */
async function strayedGrants(run: Run, workspace: string): Promise<string[]> {
  const strayed: string[] = [];
  for (const path of new Set([...run.envelope.read, ...run.envelope.write])) {
    const full = resolve(workspace, path);
    if (full === workspace || !isInside(workspace, full)) continue;
    const real = await realpathOfDeepestAncestor(full).catch(() => undefined);
    if (real === undefined || !isInside(workspace, real))
      strayed.push(`"${path}" leads out of the workspace`);
  }
  return strayed;
}

function shellOf(run: Run): StrategyOf<"shell"> {
  const { strategy } = run.definition;
  if (strategy.type !== "shell") throw new CamelError("internal", "not a shell tool");
  return strategy;
}

/** The argv of each command: template words as they stand, each placeholder one whole element. */
function argumentsOf(run: Run): Argument[][] {
  const strategy = shellOf(run);
  const properties = propertiesOf(run.version.inputSchema);
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
        isPath: properties[placeholder]?.["format"] === "path",
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
  if (Buffer.byteLength(text) > LONGEST_VALUE)
    return refuse(`is longer than ${LONGEST_VALUE} bytes`, "Put long text into a file and pass its path.");
  if (text.startsWith("-") && !allow.dash)
    return refuse(
      'begins with "-" and would be read as an option',
      `Pass another value (for a file: ./${text.slice(0, 40)}). The tool's maker can put -- before the placeholder or list it in dash_values.`,
    );
  return text;
}

async function allPaths(run: Run, workspace: string, cwd: string): Promise<ArgumentPath[]> {
  const found = argumentsOf(run).map((argv) => pathsOf(argv, { cwd, workspace, granted: run.envelope }));
  return (await Promise.all(found)).flat();
}

async function folderOf(run: Run, workspace: string): Promise<string> {
  const { cwd } = shellOf(run);
  if (cwd === undefined) return workspace;
  const folder = await containedPath(workspace, cwd, { rootName: "the workspace", allowAbsolute: true });
  if ((await stat(folder).catch(() => undefined))?.isDirectory() === true) return folder;
  throw new CamelError("not_found", `"${cwd}", the folder to run in, isn't there.`, {
    next: "Make the folder, or update the tool with another cwd.",
  });
}

/** The system's words for it ("spawn E2BIG") say little to whoever has to correct the call. */
function notStarted(run: Run, error: unknown): CamelError {
  if (error instanceof CamelError) return error;
  const why = messageOf(error);
  return new CamelError("tool_failed", `${run.definition.name}: the program couldn't be started: ${why}.`, {
    next: /E2BIG/.test(why)
      ? "Send shorter values, or put long text into a file and pass its path."
      : "Check that the program can be run here, then update the tool.",
    cause: error,
  });
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
  const { network, read, write } = run.envelope;
  const named = (paths: readonly string[]): string =>
    [...new Set(paths)].map((path) => (path === "." ? "the workspace" : path)).join(", ");
  const limits = [
    `could read only the system and ${named([...read, ...write])} (envelope.paths.read grants more)`,
    write.length > 0
      ? `could write only ${named(write)}`
      : "could write nothing but /tmp, which is gone now (envelope.paths.write grants folders)",
    ...(network ? [] : ["had no network (envelope.network: true grants it)"]),
  ];
  return ` It ran in a sandbox: it ${limits.join(", ")}. With sandbox: off it runs without one, if the user agrees.`;
}
