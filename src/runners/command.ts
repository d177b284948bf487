import { spawn, type ChildProcess } from "node:child_process";
import type { RunnerConfig } from "../config.ts";
import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import { PRESETS } from "./presets.ts";
import type { Runner, RunnerAnswer } from "./runner.ts";

/** The environment name that tells a server started inside a run how deep it is. */
export const DEPTH_MARK = "CAMEL_DEPTH";

/** Between asking a program to end and ending it. */
const GRACE_MS = 5_000;
const LONGEST_ERROR = 2_000;

/** The program and arguments a prompt is given to; undefined where the config names none. */
export function commandOf(settings: RunnerConfig): readonly string[] | undefined {
  const { command } = settings;
  if (command?.argv !== undefined) return [...command.argv, ...command.args];
  return command?.preset === undefined ? undefined : [...PRESETS[command.preset].argv, ...command.args];
}

export function createCommandRunner(options: {
  settings: RunnerConfig;
  env: NodeJS.ProcessEnv;
  clock: Clock;
}): Runner {
  const { settings, clock } = options;
  return async function command(prompt, { depth, workspace, history = [], agentId, sessionId = "" }, signal) {
    const argv = commandOf(settings);
    if (argv === undefined) {
      throw new CamelError("unavailable", "No program is configured to answer prompts.", {
        next: "Set runner.command.preset or runner.command.argv in the config.",
      });
    }
    const [program = "", ...args] = argv;
    const { CLAUDECODE: _nested, ...inherited } = options.env;
    const child = spawn(program, args, {
      cwd: settings.command?.cwd ?? workspace ?? process.cwd(),
      env: {
        ...inherited,
        ...settings.command?.env,
        CAMELAGI_AGENT: agentId,
        CAMEL_RUN: sessionId,
        [DEPTH_MARK]: String(depth),
      },
      stdio: ["pipe", "pipe", "pipe"],
      // Its own group, so that what it starts ends with it.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    const output = await collect(child, withHistory(prompt, history), {
      signal,
      clock,
      limit: settings.outputBytes,
      program,
    });
    const parse =
      settings.command?.argv === undefined ? PRESETS[settings.command?.preset ?? "claude"].parse : undefined;
    const parsed: RunnerAnswer = parse?.(output.stdout) ?? { text: output.stdout.trim() };
    if (output.code !== 0) {
      const how = output.killedBy === null ? `with code ${output.code}` : `by ${output.killedBy}`;
      const said = (output.stderr.trim() || parsed.text).slice(-LONGEST_ERROR);
      throw new CamelError("unavailable", `${program} ended ${how}.${said === "" ? "" : `\n${said}`}`, {
        next: "Run the program by hand with the same prompt to see what it needs.",
      });
    }
    return { ...parsed, ...(output.cut ? { cut: true } : {}) };
  };
}

interface Output {
  stdout: string;
  stderr: string;
  code: number | null;
  killedBy: NodeJS.Signals | null;
  cut: boolean;
}

function collect(
  child: ChildProcess,
  prompt: string,
  options: { signal: AbortSignal; clock: Clock; limit: number; program: string },
): Promise<Output> {
  const { signal, clock, limit, program } = options;
  return new Promise((resolve, reject) => {
    const chunks: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
    const sizes = { stdout: 0, stderr: 0 };
    let cut = false;
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.on("data", (chunk: Buffer) => {
        const room = limit - sizes[name];
        sizes[name] += chunk.length;
        if (chunk.length > room) cut = true;
        // Read on past the limit: a program that can't write would hang.
        if (room > 0) chunks[name].push(chunk.subarray(0, room));
      });
    }
    let kill: { cancel(): void } | undefined;
    const end = (): void => {
      signalGroup(child, "SIGTERM");
      kill = clock.setTimeout(() => signalGroup(child, "SIGKILL"), GRACE_MS);
    };
    const settle = (work: () => void): void => {
      kill?.cancel();
      signal.removeEventListener("abort", end);
      // What it left running in its group has no reader any more.
      signalGroup(child, "SIGKILL");
      work();
    };
    child.once("error", (error) => {
      settle(() => {
        reject(
          new CamelError("unavailable", `${program} could not be started: ${error.message}`, {
            next: "Install it, or correct runner.command in the config.",
          }),
        );
      });
    });
    child.once("close", (code, killedBy) => {
      settle(() => {
        if (signal.aborted)
          reject(
            signal.reason instanceof Error
              ? signal.reason
              : new CamelError("cancelled", "The run was stopped."),
          );
        else {
          const text = (name: "stdout" | "stderr"): string => Buffer.concat(chunks[name]).toString("utf8");
          resolve({ stdout: text("stdout"), stderr: text("stderr"), code, killedBy, cut });
        }
      });
    });
    // A program that doesn't read its prompt closes the pipe; its exit code says more than EPIPE does.
    child.stdin?.on("error", () => {});
    child.stdin?.end(prompt);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // It has ended already.
  }
}

function withHistory(prompt: string, history: readonly { role: string; content: string }[]): string {
  if (history.length === 0) return prompt;
  const said = history.map(({ role, content }) => `[${role}]: ${content}`).join("\n\n");
  return `<previous_runs>\n${said}\n</previous_runs>\n\n${prompt}`;
}
