import { Worker } from "node:worker_threads";
import type { Clock } from "../../../shared/clock.ts";
import { CamelError, ERROR_CODES, type ErrorCode } from "../../../shared/errors.ts";

export interface SandboxSource {
  source: string;
  /** Types are taken off in the thread too: there are sources that this takes for ever with. */
  language: "js" | "ts";
  /** The source read as one function; taken where it is one. */
  asFunction?: string;
}

export interface SandboxJob extends SandboxSource {
  /** JSON. */
  input: string;
  tools: readonly string[];
  memoryBytes: number;
  /** Time the source itself may compute; waiting for tools doesn't count. */
  budgetMs: number;
  maxCalls: number;
  maxOutput: number;
}

export interface SandboxHooks {
  clock: Clock;
  signal: AbortSignal;
  /** JSON in, JSON out; never rejects. */
  call(name: string, json: string): Promise<string>;
}

/** How long after its budget a thread that doesn't stop by itself is ended. */
const GRACE_MS = 250;
/** A thread with an idle engine costs some megabytes; one that nobody uses for this long is ended. */
const IDLE_MS = 30_000;
/** Calls made by a sandboxed source need a thread of their own, so these come on top. */
const MOST_THREADS = 4;
/** What V8 keeps of past instances is given back with the thread. */
const CALLS_PER_THREAD = 500;

interface Thread {
  worker: Worker;
  calls: number;
  idle?: { cancel(): void };
}

type Message =
  | { type: "ready" | "idle" | "busy" }
  | { type: "call"; number: number; name: string; json: string }
  | { type: "done"; json: string }
  | { type: "failed"; code: string; message: string };

const free: Thread[] = [];
const waiting: { depth: number; start(): void }[] = [];
let busy = 0;

/** Runs a job in a thread of the pool and gives back JSON. */
export async function runInSandbox(job: SandboxJob, depth: number, hooks: SandboxHooks): Promise<string> {
  return inTurn(depth, () => withThread({ type: "run", ...job }, job.budgetMs, hooks));
}

export async function checkSyntax(source: SandboxSource, hooks: Omit<SandboxHooks, "call">): Promise<void> {
  await inTurn(0, () =>
    withThread({ type: "check", ...source }, CHECK_MS, { ...hooks, call: () => Promise.resolve("{}") }),
  );
}

const CHECK_MS = 2_000;

/** The deepest first: those above it hold their threads until it is done, and would wait for each other for ever. */
async function inTurn(depth: number, work: () => Promise<string>): Promise<string> {
  if (busy >= MOST_THREADS + depth) await new Promise<void>((start) => waiting.push({ depth, start }));
  else busy += 1;
  try {
    return await work();
  } finally {
    busy -= 1;
    const next = waiting.reduce<(typeof waiting)[number] | undefined>(
      (deepest, one) => (deepest === undefined || one.depth > deepest.depth ? one : deepest),
      undefined,
    );
    if (next !== undefined && busy < MOST_THREADS + next.depth) {
      waiting.splice(waiting.indexOf(next), 1);
      busy += 1;
      next.start();
    }
  }
}

