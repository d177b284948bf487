/**
 * `npm run bench pipeline`: what the whole pipeline adds to a call, against the bare tool, both in this run and
 * interleaved. Everything is on: rules, scopes, approvals with an allowlist, hooks (without a script: those take their own
 * time), limits of every kind, audit and events. Each call ends with a turn of the event loop, as a host's calls do, so
 * that the audit line is written within the time that is measured.
 */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { createCamel } from "../../src/camel.ts";
import type { Call } from "../../src/pipeline/call.ts";
import { defineTool } from "../../src/tools/tool.ts";

const CONFIG = `
autonomy: { level: supervised, forbiddenPaths: ["/private"], sensitiveFiles: ["**/*.tfvars"] }
tools: { deny: ["nothing_*"] }
rules:
  - { tool: "other_*", decision: deny }
  - { tool: "echo*", path: "secret/**", decision: deny }
  - { tool: "echo*", path: "src/**", decision: allow }
scopes:
  - { match: { agent: "review-*" }, autonomy: { level: readonly } }
  - { match: { client: "bench" }, tools: { deny: ["never"] } }
approvals: { mode: smart, allowlist: ["echo*:src/**"] }
hooks: { enabled: true }
limits:
  tools:
    - tool: "echo*"
      rateLimit: { calls: 10000000, perSeconds: 1 }
      maxExecutionsPerRun: 10000000
      cache: false
      retry: { maxRetries: 2 }
      circuitBreaker: { threshold: 5 }
`;
const ROUNDS = 30;
const CALLS = 300;
const TARGET_MICROSECONDS = 60;

const folder = await mkdtemp(join(tmpdir(), "camel-bench-"));
await writeFile(join(folder, "config.yaml"), CONFIG);
await mkdir(join(folder, "hooks"));
await mkdir(join(folder, "src"));
await writeFile(join(folder, "src", "a.ts"), "export {};\n");
const tool = {
  title: "Echo",
  description: "Says it again.",
  tier: "core",
  effect: "write",
  idempotent: true,
  schema: z.object({ text: z.string() }),
  touches: () => ({ paths: [{ path: join(folder, "src", "a.ts"), access: "write" as const }] }),
  execute: ({ text }: { text: string }) => Promise.resolve(text),
} as const;
// Built-in tools keep their own checkpoints as part of writing; for others the pipeline does, with its fsyncs.
const echo = defineTool({ ...tool, name: "echo", keepsCheckpoints: true });
const kept = defineTool({ ...tool, name: "echo_kept" });
const camel = await createCamel({ home: folder, workspace: folder, env: {}, tools: [echo, kept] });
camel.on("tool_result", () => {});
const call: Call = {
  id: "call_bench",
  name: "echo",
  args: { text: "hello" },
  caller: { agentId: "main", depth: 0, client: "bench", transport: "library", sessionId: "ses_bench" },
  signal: new AbortController().signal,
};
const context = (await camel.dispatcher.resolve(call)).context;

async function timed(calls: number, run: () => Promise<unknown>, into: number[]): Promise<void> {
  for (let index = 0; index < calls; index++) {
    const start = performance.now();
    const result = await run();
    await setImmediate();
    into.push(performance.now() - start);
    if (result !== "hello") throw new Error(String(result));
  }
}
const through = async (name: string): Promise<string> =>
  (await camel.dispatcher.call({ ...call, name })).text;

const bare: number[] = [];
const piped: number[] = [];
const checkpointed: number[] = [];
const located: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  await timed(CALLS, () => through("echo"), piped);
  await timed(CALLS, async () => echo.execute(echo.schema.parse(call.args), context), bare);
  await timed(CALLS, () => realpath(join(folder, "src", "a.ts")).then(() => "hello"), located);
  await timed(CALLS / 100, () => through("echo_kept"), checkpointed);
}
await camel.close();
await rm(folder, { recursive: true, force: true });

const median = (times: number[]): number => (times.sort((a, b) => a - b)[times.length >> 1] ?? 0) * 1000;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const added = (times: number[]): number => median(times) - median(bare);
const isMet = added(piped) <= TARGET_MICROSECONDS;
print(`bare tool p50 ${median(bare).toFixed(1)} µs`);
print(
  `the pipeline adds p50 ${added(piped).toFixed(1)} µs (target ${TARGET_MICROSECONDS}: ${isMet ? "met" : "missed"})`,
);
// Where the file really is must be asked of the system for each call; what that takes depends on the machine alone.
print(`  of which one realpath, timed alone, is ${(median(located) - median(bare)).toFixed(1)} µs`);
// No target: it is the time the disk takes to keep the old version before the tool may touch the file.
print(`a checkpoint of the file adds p50 ${(added(checkpointed) - added(piped)).toFixed(1)} µs to that`);
process.exitCode = isMet ? 0 : 1;
