import { spawn, type ChildProcess } from "node:child_process";
import type { RunnerConfig } from "../config/schema.ts";
import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import { signalGroup } from "../shared/process-group.ts";
import { PRESETS } from "./presets.ts";
import type { Runner, RunnerAnswer } from "./runner.ts";

/** The environment name that tells a server started inside a run how deep it is. */
export const DEPTH_MARK = "CAMEL_DEPTH";

/** Between asking a program to end and ending it. */
const GRACE_MS = 5_000;
/** What a program left running may hold its output open; after this time nobody waits for it. */
const LINGER_MS = 500;
const LONGEST_ERROR = 2_000;
const LONGEST_EVENTS_BYTES = 5_000_000;

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
  return async function command(
    prompt,
    { depth, workspace, history = [], agentId, sessionId = "", onSpent },
    signal,
  ) {
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
    const parse =
      settings.command?.argv === undefined ? PRESETS[settings.command?.preset ?? "claude"].parse : undefined;
    const { outputBytes } = settings;
    const output = await collect(child, withHistory(prompt, history), {
      signal,
      clock,
      // Known programs print all they do, and their answer last.
      stdout:
        parse === undefined ? keepStart(outputBytes) : keepEnd(Math.max(outputBytes, LONGEST_EVENTS_BYTES)),
      program,
    });
    const { failure, ...parsed }: RunnerAnswer & { failure?: string } = parse?.(output.stdout) ?? {
      text: output.stdout.trim(),
    };
    if (parsed.usage?.costUsd !== undefined) onSpent?.(parsed.usage.costUsd);
    if (output.code !== 0 || failure !== undefined) {
      const how = output.killedBy === null ? `with code ${output.code}` : `by ${output.killedBy}`;
      const said = (failure ?? (output.stderr.trim() || parsed.text)).slice(-LONGEST_ERROR);
      throw new CamelError("unavailable", `${program} ended ${how}.${said === "" ? "" : `\n${said}`}`, {
        next: "Run the program by hand with the same prompt to see what it needs.",
      });
    }
    const isCut = parse === undefined ? output.cut : parsed.text.length > outputBytes;
    return { ...parsed, text: parsed.text.slice(0, outputBytes), ...(isCut ? { cut: true } : {}) };
  };
}

interface Output {
  stdout: string;
  stderr: string;
  code: number | null;
  killedBy: NodeJS.Signals | null;
  cut: boolean;
}

/** Output up to a limit. It is read on past it: a program that can't write would hang. */
interface Kept {
  add(chunk: Buffer): void;
  text(): string;
  isCut(): boolean;
}

function keepStart(limit: number): Kept {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    add(chunk) {
      if (size < limit) chunks.push(chunk.subarray(0, limit - size));
      size += chunk.length;
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
    isCut: () => size > limit,
  };
}

function keepEnd(limit: number): Kept {
  const chunks: Buffer[] = [];
  let [size, dropped] = [0, 0];
  return {
    add(chunk) {
      chunks.push(chunk);
      size += chunk.length;
      while (size - (chunks[0]?.length ?? 0) >= limit) {
        const first = chunks.shift()?.length ?? 0;
        size -= first;
        dropped += first;
      }
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
    isCut: () => dropped > 0,
  };
}

function collect(
  child: ChildProcess,
  prompt: string,
  options: { signal: AbortSignal; clock: Clock; stdout: Kept; program: string },
): Promise<Output> {
  const { signal, clock, stdout, program } = options;
  const stderr = keepEnd(LONGEST_ERROR * 4);
  return new Promise((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => stdout.add(chunk));
    child.stderr?.on("data", (chunk: Buffer) => stderr.add(chunk));
    let kill: { cancel(): void } | undefined;
    let linger: { cancel(): void } | undefined;
    const end = (): void => {
      signalGroup(child, "SIGTERM");
      kill = clock.setTimeout(() => signalGroup(child, "SIGKILL"), GRACE_MS);
    };
    let isSettled = false;
    const settle = (work: () => void): void => {
      if (isSettled) return;
      isSettled = true;
      kill?.cancel();
      linger?.cancel();
      signal.removeEventListener("abort", end);
      // What it left running in its group has no reader any more.
      signalGroup(child, "SIGKILL");
      child.stdout?.destroy();
      child.stderr?.destroy();
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
    const ended = (code: number | null, killedBy: NodeJS.Signals | null): void => {
      settle(() => {
        if (signal.aborted)
          reject(
            signal.reason instanceof Error
              ? signal.reason
              : new CamelError("cancelled", "The run was stopped."),
          );
        else resolve({ stdout: stdout.text(), stderr: stderr.text(), code, killedBy, cut: stdout.isCut() });
      });
    };
    child.once("close", ended);
    child.once("exit", (code, killedBy) => {
      linger = clock.setTimeout(() => ended(code, killedBy), LINGER_MS);
    });
    // A program that doesn't read its prompt closes the pipe; its exit code says more than EPIPE does.
    child.stdin?.on("error", () => {});
    child.stdin?.end(prompt);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

function withHistory(prompt: string, history: readonly { role: string; content: string }[]): string {
  if (history.length === 0) return prompt;
  const said = history.map(({ role, content }) => `[${role}]: ${content}`).join("\n\n");
  return `<previous_runs>\n${said}\n</previous_runs>\n\n${prompt}`;
}
