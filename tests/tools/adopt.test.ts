import { expect, test } from "vitest";
import { z } from "zod";
import { adoptTool } from "../../src/tools/adopt.ts";
import { call, callOf, sandbox, startCamel } from "../harness.ts";

test.each(["func", "invoke", "call", "run"] as const)(
  "a foreign tool with %s works under policy",
  async (method) => {
    const tool = adoptTool({
      name: "search_docs",
      schema: z.object({ query: z.string() }),
      effect: "read",
      [method]: ({ query }: { query: string }) => Promise.resolve({ hits: [`result for ${query}`] }),
    });
    const camel = await startCamel(await sandbox(), { tools: [tool] });
    const result = await call(camel, "search_docs", { query: "x" });
    expect(result.structured).toEqual({ hits: ["result for x"] });
    expect(JSON.parse(result.text)).toEqual(result.structured);
    expect((await call(camel, "search_docs", {})).code).toBe("invalid_input");
  },
);

test("its approval, limits, cache and retry fields are kept", async () => {
  let runs = 0;
  const tool = adoptTool({
    name: "dangerous",
    needsApproval: true,
    approvalPrompt: "Confirm the write is safe.",
    approvalDefaults: { mode: "careful" },
    retry: { maxRetries: 2, backoffMs: 1 },
    func: (input) => {
      runs += 1;
      if (runs < 3) throw new Error("not yet");
      return input;
    },
  });
  const camel = await startCamel(await sandbox(), { tools: [tool] });
  let shown = "";
  const result = await camel.dispatcher.call({
    ...callOf("dangerous", { path: "a" }),
    ask: ({ message }) => {
      shown = message;
      return Promise.resolve({ action: "accept", content: { approve: true } });
    },
  });
  expect(shown).toContain("Confirm the write is safe.");
  expect(result.structured).toEqual({ mode: "careful", path: "a" });
  expect(runs).toBe(3);
});

test("an effect it doesn't name counts as the strongest, and an error tells the model", async () => {
  const tool = adoptTool({ name: "odd", run: () => Promise.reject(new Error("no such city")) });
  const box = await sandbox({ "home/config.yaml": "autonomy: { level: readonly }\n" });
  expect((await call(await startCamel(box, { tools: [tool] }), "odd", {})).code).toBe("denied_by_policy");
  const free = await startCamel(await sandbox(), { tools: [tool] });
  expect((await call(free, "odd", {})).text).toMatch(/tool_failed.*no such city/);
  expect(() => adoptTool({ name: "empty" })).toThrow("nothing to call");
});