function withThread(request: object, budgetMs: number, hooks: SandboxHooks): Promise<string> {
  const thread = free.pop() ?? { worker: startWorker(), calls: 0 };
  const { worker } = thread;
  thread.idle?.cancel();
  thread.calls += 1;
  // While it works it keeps the process alive; between calls it must not.
  worker.ref();
  return new Promise<string>((resolve, reject) => {
    let alarm: { cancel(): void } | undefined;
    let over = false;
    const end = (finish: () => void, reusable: boolean): void => {
      if (over) return;
      over = true;
      alarm?.cancel();
      hooks.signal.removeEventListener("abort", onAbort);
      worker.removeAllListeners("message");
      worker.removeAllListeners("error");
      worker.removeAllListeners("exit");
      worker.unref();
      if (reusable && thread.calls < CALLS_PER_THREAD) keep(thread, hooks.clock);
      else void worker.terminate();
      finish();
    };
    const overtime = (): void => end(() => reject(tooSlow(budgetMs)), false);
    // The engine checks its own time; regular expressions, promises without end and the like may not let it.
    const arm = (): void => {
      alarm?.cancel();
      alarm = hooks.clock.setTimeout(overtime, budgetMs + GRACE_MS);
    };
    const onAbort = (): void => {
      const { reason } = hooks.signal as { reason: unknown };
      end(
        () =>
          reject(reason instanceof Error ? reason : new CamelError("cancelled", "The call was cancelled.")),
        false,
      );
    };
    worker.on("message", (message: Message) => {
      switch (message.type) {
        case "ready":
          return;
        case "busy":
          arm();
          return;
        case "idle":
          alarm?.cancel();
          return;
        case "call":
          void hooks.call(message.name, message.json).then((json) => {
            if (!over) worker.postMessage({ type: "answer", number: message.number, json });
          });
          return;
        case "done":
          end(() => resolve(message.json), true);
          return;
        case "failed":
          end(() => reject(message.code === "timeout" ? tooSlow(budgetMs) : failure(message)), true);
      }
    });
    worker.on("error", (error: Error) => {
      end(
        () =>
          reject(
            new CamelError("tool_failed", `The sandbox ended: ${error.message}.`, {
              next: "Let the source use less memory.",
            }),
          ),
        false,
      );
    });
    worker.on("exit", () => end(() => reject(new CamelError("tool_failed", "The sandbox ended.")), false));
    hooks.signal.addEventListener("abort", onAbort, { once: true });
    if (hooks.signal.aborted) onAbort();
    else worker.postMessage(request);
  });
}

function startWorker(): Worker {
  return new Worker(new URL("./js-worker.mjs", import.meta.url), {
    env: {},
    execArgv: [],
    stdin: false,
    resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 },
  });
}

function keep(thread: Thread, clock: Clock): void {
  free.push(thread);
  // Nobody listens now, and an error that nobody listens to would end the process.
  thread.worker.on("error", () => drop(thread));
  thread.idle = clock.setTimeout(() => drop(thread), IDLE_MS);
}

function drop(thread: Thread): void {
  const index = free.indexOf(thread);
  if (index < 0) return;
  free.splice(index, 1);
  void thread.worker.terminate();
}

function tooSlow(budgetMs: number): CamelError {
  return new CamelError("timeout", `The source computed longer than ${budgetMs / 1000} s and was stopped.`, {
    next: "Let it do less, or update the tool with a larger timeout_seconds.",
  });
}

function failure({ code, message }: { code: string; message: string }): CamelError {
  const known: ErrorCode = code in ERROR_CODES ? (code as ErrorCode) : "tool_failed";
  // An engine that ran into the end of its stack or memory says so in words of its own, or not at all.
  if (/memory access out of bounds|Maximum call stack/.test(message))
    return new CamelError(known, "The source called itself too deeply.", {
      next: "Use a loop in place of the recursion, with action update.",
    });
  if (/out of memory|^\[uninitialized\]$/.test(message) || message === "null")
    return new CamelError(known, "The source ran out of memory.", {
      next: "Let it keep less at a time, or update the tool with a larger memory_mb (128 at most).",
    });
  const missing = /^ReferenceError: (\w+) is not defined/.exec(message)?.[1];
  if (missing !== undefined && NOT_THERE.has(missing))
    return new CamelError(known, message, {
      next: "A source has the language alone: no files, network, timers or modules. Make an http or shell tool for that, name it in strategy.tools and await tools.call(name, args); return the result.",
    });
  return new CamelError(known, message, {
    next: "Correct the source with action update. Its input is an object of the parameters: input.NAME.",
  });
}

const NOT_THERE = new Set(
  "require module exports process fetch XMLHttpRequest Buffer setTimeout setInterval window document Deno Bun fs console".split(
    " ",
  ),
);
