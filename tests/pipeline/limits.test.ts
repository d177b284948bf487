import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Camel, CamelOptions } from "../../src/camel.ts";
import { systemClock, type Clock } from "../../src/shared/clock.ts";
import { CamelError } from "../../src/shared/errors.ts";
import { defineTool, type ToolDef, type ToolLimits } from "../../src/tools/tool.ts";
import { call, callOf, sandbox, startCamel } from "../harness.ts";

/** A tool that does what the test says, and counts how often it ran. */
function probe(
  limits: ToolLimits,
  run: (count: number, signal: AbortSignal) => Promise<string> = (count) => Promise.resolve(`run ${count}`),
  over: Partial<ToolDef> = {},
): ToolDef & { runs: () => number } {
  let count = 0;
  const tool = defineTool({
    name: "probe",
    title: "Probe",
    description: "For tests.",
    tier: "core",
    effect: "read",
    idempotent: true,
    schema: z.object({ key: z.string().optional(), noise: z.string().optional() }),
    limits,
    execute: (_input, context) => run(++count, context.signal),
    ...over,
  });
  return { ...tool, runs: () => count };
}

/** Time that stands still until the test moves it; timers fire when it passes them. */
function manualClock(): Clock & { advance(milliseconds: number): void } {
  let now = 0;
  let timers: { at: number; run: () => void }[] = [];
  return {
    now: () => now,
    monotonic: () => now,
    setTimeout(run, milliseconds) {
      const timer = { at: now + milliseconds, run };
      timers.push(timer);
      return { cancel: () => (timers = timers.filter((one) => one !== timer)) };
    },
    advance(milliseconds) {
      now += milliseconds;
      const due = timers.filter((timer) => timer.at <= now);
      timers = timers.filter((timer) => timer.at > now);
      for (const timer of due) timer.run();
    },
  };
}

async function withTool(tool: ToolDef, options: CamelOptions = {}, config = ""): Promise<Camel> {
  return startCamel(await sandbox({ "home/config.yaml": config }), { tools: [tool], ...options });
}

describe("rate limit", () => {
  test("never more than so many in any window, whatever the times; each caller has its own", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 4 }),
        async (gaps, calls) => {
          const clock = manualClock();
          const tool = probe({ rateLimit: { calls, perSeconds: 3 } });
          const camel = await startCamel(await sandbox(), { tools: [tool], clock });
          const passed: number[] = [];
          for (const gap of gaps) {
            clock.advance(gap);
            const result = await call(camel, "probe", {});
            const recent = passed.filter((time) => time > clock.monotonic() - 3_000).length;
            expect(result.code).toBe(recent < calls ? undefined : "rate_limited");
            if (result.isError !== true) passed.push(clock.monotonic());
          }
        },
      ),
      { numRuns: 15 },
    );
    const tool = probe({ rateLimit: { calls: 1, perSeconds: 60 } });
    const camel = await withTool(tool);
    expect((await call(camel, "probe", {})).code).toBeUndefined();
    expect((await call(camel, "probe", {}, { agentId: "alice" })).code).toBeUndefined();
    const refused = await call(camel, "probe", {});
    expect(refused.text).toMatch(/rate_limited[\s\S]*Wait \d+ s/);
  });
});

