import { describe, expect, test } from "vitest";
import type { Camel } from "../../src/camel.ts";
import { errorResult } from "../../src/pipeline/answer-errors.ts";
import type { ToolResult } from "../../src/pipeline/call.ts";
import { CamelError, ERROR_CODES, type ErrorCode } from "../../src/shared/errors.ts";
import { builtinTools } from "../../src/tools/index.ts";
import { call, sandbox, startCamel } from "../harness.ts";

/** Some hosts give the model only the text, some only the data: each must be enough on its own. */
interface Case {
  /** Calls that make what the last one shows. */
  before?: [string, Record<string, unknown>][];
  args: Record<string, unknown>;
  /** What the answer is about; must be in the text and in the data. */
  facts: string[];
  /** Arguments that fail, and words of the reason. */
  wrong: [Record<string, unknown>, string];
}

const PATCH = "*** Begin Patch\n*** Add File: made.txt\n+fresh line\n*** End Patch";
const JOB = { action: "add", id: "daily-look", schedule: "0 9 * * *", prompt: "look at it" };
const DEFINITION = {
  name: "say_it",
  description: "Says it.",
  strategy: { type: "shell", command_template: "echo {{input}}" },
};
const PLAN = { action: "write", items: [{ title: "plant a tree" }] };

const CASES: Record<string, Case[]> = {
  apply_patch: [
    { args: { patch: PATCH }, facts: ["made.txt", "fresh line"], wrong: [{ patch: "nothing" }, "patch"] },
  ],
  memory_search: [{ args: { query: "zebra" }, facts: ["zebra", "MEMORY.md"], wrong: [{}, "query"] }],
  memory_get: [
    {
      args: { filePath: "MEMORY.md" },
      facts: ["a zebra here"],
      wrong: [{ filePath: "memory/no.md" }, "no.md"],
    },
  ],
  memory_write: [
    {
      args: { text: "a new note", file: "memory/new.md" },
      facts: ["memory/new.md"],
      wrong: [{ text: "x", file: "../x.md" }, "x.md"],
    },
  ],
  cron: [
    { args: JOB, facts: ["daily-look"], wrong: [{ ...JOB, schedule: "nonsense" }, "nonsense"] },
    {
      before: [["cron", JOB]],
      args: { action: "list" },
      facts: ["daily-look", "look at it"],
      wrong: [{ action: "remove", id: "no-such" }, "no-such"],
    },
  ],
  get_tool_response: [],
  checkpoint: [
    {
      before: [["apply_patch", { patch: PATCH }]],
      args: { action: "list" },
      facts: ["made.txt", "apply_patch"],
      wrong: [{ action: "show", id: "no_such" }, "no_such"],
    },
  ],
  tool_create: [
    {
      args: { action: "create", definition: DEFINITION },
      facts: ["say_it"],
      wrong: [{ action: "run", name: "no_such_tool" }, "no_such_tool"],
    },
    {
      before: [["tool_create", { action: "create", definition: DEFINITION }]],
      args: { action: "list" },
      facts: ["say_it", "Says it."],
      wrong: [{ action: "show", name: "no_such_tool" }, "no_such_tool"],
    },
    {
      before: [["tool_create", { action: "create", definition: DEFINITION }]],
      args: { action: "show", name: "say_it" },
      facts: ["say_it", "echo {{input}}"],
      wrong: [{ action: "rollback", name: "no_such_tool", version: 1 }, "no_such_tool"],
    },
    {
      before: [["tool_create", { action: "create", definition: DEFINITION }]],
      args: { action: "run", name: "say_it", input: { input: "loud words" } },
      facts: ["loud words"],
      wrong: [{ action: "delete", name: "no_such_tool" }, "no_such_tool"],
    },
  ],
  manage_todo_list: [
    { args: PLAN, facts: ["plant a tree"], wrong: [{ action: "update", items: [{ id: "9" }] }, "9"] },
  ],
  insights_report: [
    {
      before: [["memory_get", { filePath: "memory/absent.md" }]],
      args: { focus: "failures" },
      facts: ["absent.md", "memory_get"],
      wrong: [{ focus: "everything" }, "focus"],
    },
  ],
};

const start = async (): Promise<Camel> =>
  startCamel(
    await sandbox({ "home/config.yaml": "tools: { tier: full }\n", "workspace/MEMORY.md": "a zebra here\n" }),
  );

function expectErrorBothWays(result: ToolResult, about: string): void {
  expect(result.isError).toBe(true);
  const { error } = result.structured as {
    error: { code: string; message: string; next: string };
  };
  expect(result.text).toContain(error.code);
  expect(result.text).toContain(error.message);
  expect(error.next).toBeTruthy();
  expect(result.text).toContain(error.next);
  expect(error.message).toContain(about);
}

test("every built-in tool is looked at", () => {
  expect(Object.keys(CASES).sort()).toEqual(builtinTools.map((tool) => tool.name).sort());
});

const cases = builtinTools.map((tool) => ({ tool, cases: CASES[tool.name] ?? [] }));

describe.each(cases.filter((one) => one.cases.length > 0))("$tool.name", ({ tool, cases }) => {
  test.each(cases)("text and data are each complete: $args", async ({ before = [], args, facts, wrong }) => {
    const camel = await start();
    for (const [name, input] of before) await call(camel, name, input);
    const result = await call(camel, tool.name, args);
    expect(result.text).not.toMatch(/^Error/);
    expect(tool.output?.safeParse(result.structured).error).toBeUndefined();
    for (const fact of facts) {
      expect(result.text).toContain(fact);
      expect(JSON.stringify(result.structured)).toContain(fact);
    }
    expectErrorBothWays(await call(camel, tool.name, wrong[0]), wrong[1]);
  });
});

test("get_tool_response: text and data are each complete", async () => {
  const camel = await start();
  await call(camel, "memory_write", { text: `${"a long note. ".repeat(900)}\nthe last line` });
  const [, id] = /"id":"(res_\w+)"/.exec((await call(camel, "memory_search", { query: "long" })).text) ?? [];
  if (id !== undefined) {
    const page = await call(camel, "get_tool_response", { id });
    expect(page.text).toContain(page.structured?.["content"]);
  }
  expectErrorBothWays(await call(camel, "get_tool_response", { id: "res_none" }), "res_none");
});

test.each(Object.keys(ERROR_CODES) as ErrorCode[])("%s says what to do next, both ways", (code) => {
  expectErrorBothWays(errorResult(new CamelError(code, "It went wrong.")), "It went wrong.");
});
