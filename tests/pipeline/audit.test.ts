import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { redact, redactText } from "../../src/pipeline/redact.ts";
import type { ToolResult } from "../../src/pipeline/call.ts";
import { CamelError } from "../../src/shared/errors.ts";
import { secretIn } from "../../src/tools/memory/secrets.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { createFakeClock } from "../fake-clock.ts";
import { call, callOf, sandbox, startCamel, type Sandbox } from "../harness.ts";

async function entries(box: Sandbox): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(box.home, "audit", "audit.jsonl"), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("the audit log", () => {
  test("holds every call with who and how it ended, refusals and nonsense too", async () => {
    const box = await sandbox({
      "workspace/MEMORY.md": "x\n",
      "home/config.yaml": "tools: { deny: [memory_search] }\n",
    });
    const camel = await startCamel(box);
    await call(camel, "memory_get", { filePath: "MEMORY.md" }, { agentId: "alice", client: "zed" });
    await call(camel, "memory_search", { query: "x" });
    await call(camel, "no_such_tool", {});
    await call(camel, "memory_get", { wrong: 1 });
    await camel.close();
    const found = await entries(box);
    expect(found.map((one) => one["outcome"])).toEqual([
      "not_found",
      "denied_by_policy",
      "unknown_tool",
      "invalid_input",
    ]);
    expect(found[0]).toMatchObject({ agent: "alice", client: "zed", tool: "memory_get", depth: 0 });
  });

  test("secrets don't reach it, by name or by shape", async () => {
    const box = await sandbox();
    const camel = await startCamel(box);
    const key = `sk-${"a1".repeat(20)}`;
    await call(camel, "memory_get", {
      filePath: `memory/${key}.md`,
      password: "hunter2",
      nested: { apiKey: "k-123", header: "Authorization: Bearer abcdefghijklmnop" },
    });
    // What a note may not hold isn't written down because it was refused.
    const refused = [
      `glpat-${"a1".repeat(12)}`,
      `sk_live_${"a1".repeat(12)}`,
      `npm_${"a1".repeat(18)}`,
      `ASIA${"A1".repeat(8)}`,
      `hf_${"a1".repeat(14)}`,
      "correct-horse",
    ];
    for (const secret of refused)
      expect((await call(camel, "memory_write", { text: `the password: ${secret}` })).isError).toBe(true);
    await call(camel, "memory_get", { filePath: "https://ann:pw123@example.com/x.md" });
    await camel.close();
    const text = await readFile(join(box.home, "audit", "audit.jsonl"), "utf8");
    expect(text).toContain("https://ann:[redacted]@example.com");
    for (const secret of [key, "hunter2", "k-123", "abcdefghijklmnop", ...refused])
      expect(text).not.toContain(secret);
    expect(text).toContain("[redacted]");
  });

  test("is rotated, keeps so many, and loses no line", async () => {
    const box = await sandbox({ "home/config.yaml": "audit: { maxBytes: 10000, keep: 3 }\n" });
    const camel = await startCamel(box);
    for (let index = 0; index < 120; index++) {
      await call(camel, "memory_get", { filePath: `memory/${"y".repeat(100)}${index}.md` });
      await camel.close();
    }
    const names = (await readdir(join(box.home, "audit"))).sort();
    expect(names).toEqual(["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.3"]);
    const texts = await Promise.all(names.map((name) => readFile(join(box.home, "audit", name), "utf8")));
    const numbers = texts
      .flatMap((text) => text.trimEnd().split("\n"))
      .map((line) => Number(/y(\d+)\.md/.exec(line)?.[1]))
      .sort((a, b) => a - b);
    expect(numbers.at(-1)).toBe(119);
    // Consecutive: rotation dropped only whole old files, never a line in between.
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
  });

  test("a log that can't be written doesn't stop the tools", async () => {
    const box = await sandbox({ "workspace/MEMORY.md": "x\n", "home/audit": "a file in the folder's place" });
    const camel = await startCamel(box);
    expect((await call(camel, "memory_get", { filePath: "MEMORY.md" })).text).toBe("1: x");
    await camel.close();
  });

  test("no long text takes long to look through", () => {
    for (const part of [
      "a.",
      "eyJ-",
      "hf-aaaaaaaaaaaaaaaaaaaaaaaaaa",
      "xai-",
      "://a:",
      "password ",
      "-----BEGIN A ",
    ]) {
      const text = part.repeat(60_000);
      expect(redactText(text)).toBe(text);
      expect(secretIn(text)).toBeUndefined();
    }
  });

  test("redaction bounds what it copies", () => {
    interface Nest {
      a?: Nest;
    }
    const deep: Nest = {};
    let at = deep;
    for (let index = 0; index < 100; index++) at = at.a = {};
    const size = JSON.stringify(redact({ deep, long: "x".repeat(1e6), many: Array(1e5).fill(1) })).length;
    expect(size).toBeLessThan(5_000);
  });
});

describe("time", () => {
  let started = (): void => {};
  const endless = defineTool({
    name: "endless",
    title: "Endless",
    description: "Never ends by itself.",
    tier: "core",
    effect: "read",
    schema: z.object({}),
    execute: (_input, context) =>
      new Promise((_, reject) => {
        started();
        context.signal.addEventListener("abort", () => reject(new CamelError("internal", "stopped")));
      }),
  });
  const stubborn = defineTool({
    ...endless,
    name: "stubborn",
    execute: (_input, context) =>
      new Promise((resolve) => {
        started();
        context.signal.addEventListener("abort", () => resolve("written"));
      }),
  });
  const deaf = defineTool({ ...endless, name: "deaf", execute: () => new Promise(() => started()) });
  const tools = [endless, stubborn, deaf];

  /** Lets the times pass, one after the other, once the tool runs. */
  async function callFor(times: number[], name: string): Promise<ToolResult> {
    const clock = createFakeClock();
    const camel = await startCamel(await sandbox(), { tools, clock });
    const runs = new Promise<void>((resolve) => (started = resolve));
    const pending = call(camel, name, {});
    await runs;
    for (const time of times) clock.advance(time);
    return pending;
  }

  test("a call over its time is ended, and the tool's signal is aborted", async () => {
    const result = await callFor([49_999, 1], "endless");
    expect(result.code).toBe("timeout");
    expect(result.structured).toMatchObject({ error: { retryable: true } });
  });

  test("what finished although it was told to stop is answered as finished, and what doesn't stop is left", async () => {
    expect((await callFor([50_000], "stubborn")).text).toBe("written");
    expect((await callFor([50_000, 2_000], "deaf")).code).toBe("timeout");
  });

  test("a caller that has gone ends its call", async () => {
    const camel = await startCamel(await sandbox(), { tools: [endless] });
    const controller = new AbortController();
    const pending = camel.dispatcher.call({ ...callOf("endless", {}), signal: controller.signal });
    controller.abort();
    expect((await pending).code).toBe("cancelled");
  });
});
