import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { cutAtLineEnd } from "../../src/pipeline/shape-output.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { call, sandbox, startCamel } from "../harness.ts";

const WHOLE = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join("\n");

const longTool = defineTool({
  name: "long",
  title: "Long",
  description: "Answers at length.",
  tier: "core",
  effect: "read",
  schema: z.object({}),
  output: z.looseObject({ lines: z.array(z.string()), text: z.string() }),
  execute: () => Promise.resolve({ text: WHOLE, structured: { lines: WHOLE.split("\n"), text: WHOLE } }),
});

describe("a tool that answers what no tool should", () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  test.each([
    ["a cycle", { text: "x", structured: cycle }, "tool_failed", "JSON can't hold"],
    ["a cycle without text", { structured: cycle }, "internal", "circular"],
    ["a bigint", { text: "x", structured: { n: 10n } }, "tool_failed", "JSON can't hold"],
    ["a number", 42, undefined, "42"],
    ["nothing", undefined, undefined, ""],
    ["text that is none", { text: 1, structured: { a: 1 } }, undefined, '{"a":1}'],
  ])("%s", async (_what, answer, code, text) => {
    const odd = defineTool({ ...longTool, execute: () => Promise.resolve(answer as unknown as string) });
    const box = await sandbox();
    const camel = await startCamel(box, { tools: [odd] });
    const result = await call(camel, "long", {});
    expect(result.code).toBe(code);
    expect(result.text).toContain(text);
    await camel.close();
    expect(await readFile(join(box.home, "audit", "audit.jsonl"), "utf8")).toContain(code ?? '"ok"');
  });
});

describe("a result over the cap", () => {
  test("is cut at a line end and can be paged through to the last character", async () => {
    const camel = await startCamel(await sandbox(), { tools: [longTool] });
    const cut = await call(camel, "long", {});
    expect(cut.text.length).toBeLessThanOrEqual(8_000);
    const [, id, offset] = /"id":"(res_\w+)","offset":(\d+)/.exec(cut.text) ?? [];
    let whole = WHOLE.slice(0, Number(offset));
    expect(cut.text.startsWith(whole)).toBe(true);
    expect(whole.endsWith("\n")).toBe(true);
    for (let next: unknown = Number(offset); next !== undefined;) {
      const page = await call(camel, "get_tool_response", { id, offset: next });
      whole += String(page.structured?.["content"]);
      next = page.structured?.["nextOffset"];
    }
    expect(whole).toBe(WHOLE);
  });

  test("its structured content is cut too, keeps the schema's shape and names the rest", async () => {
    const camel = await startCamel(await sandbox(), { tools: [longTool] });
    const { structured } = await call(camel, "long", {});
    expect(JSON.stringify(structured).length).toBeLessThan(13_000);
    expect(longTool.output?.safeParse(structured).success).toBe(true);
    expect(structured).toMatchObject({ cut: { id: expect.stringMatching(/^res_/) as string } });
  });

  test("who sees only the structured content finds the rest without a gap", async () => {
    const listTool = defineTool({
      ...longTool,
      name: "listing",
      execute: () =>
        Promise.resolve({ text: "all of it, short", structured: { lines: WHOLE.split("\n"), text: "" } }),
    });
    const oneTool = defineTool({
      ...longTool,
      name: "one",
      execute: () => Promise.resolve({ text: `head\n${WHOLE}`, structured: { lines: [], text: WHOLE } }),
    });
    const camel = await startCamel(await sandbox(), { tools: [listTool, oneTool] });
    const listing = await call(camel, "listing", {});
    expect(listing.text).toBe("all of it, short");
    expect(listing.structured).toMatchObject({
      cut: { offset: 0, note: expect.stringContaining('"offset":0}') as string },
    });
    const one = (await call(camel, "one", {})).structured as {
      text: string;
      cut: { id: string; offset: number };
    };
    expect(one.cut.offset).toBeGreaterThan(5_000);
    const { text } = await call(camel, "get_tool_response", { ...one.cut });
    const missed = WHOLE.slice(one.text.length, one.text.length + 500);
    expect(text).toContain(missed);
  });

  test("a page is never itself cut", async () => {
    const box = await sandbox({ "home/config.yaml": "limits: { outputChars: 500 }\n" });
    const camel = await startCamel(box, { tools: [longTool] });
    const [, id, offset] = /"id":"(res_\w+)","offset":(\d+)/.exec((await call(camel, "long", {})).text) ?? [];
    const page = await call(camel, "get_tool_response", { id, offset: Number(offset) });
    expect(page.text.match(/res_\w+/g)).toEqual([id]);
    expect(page.structured).not.toHaveProperty("cut");
  });

  test("is private to its agent, and a made-up id finds nothing", async () => {
    const camel = await startCamel(await sandbox(), { tools: [longTool] });
    const { text } = await call(camel, "long", {});
    const [, id] = /"id":"(res_\w+)"/.exec(text) ?? [];
    expect((await call(camel, "get_tool_response", { id }, { agentId: "eve" })).code).toBe("not_found");
    expect((await call(camel, "get_tool_response", { id: "../../tokens.json" })).code).toBe("not_found");
    expect((await call(camel, "get_tool_response", { id })).isError).toBeUndefined();
  });

  test("a cut never splits a character", () => {
    expect(cutAtLineEnd("😀".repeat(10), 5)).toBe("😀😀");
  });
});

test("the cap can be set, and a short result is left alone", async () => {
  const box = await sandbox({
    "home/config.yaml": "limits: { outputChars: 500 }\n",
    "workspace/MEMORY.md": "short\n",
  });
  const camel = await startCamel(box, { tools: [longTool] });
  expect((await call(camel, "long", {})).text.length).toBeLessThanOrEqual(500);
  expect((await call(camel, "memory_get", { filePath: "MEMORY.md" })).text).toBe("1: short");
});

test("a tool of somebody else's that has data and no text is answered with both", async () => {
  const silent = defineTool({
    ...longTool,
    name: "silent",
    execute: () => Promise.resolve({ structured: { lines: ["one"] } } as never),
  });
  const camel = await startCamel(await sandbox(), { tools: [silent] });
  expect((await call(camel, "silent", {})).text).toBe('{"lines":["one"]}');
});