describe("maxExecutionsPerRun", () => {
  test("is exact under parallel calls and counts by session", async () => {
    const tool = probe({ maxExecutionsPerRun: 5 });
    const camel = await withTool(tool);
    const results = await Promise.all(Array.from({ length: 40 }, () => call(camel, "probe", {})));
    expect(results.filter((one) => one.isError !== true).length).toBe(5);
    expect(results.find((one) => one.isError)?.code).toBe("limit_reached");
    expect(tool.runs()).toBe(5);
    expect((await call(camel, "probe", {}, { sessionId: "next" })).isError).toBeUndefined();
  });

  test("a call that a person refused, or that left while it waited for one, doesn't count", async () => {
    const tool = probe({ maxExecutionsPerRun: 1 }, undefined, { needsApproval: true });
    const camel = await withTool(tool);
    expect((await call(camel, "probe", {})).code).toBe("approval_required");
    const leaving = new AbortController();
    const left = () => (leaving.abort(), Promise.reject(new Error("gone")));
    const call1 = { ...callOf("probe", {}), signal: leaving.signal, ask: left };
    expect((await camel.dispatcher.call(call1)).code).toBe("cancelled");
    const yes = () => Promise.resolve({ action: "accept" as const, content: { approve: true } });
    expect((await camel.dispatcher.call({ ...callOf("probe", {}), ask: yes })).text).toBe("run 1");
    expect((await call(camel, "probe", {})).code).toBe("limit_reached");
  });
});

describe("cache", () => {
  test("the same input is answered from memory until its time is over, with a copy each", async () => {
    const clock = manualClock();
    const tool = probe({ cache: { fields: ["key"], ttlSeconds: 10 } });
    const camel = await withTool(tool, { clock });
    const text = async (args: object, over = {}): Promise<string> =>
      (await call(camel, "probe", args, over)).text;
    expect(await text({ key: "a" })).toBe("run 1");
    expect(await text({ key: "a", noise: "x" })).toBe("run 1");
    expect(await text({ key: "b" })).toBe("run 2");
    expect(await text({ key: "a" }, { sessionId: "other" })).toBe("run 3");
    clock.advance(11_000);
    expect(await text({ key: "a" })).toBe("run 4");
  });

  test("is shared as its scope says, and never by callers whom policy tells apart", async () => {
    const runs = async (scope: "session" | "agent" | "global"): Promise<string[]> => {
      const config = "scopes: [{ match: { token: guest }, tools: { deny: [x] } }]\n";
      const camel = await withTool(probe({ cache: { scope } }), {}, config);
      const callers = [{}, { sessionId: "b" }, { client: "c" }, { token: "guest" }, { agentId: "d" }];
      const texts: string[] = [];
      for (const caller of callers) texts.push((await call(camel, "probe", {}, caller)).text.slice(4));
      return texts;
    };
    expect(await runs("session")).toEqual(["1", "2", "3", "4", "5"]);
    expect(await runs("agent")).toEqual(["1", "1", "2", "3", "4"]);
    expect(await runs("global")).toEqual(["1", "1", "1", "2", "3"]);
  });

  test("many askers at once make one run; the first one's leaving doesn't cost the others their answer", async () => {
    let isUnderWay = (): void => {};
    const underWay = new Promise<void>((resolve) => (isUnderWay = resolve));
    const tool = probe(
      { cache: true },
      (count, signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(new CamelError("cancelled", "gone")));
          if (count === 1) isUnderWay();
          else resolve(`run ${count}`);
        }),
    );
    const camel = await withTool(tool);
    const controller = new AbortController();
    const first = camel.dispatcher.call({ ...callOf("probe", {}), signal: controller.signal });
    await underWay;
    const joined = Promise.all([call(camel, "probe", {}), call(camel, "probe", {})]);
    setImmediate(() => controller.abort());
    const others = await joined;
    expect((await first).code).toBe("cancelled");
    expect(others.every((one) => one.isError !== true)).toBe(true);

    const shared = probe(
      { cache: true },
      (count) => new Promise((resolve) => setImmediate(resolve, `run ${count}`)),
    );
    const second = await withTool(shared);
    const texts = await Promise.all(
      Array.from({ length: 20 }, async () => (await call(second, "probe", {})).text),
    );
    expect(new Set(texts)).toEqual(new Set(["run 1"]));
  });

  test("what writes and what failed is never cached", async () => {
    const writes = probe({ cache: true }, undefined, { effect: "write" });
    const camel = await withTool(writes);
    await call(camel, "probe", {});
    await call(camel, "probe", {});
    expect(writes.runs()).toBe(2);
    const fails = probe({ cache: true }, () => Promise.reject(new CamelError("unavailable", "down")));
    const other = await withTool(fails);
    await call(other, "probe", {});
    await call(other, "probe", {});
    expect(fails.runs()).toBe(2);
  });
});

