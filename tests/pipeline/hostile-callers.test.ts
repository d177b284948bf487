import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { redact } from "../../src/pipeline/redact.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { createFakeClock } from "../fake-clock.ts";
import { call, sandbox, startCamel } from "../harness.ts";

const CACHED = "limits: { tools: [{ tool: memory_search, cache: { scope: global, ttlSeconds: 900 } }] }\n";
const MEMORY = { "workspace/memory/private/x.md": "the zebra password\n", "workspace/MEMORY.md": "x\n" };

describe("a cached answer", () => {
  test("is not given to a caller who may see less", async () => {
    const box = await sandbox({
      ...MEMORY,
      "home/config.yaml": `${CACHED}scopes: [{ match: { token: guest }, autonomy: { forbiddenPaths: [memory/private] } }]\n`,
    });
    const camel = await startCamel(box);
    const query = { query: "zebra" };
    expect((await call(camel, "memory_search", query)).text).toContain("zebra password");
    const guest = await call(camel, "memory_search", query, { token: "guest" });
    expect(JSON.stringify(guest)).not.toContain("zebra password");
  });

  test("ends when the policy changes", async () => {
    const box = await sandbox({ ...MEMORY, "home/config.yaml": CACHED });
    const clock = createFakeClock();
    const camel = await startCamel(box, { clock });
    const query = { query: "zebra" };
    expect((await call(camel, "memory_search", query)).text).toContain("zebra password");
    await box.write("home/config.yaml", `${CACHED}autonomy: { forbiddenPaths: [memory/private] }\n`);
    clock.advance(1_000);
    await camel.refresh();
    expect(JSON.stringify(await call(camel, "memory_search", query))).not.toContain("zebra password");
  });
});

test("a rate limit isn't escaped by calling oneself something else", async () => {
  const config = "limits: { tools: [{ tool: memory_get, rateLimit: { calls: 1, perSeconds: 60 } }] }\n";
  const camel = await startCamel(await sandbox({ ...MEMORY, "home/config.yaml": config }));
  const get = (client: string, token: string): ReturnType<typeof call> =>
    call(camel, "memory_get", { filePath: "MEMORY.md" }, { client, token });
  expect((await get("a", "tok_1")).isError).toBeUndefined();
  expect((await get("b", "tok_1")).code).toBe("rate_limited");
  expect((await get("a", "tok_2")).isError).toBeUndefined();
});

describe("a long result", () => {
  const emoji = defineTool({
    name: "emoji",
    title: "Emoji",
    description: "One endless line of characters that take two places.",
    tier: "core",
    effect: "read",
    schema: z.object({}),
    output: z.looseObject({ items: z.array(z.string()) }),
    execute: () =>
      Promise.resolve({
        text: `a${"😀".repeat(20_000)}`,
        structured: { items: [`a${"😀".repeat(20_000)}`] },
      }),
  });

  test.each([8_000, 500])("is paged through without breaking a character, with a cap of %i", async (cap) => {
    const box = await sandbox({ "home/config.yaml": `limits: { outputChars: ${cap} }\n` });
    const camel = await startCamel(box, { tools: [emoji] });
    const [, id] = /"id":"(res_\w+)"/.exec((await call(camel, "emoji", {})).text) ?? [];
    let whole = "";
    for (let offset: unknown = 0; offset !== undefined;) {
      const page = await call(camel, "get_tool_response", { id, offset });
      expect(page.text).not.toContain("[Cut:");
      // As it goes over the wire: half a character would become another one.
      whole += Buffer.from(String(page.structured?.["content"]), "utf8").toString("utf8");
      offset = page.structured?.["nextOffset"];
    }
    expect(whole).toBe(`a${"😀".repeat(20_000)}`);
    const one = await call(camel, "get_tool_response", { id, offset: 1, limit: 1 });
    expect(one.structured).toMatchObject({ content: "😀", nextOffset: 3 });
    expect((await call(camel, "get_tool_response", { id, offset: 2, limit: 1 })).structured).toMatchObject({
      offset: 1,
      content: "😀",
    });
  });

  test("whose data alone is too long names where all of it is", async () => {
    const rows = Array.from({ length: 3_000 }, (_, row) => ({ row, name: "name", more: "more" }));
    const table = defineTool({
      ...emoji,
      name: "table",
      output: z.looseObject({ rows: z.array(z.unknown()) }),
      execute: () => Promise.resolve({ text: "3000 rows, the last is 2999", structured: { rows } }),
    });
    const camel = await startCamel(await sandbox(), { tools: [table] });
    const { structured } = await call(camel, "table", {});
    const [, args = ""] =
      /get_tool_response with (\{.*?\})/.exec(JSON.stringify(structured?.["cut"]).replaceAll("\\", "")) ?? [];
    const page = await call(camel, "get_tool_response", JSON.parse(args));
    expect(page.structured?.["content"]).toContain("the last is 2999");
  });
});

describe("hooks", () => {
  test("get arguments too long for the environment on stdin, and the call goes on and is audited", async () => {
    const box = await sandbox({
      "home/config.yaml": "hooks: { enabled: true }\n",
      "workspace/MEMORY.md": "x\n",
    });
    const log = join(box.home, "log");
    await box.write("home/hooks/before_tool.a.sh", `wc -c > ${log}\n`);
    const camel = await startCamel(box);
    const args = { filePath: "MEMORY.md", note: "語".repeat(90_000) };
    expect((await call(camel, "memory_get", args)).text).toBe("1: x");
    expect(Number(await readFile(log, "utf8"))).toBeGreaterThan(270_000);
  });
});

test("a secret that stands across the cut is not half shown", () => {
  const secret = `ghp_${"a1B2".repeat(9)}`;
  for (let before = 60; before < 100; before++)
    expect(JSON.stringify(redact(`${"x ".repeat(before / 2)}${secret}`, 100))).not.toMatch(/ghp_a1/);
});

test("a tool called constructor doesn't spoil the figures", async () => {
  const named = defineTool({
    name: "constructor",
    title: "Constructor",
    description: "Has an unlucky name.",
    tier: "core",
    effect: "read",
    schema: z.object({}),
    execute: () => Promise.resolve("done"),
  });
  const box = await sandbox({ "home/config.yaml": "tools: { tier: full }\n" });
  const camel = await startCamel(box, { tools: [named] });
  await call(camel, "constructor", {});
  for (const name of ["toString", "toString", "toString", "__proto__"]) await call(camel, name, {});
  const report = await call(camel, "insights_report", { focus: "tools" });
  expect(report.text).toContain("constructor: 1 calls");
  const again = await call(camel, "insights_report", { focus: "gaps" });
  expect(again.text).toContain('"toString" was called 3 times');
});
