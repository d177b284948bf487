import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Camel } from "../../src/camel.ts";
import { createFakeClock, type FakeClock } from "../fake-clock.ts";
import { call, sandbox, startCamel, type Sandbox } from "../harness.ts";

/** Settings that no other test sets: each is given a value under which a call ends otherwise than with the default. */
type Outcome = (camel: Camel, clock: FakeClock, box: Sandbox) => Promise<unknown>;

const add = { action: "add", schedule: "0 9 * * *", prompt: "Say hello" };
const making =
  (strategy: object): Outcome =>
  async (camel) => {
    const definition = { name: "made", description: "Made for a test.", strategy };
    const made = await call(camel, "tool_create", { action: "create", definition });
    return made.code ?? (await call(camel, "made", {})).text.length;
  };
/** A long result is cut, and archived; how many of them can be paged through after an hour and a half? */
const archived: Outcome = async (camel, clock, box) => {
  await box.write("workspace/MEMORY.md", "word\n".repeat(10_000));
  const ids: (string | undefined)[] = [];
  for (let round = 0; round < 2; round++) {
    const { text } = await call(camel, "memory_get", { filePath: "MEMORY.md", lines: 10_000 });
    ids.push(/"id":"(res_\w+)"/.exec(text)?.[1]);
  }
  clock.advance(90 * 60_000);
  const pages = await Promise.all(ids.map((id) => call(camel, "get_tool_response", { id })));
  return pages.filter((page) => page.isError !== true).length;
};

/** As many characters as a tool is given of a long page. */
const fetched: Outcome = async (camel) => {
  const server = createServer((_req, res) => res.end("x".repeat(5_000))).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const definition = {
    name: "fetches",
    description: "Gets a page.",
    strategy: { type: "http", url: `http://127.0.0.1:${port}/`, method: "GET" },
  };
  const made = await call(camel, "tool_create", { action: "create", definition });
  if (made.isError === true) return made.text;
  return (/x+/.exec((await call(camel, "fetches", {})).text)?.[0] ?? "").length;
};
const LOOPBACK = { allowLoopback: true };

test.each<[string, object, Outcome, unknown, unknown]>([
  [
    "cron.maxJobs",
    { cron: { maxJobs: 1 } },
    async (camel) => (await call(camel, "cron", add), (await call(camel, "cron", add)).code),
    undefined,
    "too_large",
  ],
  [
    "shell.maxArgs",
    { shell: { maxArgs: 2 } },
    making({ type: "shell", command_template: "echo a b c" }),
    6,
    "approval_required",
  ],
  [
    "shell.maxArgLength",
    { shell: { maxArgLength: 5 } },
    making({ type: "shell", command_template: "echo abcdef" }),
    7,
    "approval_required",
  ],
  [
    "urlAccess.maxResponseBytes",
    { urlAccess: { ...LOOPBACK, maxResponseBytes: 1_024 } },
    fetched,
    5_000,
    1_024,
  ],
  ["results.maxAgeHours", { results: { maxAgeHours: 1 } }, archived, 2, 0],
  ["results.maxCount", { results: { maxCount: 1 } }, archived, 2, 1],
  [
    "audit.enabled",
    { audit: { enabled: false } },
    async (camel, _clock, box) => (
      await call(camel, "cron", add),
      await camel.close(),
      existsSync(join(box.home, "audit"))
    ),
    true,
    false,
  ],
  [
    "tools.tier",
    { tools: { tier: "core" } },
    async (camel) => (await call(camel, "checkpoint", { action: "list" })).code,
    undefined,
    "unknown_tool",
  ],
  [
    "dynamicTools.enabled",
    { dynamicTools: { enabled: false } },
    making({ type: "shell", command_template: "echo a" }),
    2,
    "denied_by_policy",
  ],
  [
    "dynamicTools.maxTools",
    { dynamicTools: { maxTools: 1 } },
    async (camel) => {
      const made = await Promise.all(
        ["one_tool", "two_tool"].map((name) =>
          call(camel, "tool_create", {
            action: "create",
            definition: { name, description: "x", strategy: { type: "shell", command_template: "echo a" } },
          }),
        ),
      );
      return made.filter((one) => one.isError !== true).length;
    },
    2,
    1,
  ],
])("%s", async (_name, config, outcome, usual, limited) => {
  const ends: unknown[] = [];
  for (const one of [{ urlAccess: LOOPBACK }, config]) {
    const box = await sandbox({ "home/config.yaml": JSON.stringify(one) });
    const clock = createFakeClock(Date.now());
    ends.push(
      await outcome(await startCamel(box, { clock, env: { PATH: process.env["PATH"] } }), clock, box),
    );
  }
  expect(ends).toEqual([usual, limited]);
});