describe("retry", () => {
  /** Timers at once, but noted. */
  const impatient = (pauses: number[]): Clock => ({
    ...systemClock,
    setTimeout(run, milliseconds) {
      if (milliseconds > 400) return { cancel: () => {} };
      pauses.push(milliseconds);
      setImmediate(run);
      return { cancel: () => {} };
    },
  });
  const failing =
    (times: number, code: "unavailable" | "invalid_input" = "unavailable") =>
    (count: number) =>
      count <= times ? Promise.reject(new CamelError(code, "down")) : Promise.resolve(`run ${count}`);

  test("tries again with growing pauses, only what may work, only what is idempotent", async () => {
    const pauses: number[] = [];
    const options = { clock: impatient(pauses), random: () => 1 };
    const retry = { maxRetries: 3, backoffMs: 100 };
    const tool = probe({ retry }, failing(3));
    expect((await call(await withTool(tool, options), "probe", {})).text).toBe("run 4");
    expect(pauses).toEqual([100, 200, 400]);
    const stubborn = probe({ retry }, failing(9));
    expect((await call(await withTool(stubborn, options), "probe", {})).code).toBe("unavailable");
    expect(stubborn.runs()).toBe(4);
    const wrong = probe({ retry }, failing(1, "invalid_input"));
    await call(await withTool(wrong, options), "probe", {});
    expect(wrong.runs()).toBe(1);
    const named = probe({ retry: { ...retry, codes: ["invalid_input"] } }, failing(1, "invalid_input"));
    expect((await call(await withTool(named, options), "probe", {})).text).toBe("run 2");
    const risky = probe({ retry }, failing(1), { idempotent: false });
    await call(await withTool(risky, options), "probe", {});
    expect(risky.runs()).toBe(1);
  });

  test("what opened the breaker is told, not that it is open", async () => {
    const limits = { retry: { maxRetries: 3, backoffMs: 1 }, circuitBreaker: { threshold: 2 } };
    const tool = probe(limits, failing(9));
    const camel = await withTool(tool, { clock: impatient([]) });
    expect((await call(camel, "probe", {})).code).toBe("unavailable");
    expect((await call(camel, "probe", {})).code).toBe("circuit_open");
    expect(tool.runs()).toBe(2);
  });

  test("a caller who leaves between two attempts ends it", async () => {
    const controller = new AbortController();
    const clock: Clock = {
      ...systemClock,
      setTimeout(_run, milliseconds) {
        if (milliseconds < 500) setImmediate(() => controller.abort());
        return { cancel: () => {} };
      },
    };
    const tool = probe({ retry: { maxRetries: 5 } }, failing(9));
    const camel = await withTool(tool, { clock });
    const result = await camel.dispatcher.call({ ...callOf("probe", {}), signal: controller.signal });
    expect(result.code).toBe("cancelled");
    expect(tool.runs()).toBe(1);
  });
});

