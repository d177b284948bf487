// @ts-check
/**
 * The thread that runs sandboxed source: a new QuickJS instance a call, thrown away after it. Plain JavaScript,
 * because Node starts this file by itself. Only JSON text crosses the border, in both directions.
 *
 * in:  { type: "run", source, language, input, tools, memoryBytes, budgetMs, maxCalls, maxOutput } | { type: "answer", number, json }
 *      | { type: "check", source, language }
 * out: { type: "ready" } | { type: "call", number, name, json } | { type: "idle" } | { type: "busy" }
 *      | { type: "done", json } | { type: "failed", code, message }
 */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { parentPort } from "node:worker_threads";
import { EvalFlags, QuickJS } from "quickjs-wasi";

if (parentPort === null) throw new Error("js-worker is started as a worker thread");
const port = parentPort;

const beside = fileURLToPath(new URL("quickjs.wasm", import.meta.url));
const wasmFile = existsSync(beside)
  ? beside
  : createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm");
const wasm = await WebAssembly.compile(readFileSync(wasmFile));

/** @type {{ answer(number: number, json: string): void } | undefined} */
let current;

/** Takes what it needs before the source is loaded, which may replace any of it. */
const DRIVER = `
const { parse, stringify } = JSON;
const text = String;
const Failure = Error;
const { values } = Object;
const host = globalThis.__host;
const names = parse(globalThis.__tools);
const input = parse(globalThis.__input);
delete globalThis.__host;
delete globalThis.__tools;
delete globalThis.__input;
const call = async (name, args) => {
  const answer = parse(await host(text(name), text(stringify(args ?? {}))));
  if (answer.error !== undefined) throw new Failure(answer.error);
  return answer;
};
const tools = { call };
for (const name of names) if (name !== "call") tools[name] = (args) => call(name, args);
const exported = await import("tool");
const functions = values(exported).filter((one) => typeof one === "function");
const main = exported.default ?? (functions.length === 1 ? functions[0] : undefined);
if (typeof main !== "function") throw new TypeError("the source has no default export that is a function");
const value = await main(input, tools);
export default stringify({ value }) ?? "{}";
`;

/** No tool takes more than this, and copies of it pile up in the server. */
const LONGEST_ARGUMENTS = 500_000;

/** How to take the types off; loaded only where there are some. @param {string} language */
async function typeStripper(language) {
  if (language !== "ts") return (/** @type {string} */ source) => source;
  const { transform } = await import("sucrase");
  return (/** @type {string} */ source) =>
    transform(source, { transforms: ["typescript"], disableESTransforms: true }).code;
}

const NO_IMPORTS =
  "sandboxed source can't import anything; the language itself is there, and the tools named in `tools`";

