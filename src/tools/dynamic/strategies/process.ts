import { spawn, type ChildProcess } from "node:child_process";
import type { Clock } from "../../../shared/clock.ts";
import { newId } from "../../../shared/ids.ts";
import { endMarked, signalGroup } from "../../../shared/process-group.ts";

export interface ProcessSpec {
  path: string;
  args: readonly string[];
}

export interface ProcessOptions {
  cwd: string;
  env: Record<string, string>;
  /** Of standard output, and of standard error. */
  maxBytes: number;
  clock: Clock;
  signal: AbortSignal;
}

export interface ProcessResult {
  /** One a command: the exit code, or the signal that ended it. */
  statuses: (number | string)[];
  stdout: string;
  stderr: string;
  stopped?: "overflow" | "aborted";
}

/** How long a program's children may hold its output open after it has ended. */
const LINGER_MS = 200;

/**
 * Runs commands, each one's output the next one's input, without a shell. Each has a process group of its own, so
 * that ending it ends what it started. Standard input is closed: a program that asks gets an end of file.
 */
export function runProcesses(
  commands: readonly ProcessSpec[],
  options: ProcessOptions,
): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    const stdout = new Capped(options.maxBytes);
    const stderr = new Capped(options.maxBytes);
    const statuses: (number | string)[] = commands.map(() => "not started");
    const children: ChildProcess[] = [];
    const mark = newId("run");
    let escaped = Promise.resolve();
    let stopped: ProcessResult["stopped"];
    let running = commands.length;
    let openPipes = 0;
    let failed: Error | undefined;

    const killAll = (): void => {
      for (const child of children) signalGroup(child);
    };
    const stop = (why: NonNullable<ProcessResult["stopped"]>): void => {
      killAll();
      if (stopped === undefined) escaped = endMarked(mark, children[0]?.pid ?? 0);
      stopped ??= why;
    };
    const onAbort = (): void => stop("aborted");
    options.signal.addEventListener("abort", onAbort, { once: true });
    let finished = false;
    const finish = async (): Promise<void> => {
      if (finished) return;
      finished = true;
      options.signal.removeEventListener("abort", onAbort);
      // What a program left behind in its group ends with it.
      killAll();
      await escaped;
      for (const child of children) {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }
      if (failed !== undefined) reject(failed);
      else
        resolve({
          statuses,
          stdout: stdout.text(),
          stderr: stderr.text(),
          ...(stopped === undefined ? {} : { stopped }),
        });
    };
    const settle = (): void => {
      if (running > 0) return;
      if (openPipes === 0) void finish();
      else options.clock.setTimeout(() => void finish(), LINGER_MS);
    };
    const collect = (stream: NodeJS.ReadableStream, into: Capped): void => {
      openPipes += 1;
      stream.on("data", (part: Buffer) => {
        if (!into.add(part)) stop("overflow");
      });
      stream.on("error", () => {});
      stream.on("close", () => {
        openPipes -= 1;
        settle();
      });
    };

    for (const [index, command] of commands.entries()) {
      const child = spawn(command.path, [...command.args], {
        cwd: options.cwd,
        env: { ...options.env, CAMEL_RUN: mark },
        detached: process.platform !== "win32",
        windowsHide: true,
        stdio: [index === 0 ? "ignore" : "pipe", "pipe", "pipe"],
      });
      children.push(child);
      child.on("error", (error) => {
        failed ??= error;
        running -= 1;
        killAll();
        settle();
      });
      child.on("exit", (code, signal) => {
        statuses[index] = code ?? signal ?? "unknown";
        running -= 1;
        settle();
      });
      if (child.stderr !== null) collect(child.stderr, stderr);
      // A reader that ends first is how `head` works; the writer is then told as in a shell.
      child.stdin?.on("error", () => {});
      const before = children[index - 1];
      if (before?.stdout != null && child.stdin !== null) {
        const { stdin } = child;
        const source = before.stdout;
        source.pipe(stdin);
        stdin.on("close", () => {
          if (source.readableEnded) return;
          signalGroup(before, "SIGPIPE");
          // One that ignores the signal finds its output closed a moment later.
          options.clock.setTimeout(() => source.destroy(), LINGER_MS);
        });
      }
      if (index === commands.length - 1 && child.stdout !== null) collect(child.stdout, stdout);
    }
    if (options.signal.aborted) onAbort();
  });
}

class Capped {
  private readonly parts: Buffer[] = [];
  private readonly most: number;
  private size = 0;

  constructor(most: number) {
    this.most = most;
  }

  /** False once more has come than may be kept. */
  add(part: Buffer): boolean {
    const room = this.most - this.size;
    if (room > 0) this.parts.push(part.length > room ? part.subarray(0, room) : part);
    this.size += part.length;
    return this.size <= this.most;
  }

  text(): string {
    const whole = Buffer.concat(this.parts);
    // A character cut in half at the cap would show as a wrong one.
    return this.size > this.most ? whole.toString("utf8").replace(/\uFFFD$/, "") : whole.toString("utf8");
  }
}
