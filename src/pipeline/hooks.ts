import { open, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { CamelError, messageOf } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import { signalGroup } from "../shared/process-group.ts";
import { whenThere, type MaybePromise } from "../shared/when-there.ts";
import { errorResult } from "./answer-errors.ts";
import type { Call, Middleware, Next, ToolResult } from "./call.ts";

/**
 * The user's scripts around calls and prompts: `hooks/{point}.{name}.sh|.js` in the state directory, in the order of
 * their names. Each gets the event as JSON on stdin, and the short facts in its environment. Exit 2 of a before-hook
 * blocks, with its stderr as the reason; any other failure is logged and nothing more.
 */
export type HookPoint = "before_tool" | "after_tool" | "before_prompt" | "after_response";

export interface HookRunner {
  /** False where hooks are off or no script is for one of these points: then nothing need be prepared for one. */
  has(...points: HookPoint[]): MaybePromise<boolean>;
  /** The reason, if a hook blocks. */
  run(
    point: HookPoint,
    event: Record<string, unknown>,
    facts: Record<string, string>,
    signal: AbortSignal,
  ): Promise<string | undefined>;
}

export interface HookOptions {
  directory: string;
  enabled: () => boolean;
  timeoutSeconds: () => number;
  clock: Clock;
  log: Logger;
}

/** In bytes; Linux takes no variable much longer than this. The whole is on stdin. */
const MAX_VARIABLE = 100_000;
const MAX_REASON = 2_000;
const BLOCKS = 2;
/** A new script counts after at most this time. */
const LOOK_MS = 250;

export function createHookRunner(options: HookOptions): HookRunner {
  let listed: { names: MaybePromise<string[]>; at: number } | undefined;
  const look = async (at: number): Promise<string[]> => {
    const found = await readdir(options.directory).catch(() => []);
    const names = found.filter((name) => /\.(?:sh|js)$/.test(name)).sort((a, b) => (a < b ? -1 : 1));
    listed = { names, at };
    return names;
  };
  const names = (): MaybePromise<string[]> => {
    const at = options.clock.monotonic();
    if (listed !== undefined && at - listed.at < LOOK_MS) return listed.names;
    const looking = look(at);
    listed = { names: looking, at };
    return looking;
  };
  const isFor = (point: HookPoint) => (name: string) => name.startsWith(`${point}.`);
  const scripts = async (point: HookPoint): Promise<string[]> => (await names()).filter(isFor(point));
  return {
    has: (...points) =>
      options.enabled() && whenThere(names(), (found) => points.some((point) => found.some(isFor(point)))),
    async run(point, event, facts, signal) {
      for (const name of options.enabled() ? await scripts(point) : []) {
        const { code, stderr } = await runHook(join(options.directory, name), event, facts, signal, options);
        if (code === BLOCKS && point.startsWith("before_"))
          return stderr.trim() === "" ? `The hook ${name} blocks it.` : stderr.trim().slice(0, MAX_REASON);
        if (code !== 0)
          options.log.warn(
            `hook ${name}: ${code === undefined ? "didn't finish" : `exit ${code}`} ${stderr.slice(0, 300)}`,
          );
      }
      return undefined;
    },
  };
}

/** Outside of policy, so that a hook sees every call, refused ones too. */
export function hooks(runner: HookRunner): Middleware<Call> {
  return function hooks(call, next) {
    return whenThere(runner.has("before_tool", "after_tool"), (has) => (has ? around(call, next) : next()));
  };

  async function around(call: Call, next: Next): Promise<ToolResult> {
    if (await runner.has("before_tool")) {
      const reason = await runner.run(
        "before_tool",
        { point: "before_tool", ...eventOf(call) },
        { ...factsOf(call), TOOL_ARGS: JSON.stringify(call.args ?? {}) },
        call.signal,
      );
      if (reason !== undefined) {
        return errorResult(
          new CamelError("blocked_by_hook", `A hook of the user blocks ${call.name}: ${reason}`, {
            next: "Don't repeat the call unchanged. Follow what the reason says, or tell the user.",
          }),
        );
      }
    }
    const result = await next();
    if (await runner.has("after_tool")) {
      const { text, isError = false } = result;
      await runner.run(
        "after_tool",
        { point: "after_tool", ...eventOf(call), result: { text, isError } },
        { ...factsOf(call), TOOL_RESULT: text },
        call.signal,
      );
    }
    return result;
  }
}

function eventOf(call: Call): Record<string, unknown> {
  return { callId: call.id, tool: call.name, args: call.args, caller: call.caller };
}

function factsOf(call: Call): Record<string, string> {
  return { SESSION: call.caller.sessionId, TOOL: call.name };
}

/** How long what a hook started may hold its stderr open after it has ended. */
const LINGER_MS = 200;

async function runHook(
  file: string,
  event: Record<string, unknown>,
  facts: Record<string, string>,
  signal: AbortSignal,
  { timeoutSeconds, clock }: HookOptions,
): Promise<{ code: number | undefined; stderr: string }> {
  const variables = Object.entries(facts)
    .filter(([, value]) => Buffer.byteLength(value) <= MAX_VARIABLE && !value.includes("\0"))
    .map(([name, value]): [string, string] => [`CAMELAGI_HOOK_${name}`, value]);
  // A call that was cancelled before its after-hook began still has one.
  const wasAborted = signal.aborted;
  let program: string[];
  try {
    program = file.endsWith(".js") ? [process.execPath] : await shellFor(file);
    await proveOwn(file);
  } catch (error) {
    return { code: undefined, stderr: messageOf(error) };
  }
  // Loaded here: most configs have no hook, and every start would pay for the module.
  const { spawn } = process.getBuiltinModule("node:child_process");
  return new Promise((resolve) => {
    const [command = "", ...args] = program;
    const child = spawn(command, [...args, file], {
      // A group of its own: what the hook started dies with it.
      detached: true,
      stdio: ["pipe", "ignore", "pipe"],
      env: { ...process.env, ...Object.fromEntries(variables) },
    });
    let stderr = "";
    let code: number | undefined;
    const stop = (): void => signalGroup(child);
    const timer = clock.setTimeout(stop, timeoutSeconds() * 1000);
    let linger: { cancel(): void } | undefined;
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted && !wasAborted) stop();
    const end = (): void => {
      timer.cancel();
      linger?.cancel();
      signal.removeEventListener("abort", stop);
      child.stderr.destroy();
      resolve({ code, stderr });
    };
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (stderr.length < MAX_REASON * 2) stderr += text;
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
    child.on("error", (error) => {
      stderr += error.message;
      end();
    });
    child.on("exit", (status) => {
      code = status ?? undefined;
      // What it left running ends with it. One that left the group may still hold stderr open: it isn't waited for.
      stop();
      linger = clock.setTimeout(end, LINGER_MS);
    });
    // Only now has all it said been read.
    child.on("close", end);
  });
}

/** What its first line asks for, as the system would do; sh where it asks for nothing. */
async function shellFor(file: string): Promise<string[]> {
  const handle = await open(file, "r");
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(256), 0, 256, 0);
    const [, program, argument] =
      /^#![ \t]*(\S+)(?:[ \t]+(\S.*?))?[ \t\r]*\n/.exec(buffer.toString("utf8", 0, bytesRead)) ?? [];
    if (program === undefined) return ["/bin/sh"];
    return argument === undefined ? [program] : [program, argument];
  } finally {
    await handle.close();
  }
}

/** A script that everybody may change says what somebody else wants. */
async function proveOwn(file: string): Promise<void> {
  if (process.platform === "win32") return;
  for (const path of [file, dirname(file)])
    if (((await stat(path)).mode & 0o002) !== 0)
      throw new Error(`it isn't run, because everybody may write ${path} (chmod o-w)`);
}
