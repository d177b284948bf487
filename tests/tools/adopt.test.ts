import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { adoptTool, defineTool } from "../../src/tools/adopt.ts";
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

test.each([
  ["memory_get", "already_exists"],
  ["has blanks", "invalid_input"],
  ["x".repeat(65), "invalid_input"],
])("a tool called %s isn't added in silence", async (name, code) => {
  const tools = [defineTool({ name, func: () => "never" })];
  await expect(startCamel(await sandbox(), { tools })).rejects.toMatchObject({ code });
});

test("its approval, limits, cache and retry fields are kept", async () => {
  let runs = 0;
  const tool = defineTool({
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
    ...callOf("dangerous", { path: "a", mode: null }),
    ask: ({ message }) => {
      shown = message;
      return Promise.resolve({ action: "accept", content: { approve: true } });
    },
  });
  // What will run is what the person sees, with what was filled in.
  expect(shown).toMatch(/dangerous:\nConfirm the write is safe\.\n[\s\S]*path: "a"/);
  expect(shown).toContain('mode: "careful"');
  expect(result.structured).toEqual({ mode: "careful", path: "a" });
  expect(runs).toBe(3);
});

test("a key of its own for the cache, and its own word on what is worth a retry", async () => {
  const asked: unknown[] = [];
  const page = defineTool({
    name: "fetch_page",
    effect: "read",
    schema: z.object({ url: z.string() }),
    cache: { keyFn: ({ url }) => String(url).toLowerCase(), ttlMs: 30_000 },
    invoke: ({ url }) => (asked.push(url), `page ${String(url)}`),
  });
  let tries = 0;
  const search = defineTool({
    name: "search",
    retry: { maxRetries: 3, backoffMs: 1, shouldRetry: (error) => !String(error).includes("UNAUTHORIZED") },
    run: () => {
      tries += 1;
      throw new Error(tries < 3 ? "flaky" : "UNAUTHORIZED");
    },
  });
  const box = await sandbox();
  const camel = await startCamel(box, { tools: [page, search] });
  expect((await call(camel, "fetch_page", { url: "HTTP://A" })).text).toBe("page HTTP://A");
  expect(await call(camel, "fetch_page", { url: "http://a" })).toEqual({
    text: "page HTTP://A",
    fromCache: true,
  });
  expect(asked).toEqual(["HTTP://A"]);
  expect((await call(camel, "search", {})).text).toContain("UNAUTHORIZED");
  expect(tries).toBe(3);
  await camel.close();
  const log = await readFile(join(box.home, "audit", "audit.jsonl"), "utf8");
  expect(log.split("\n").filter((line) => line.includes('"fromCache":true')).length).toBe(1);
});

test("a tool as MCP servers describe and answer it", async () => {
  const tool = defineTool({
    name: "weather",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    call: ({ city }) => ({
      content: [{ type: "text", text: `rain in ${String(city)}` }],
      isError: city === "Atlantis",
    }),
  });
  const camel = await startCamel(await sandbox(), { tools: [tool] });
  expect((await call(camel, "weather", { city: "Cork" })).text).toBe("rain in Cork");
  expect(await call(camel, "weather", { city: "Atlantis" })).toMatchObject({ code: "tool_failed" });
  expect((await call(camel, "weather", { town: "Cork" })).code).toBe("invalid_input");
});

test("an effect it doesn't name counts as the strongest, and an error tells the model", async () => {
  const tool = adoptTool({ name: "odd", run: () => Promise.reject(new Error("no such city")) });
  const box = await sandbox({ "home/config.yaml": "autonomy: { level: readonly }\n" });
  expect((await call(await startCamel(box, { tools: [tool] }), "odd", {})).code).toBe("denied_by_policy");
  const free = await startCamel(await sandbox(), { tools: [tool] });
  expect((await call(free, "odd", {})).text).toMatch(/tool_failed.*no such city/);
  expect(() => adoptTool({ name: "empty" })).toThrow("nothing to call");
});
