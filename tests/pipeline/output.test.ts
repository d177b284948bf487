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
