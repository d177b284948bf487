/**
 * The smallest possible host: JSON-RPC lines on a child's pipes, with no code of ours or of the SDK in between.
 * What it measures and sees is what any host sees.
 */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const TIMEOUT_MS = 60_000;

/** Spawns a stdio server and says hello. `started` is when the process was started. */
export async function connectRaw(command, args, options = {}) {
  const started = performance.now();
  const child = spawn(command, args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (chunk) => (stderr += chunk));
  // A server that has gone is reported when its process closes, with what it said.
  child.stdin.on("error", () => {});
  const waiting = new Map();
  const failAll = (reason) => {
    for (const { fail } of waiting.values()) fail(`${reason}\n${stderr}`);
    waiting.clear();
  };
  const ended = new Promise((resolve) => {
    child.once("error", (error) => (failAll(error.message), resolve(-1)));
    child.once("close", (code) => (failAll(`the server ended with ${code}`), resolve(code)));
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    // Anything that isn't JSON on stdout is a bug of the server, and throwing here is how it gets seen.
    const message = JSON.parse(line);
    const call = waiting.get(message.id);
    if (call === undefined) return;
    waiting.delete(message.id);
    if (message.error === undefined) call.resolve(message.result);
    else call.fail(message.error.message);
  });
  let lastId = 0;
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const request = (method, params = {}) =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      const timer = setTimeout(
        () => reject(new Error(`no answer to ${method} in ${TIMEOUT_MS} ms\n${stderr}`)),
        TIMEOUT_MS,
      );
      waiting.set(id, {
        resolve(value) {
          clearTimeout(timer);
          resolve(value);
        },
        fail(reason) {
          clearTimeout(timer);
          reject(new Error(reason));
        },
      });
      send({ id, method, params });
    });
  await request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "smoke", version: "0" },
  });
  send({ method: "notifications/initialized" });
  return {
    started,
    list: async () => (await request("tools/list")).tools,
    call: (name, args_) => request("tools/call", { name, arguments: args_ }),
    /** Closes stdin, as hosts do, and returns the exit code. */
    async close() {
      child.stdin.end();
      return ended;
    },
  };
}

export function check(condition, message) {
  if (!condition) throw new Error(message);
}

/** Lists the tools and uses each kind, worker threads and the sandbox included; returns how many tools there were. */
export async function smoke(client, workspace) {
  const tools = await client.list();
  for (const name of ["apply_patch", "memory_get"]) {
    check(
      tools.some((tool) => tool.name === name),
      `${name} is not listed`,
    );
  }
  writeFileSync(`${workspace}/MEMORY.md`, "The first line.\n");
  const note = await client.call("memory_get", { filePath: "MEMORY.md" });
  check(
    note.isError !== true && note.content[0].text.includes("The first line."),
    `memory_get: ${JSON.stringify(note)}`,
  );
  const patch = "*** Begin Patch\n*** Add File: made.txt\n+made by a patch\n*** End Patch\n";
  const patched = await client.call("apply_patch", { patch });
  check(patched.isError !== true, `apply_patch: ${JSON.stringify(patched)}`);
  check(
    readFileSync(`${workspace}/made.txt`, "utf8") === "made by a patch\n",
    "apply_patch wrote something else",
  );
  const refused = await client.call("memory_get", { filePath: "memory/../made.txt" });
  check(refused.isError === true, "a path out of memory/ was not refused");
  const found = await client.call("memory_search", { query: "first line" });
  check(found.content[0].text.includes("The first line."), `memory_search: ${JSON.stringify(found)}`);
  const strategy = { type: "js", source: "export default ({ text }) => text.toUpperCase();" };
  const properties = { text: { type: "string" } };
  const input_schema = { type: "object", properties, required: ["text"] };
  const definition = { name: "shout", description: "Shouts.", input_schema, strategy };
  const made = await client.call("tool_create", { action: "create", definition });
  check(made.isError !== true, `tool_create: ${JSON.stringify(made)}`);
  const shouted = await client.call("shout", { text: "hello" });
  check(shouted.content[0].text === "HELLO", `shout: ${JSON.stringify(shouted)}`);
  const jobs = await client.call("cron", { action: "list" });
  check(jobs.isError !== true, `cron: ${JSON.stringify(jobs)}`);
  const code = await client.close();
  check(code === 0, `the server ended with ${code} after its stdin was closed`);
  return tools.length;
}