describe("circuit breaker", () => {
  type Step = { wait: number; outcome: "ok" | "fault" | "mistake" };
  const step = fc.record({
    wait: fc.constantFrom(0, 1_000, 30_000, 61_000),
    outcome: fc.constantFrom<Step["outcome"]>("ok", "fault", "fault", "mistake"),
  });

  test("behaves as the model: opens after so many faults in a row, tries once after the cool-down", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, threshold) => {
          const clock = manualClock();
          let outcome: Step["outcome"] = "ok";
          const tool = probe({ circuitBreaker: { threshold, cooldownSeconds: 60 } }, () => {
            if (outcome === "ok") return Promise.resolve("fine");
            return Promise.reject(new CamelError(outcome === "fault" ? "io_error" : "invalid_input", "bad"));
          });
          const camel = await startCamel(await sandbox(), { tools: [tool], clock });
          const model = { failures: 0, openedAt: -1 };
          for (const one of steps) {
            clock.advance(one.wait);
            outcome = one.outcome;
            const isOpen = model.openedAt >= 0;
            const isRefused = isOpen && clock.monotonic() < model.openedAt + 60_000;
            const before = tool.runs();
            const { code } = await call(camel, "probe", {});
            expect(tool.runs()).toBe(isRefused ? before : before + 1);
            if (isRefused) {
              expect(code).toBe("circuit_open");
              continue;
            }
            if (one.outcome === "ok") Object.assign(model, { failures: 0, openedAt: -1 });
            if (one.outcome === "fault") {
              model.failures += 1;
              if (isOpen || model.failures >= threshold) model.openedAt = clock.monotonic();
            }
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  test("a tool that was repaired is tried at once", async () => {
    const config = "limits: { tools: [{ tool: made, circuitBreaker: { threshold: 1 } }] }\n";
    const camel = await withTool(probe({}), { env: { PATH: process.env["PATH"] } }, config);
    const make = async (action: string, command_template: string): Promise<void> => {
      const definition = { name: "made", description: "x", strategy: { type: "shell", command_template } };
      const asked = callOf("tool_create", { action, name: "made", definition });
      const yes = () => Promise.resolve({ action: "accept" as const, content: { approve: true } });
      const made = await camel.dispatcher.call({ ...asked, ask: yes });
      expect(made.isError, made.text).toBeUndefined();
    };
    await make("create", "cat nothing.txt");
    expect((await call(camel, "made", {})).code).toBe("tool_failed");
    expect((await call(camel, "made", {})).code).toBe("circuit_open");
    await make("update", "echo repaired");
    expect((await call(camel, "made", {})).text).toContain("repaired");
  });

  test("a call that began before it opened doesn't close it", async () => {
    let release = (): void => {};
    const tool = probe({ circuitBreaker: { threshold: 1 } }, (count) =>
      count === 1
        ? new Promise((resolve) => (release = () => resolve("fine")))
        : Promise.reject(new CamelError("io_error", "bad")),
    );
    const camel = await startCamel(await sandbox(), { tools: [tool] });
    const slow = call(camel, "probe", {});
    await expect.poll(() => tool.runs()).toBe(1);
    expect((await call(camel, "probe", {})).code).toBe("io_error");
    release();
    expect((await slow).text).toBe("fine");
    expect((await call(camel, "probe", {})).code).toBe("circuit_open");
  });

  test("after the cool-down one call tries while the others are still refused", async () => {
    const clock = manualClock();
    let release = (): void => {};
    const tool = probe({ circuitBreaker: { threshold: 1, cooldownSeconds: 5 } }, (count) =>
      count === 1
        ? Promise.reject(new CamelError("io_error", "bad"))
        : new Promise((resolve) => (release = () => resolve("back"))),
    );
    const camel = await startCamel(await sandbox(), { tools: [tool], clock });
    await call(camel, "probe", {});
    clock.advance(5_000);
    const trial = call(camel, "probe", {});
    await expect.poll(() => tool.runs()).toBe(2);
    expect((await call(camel, "probe", {})).code).toBe("circuit_open");
    release();
    expect((await trial).text).toBe("back");
    const next = call(camel, "probe", {});
    await expect.poll(() => tool.runs()).toBe(3);
    release();
    expect((await next).isError).toBeUndefined();
  });
});

test("limits come from the config by name or glob, over the tool's own", async () => {
  const tool = probe({ maxExecutionsPerRun: 100, rateLimit: { calls: 1, perSeconds: 60 } });
  const camel = await withTool(
    tool,
    {},
    "limits:\n  tools:\n    - { tool: 'pro*', maxExecutionsPerRun: 2, rateLimit: { calls: 50, perSeconds: 60 } }\n",
  );
  const codes = [];
  for (let index = 0; index < 3; index++) codes.push((await call(camel, "probe", {})).code);
  expect(codes).toEqual([undefined, undefined, "limit_reached"]);
});