/** @param {any} message */
async function run(message) {
  let spent = 0;
  let entered = 0;
  const enter = () => {
    entered = performance.now();
    port.postMessage({ type: "busy" });
  };
  const leave = () => {
    spent += performance.now() - entered;
  };
  let ticks = 0;
  let overtime = false;
  const stripped = await typeStripper(message.language);
  enter();
  const source = stripped(message.source);
  const asFunction = message.asFunction === undefined ? undefined : stripped(message.asFunction);
  leave();
  const vm = await QuickJS.create({
    wasm,
    memoryLimit: message.memoryBytes,
    timezoneOffset: 0,
    interruptHandler: () => {
      // Asking the clock each time would cost more than the code itself.
      ticks += 1;
      if (ticks % 64 !== 0) return overtime;
      overtime ||= spent + performance.now() - entered > message.budgetMs;
      return overtime;
    },
    moduleLoader: {
      load: (name) => {
        if (name === "tool") return chosen;
        throw new Error(NO_IMPORTS);
      },
    },
  });
  const chosen = asFunction !== undefined && compiles(vm, asFunction) ? asFunction : source;
  /** @type {Map<number, { resolve(json: string): void }>} */
  const pending = new Map();
  let calls = 0;
  try {
    const host = vm.newFunction("host", (name, json) => {
      const deferred = vm.newPromise();
      calls += 1;
      const number = calls;
      if (number > message.maxCalls) {
        deferred.reject(vm.newError(`more than ${message.maxCalls} calls of tools`));
        return deferred.handle;
      }
      const asked = { name: name.toString(), json: json.toString() };
      if (asked.name.length + asked.json.length > LONGEST_ARGUMENTS) {
        deferred.reject(vm.newError(`the arguments are longer than ${LONGEST_ARGUMENTS} characters`));
        return deferred.handle;
      }
      pending.set(number, { resolve: (answer) => deferred.resolve(vm.newString(answer)) });
      port.postMessage({ type: "call", number, ...asked });
      return deferred.handle;
    });
    vm.setProp(vm.getGlobal(), "__host", host);
    vm.setProp(vm.getGlobal(), "__tools", vm.newString(JSON.stringify(message.tools)));
    vm.setProp(vm.getGlobal(), "__input", vm.newString(message.input));

    /** @type {() => void} */
    let wake = () => {};
    current = {
      answer(number, json) {
        const waiting = pending.get(number);
        pending.delete(number);
        enter();
        waiting?.resolve(json);
        vm.executePendingJobs();
        leave();
        wake();
      },
    };
    enter();
    const promise = vm.evalCode(DRIVER, "driver.js", EvalFlags.TYPE_MODULE);
    vm.executePendingJobs();
    leave();
    /** @type {any} */
    let settled;
    vm.resolvePromise(promise).then(
      (result) => {
        settled = result;
        wake();
      },
      (error) => {
        settled = { thrown: error };
        wake();
      },
    );
    for (;;) {
      // Lets the promise above see what the jobs have settled.
      await new Promise((resolve) => setImmediate(resolve));
      if (settled !== undefined) break;
      if (pending.size === 0) {
        enter();
        const more = vm.executePendingJobs();
        leave();
        await new Promise((resolve) => setImmediate(resolve));
        if (settled !== undefined) break;
        if (overtime) throw new Error("interrupted");
        if (more === 0) return failed("tool_failed", "the source waits for something that never happens");
        continue;
      }
      port.postMessage({ type: "idle" });
      await new Promise((resolve) => {
        wake = () => resolve(undefined);
      });
      wake = () => {};
    }
    if (settled.thrown !== undefined) throw settled.thrown;
    if ("error" in settled) {
      return failed(overtime ? "timeout" : "tool_failed", overtime ? "interrupted" : describe(settled.error));
    }
    const json = settled.value.getProp("default").toString();
    // Source can swallow the interruption; what it then returns isn't what it was to compute.
    if (overtime) return failed("timeout", "interrupted");
    if (json.length > message.maxOutput)
      return failed(
        "too_large",
        `the result has ${json.length} characters; ${message.maxOutput} are allowed`,
      );
    port.postMessage({ type: "done", json });
  } catch (error) {
    if (overtime) failed("timeout", "interrupted");
    else failed("tool_failed", error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  } finally {
    current = undefined;
    try {
      vm.dispose();
    } catch {
      // An instance that ran out of memory may not be able to clean up; it is garbage either way.
    }
  }
}

/** @param {QuickJS} vm @param {string} source */
function compiles(vm, source) {
  try {
    vm.compile(source, "tool.js", EvalFlags.TYPE_MODULE);
    return true;
  } catch {
    return false;
  }
}

/** @param {any} error */
function describe(error) {
  try {
    const text = String(error.toString());
    // Of an object that is no error its text says nothing.
    return (text === "[object Object]" ? String(error.getProp("message").toString()) : text).slice(0, 2000);
  } catch {
    return "the source threw something that can't be shown";
  }
}

/** @param {string} code @param {string} message */
function failed(code, message) {
  port.postMessage({ type: "failed", code, message: message.slice(0, 2000) });
}

/** @param {any} message */
async function check(message) {
  const stripped = await typeStripper(message.language);
  port.postMessage({ type: "busy" });
  const vm = await QuickJS.create({
    wasm,
    memoryLimit: 64 * 2 ** 20,
    moduleLoader: {
      load: () => {
        throw new Error(NO_IMPORTS);
      },
    },
  });
  try {
    vm.compile(stripped(message.source), "tool.js", EvalFlags.TYPE_MODULE);
    port.postMessage({ type: "done", json: "null" });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    failed("invalid_input", message.replace(/^(?:Compilation error: |Error: )+/, ""));
  } finally {
    vm.dispose();
  }
}

port.on("message", (message) => {
  if (message.type === "answer") current?.answer(message.number, message.json);
  else if (message.type === "check") void check(message);
  else
    run(message).catch((error) => {
      failed("tool_failed", error instanceof Error ? error.message : String(error));
    });
});
port.postMessage({ type: "ready" });
