import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import { errorResult } from "./answer-errors.ts";
import type { Call, Middleware } from "./call.ts";

/**
 * The user's scripts around calls and prompts: `hooks/{point}.{name}.sh|.js` in the state directory, in the order of
 * their names. Each gets the event as JSON on stdin, and the short facts in its environment. Exit 2 of a before-hook
 * blocks, with its stderr as the reason; any other failure is logged and nothing more.
 */
export type HookPoint = "before_tool" | "after_tool" | "before_prompt" | "after_response";

export interface HookRunner {
  /** False where hooks are off or there is no script for the point: then nothing need be prepared for one. */
  has(point: HookPoint): Promise<boolean>;
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
  let listed: { names: Promise<string[]>; at: number } | undefined;
  const names = (): Promise<string[]> => {
    const now = options.clock.monotonic();
    if (listed === undefined || now - listed.at >= LOOK_MS)
      listed = { names: readdir(options.directory).catch(() => []), at: now };
    return listed.names;
  };
  const scripts = async (point: HookPoint): Promise<string[]> =>
    (await names())
      .filter((name) => name.startsWith(`${point}.`) && /\.(?:sh|js)$/.test(name))
      .sort((a, b) => (a < b ? -1 : 1));
  return {
    has: async (point) => options.enabled() && (await scripts(point)).length > 0,
    async run(point, event, facts, signal) {
      for (const name of options.enabled() ? await scripts(point) : []) {
        const { code, stderr } = await runHook(join(options.directory, name), event, facts, signal, options);
        if (code === BLOCKS && point.startsWith("before_"))
          return stderr.trim() === "" ? `The hook ${name} blocks it.` : stderr.trim().slice(0, MAX_REASON);
        if (code !== 0)
          options.log.warn(
            `hook ${name}: ${code === undefined ? "was stopped" : `exit ${code}`} ${stderr.slice(0, 300)}`,
          );
      }
      return undefined;
    },
  };
}

/** Outside of policy, so that a hook sees every call, refused ones too. */
export function hooks(runner: HookRunner): Middleware<Call> {
  return async function hooks(call, next) {
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
  };
}

function eventOf(call: Call): Record<string, unknown> {
  return { callId: call.id, tool: call.name, args: call.args, caller: call.caller };
}

function factsOf(call: Call): Record<string, string> {
  return { SESSION: call.caller.sessionId, TOOL: call.name };
}

function runHook(
  file: string,
  event: Record<string, unknown>,
  facts: Record<string, string>,
  signal: AbortSignal,
  { timeoutSeconds, clock }: HookOptions,
): Promise<{ code: number | undefined; stderr: string }> {
  const variables = Object.entries(facts)
    .filter(([, value]) => Buffer.byteLength(value) <= MAX_VARIABLE && !value.includes("\0"))
    .map(([name, value]): [string, string] => [`CAMELAGI_HOOK_${name}`, value]);
  const [program, ...args] = file.endsWith(".js") ? [process.execPath, file] : ["/bin/sh", file];
  return new Promise((resolve) => {
    // Loaded here: most configs have no hook, and every start would pay for the module.
    const { spawn } = process.getBuiltinModule("node:child_process");
    const child = spawn(program ?? "", args, {
      // A group of its own: what the hook started dies with it.
      detached: true,
      stdio: ["pipe", "ignore", "pipe"],
      env: { ...process.env, ...Object.fromEntries(variables) },
    });
    let stderr = "";
    const stop = (): void => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        child.kill("SIGKILL");
      }
    };
    const timer = clock.setTimeout(stop, timeoutSeconds() * 1000);
    signal.addEventListener("abort", stop, { once: true });
    const end = (code: number | undefined): void => {
      timer.cancel();
      signal.removeEventListener("abort", stop);
      // A grandchild may hold stderr open.
      stop();
      resolve({ code, stderr });
    };
    child.stderr.on("data", (chunk: Buffer) => {
      if (stderr.length < MAX_REASON * 2) stderr += chunk.toString("utf8");
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
    child.on("error", (error) => {
      stderr += error.message;
      end(undefined);
    });
    child.on("exit", (code) => end(code ?? undefined));
  });
}
