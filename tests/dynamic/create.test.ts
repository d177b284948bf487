import { describe, expect, test } from "vitest";
import { call, sandbox, startCamel } from "../harness.ts";

const upper = {
  name: "shout",
  description: "Says it louder.",
  strategy: { type: "js", source: "export default (input) => input.input.toUpperCase();" },
};

describe("tool_create", () => {
  test("a shell tool is made, listed and run", async () => {
    const camel = await startCamel(await sandbox());
    const made = await call(camel, "tool_create", {
      action: "create",
      definition: {
        name: "say_it",
        description: "Says it.",
        strategy: { type: "shell", command_template: "echo {{input}}" },
      },
    });
    expect(made.text).toContain("say_it");
    expect(made.isError).toBeUndefined();
    const direct = await call(camel, "say_it", { input: "hello; $(id)" });
    expect(direct.text).toBe("hello; $(id)\n");
    const run = await call(camel, "tool_create", { action: "run", name: "say_it", input: { input: "x" } });
    expect(run.text).toBe("x\n");
    const list = await call(camel, "tool_create", { action: "list" });
    expect(list.text).toContain("say_it (shell, global, version 1, 0 of 2 calls failed)");
  });

  test("composite and js", async () => {
    const camel = await startCamel(await sandbox());
    for (const definition of [
      upper,
      {
        name: "say_it",
        description: "Says it.",
        strategy: { type: "shell", command_template: "echo {{input}}" },
      },
      {
        name: "say_loud",
        description: "Says it loud.",
        strategy: {
          type: "composite",
          steps: [
            { tool_name: "shout" },
            { tool_name: "say_it", input_override: "<{{prev}}|{{steps.shout.text}}>" },
          ],
        },
      },
    ]) {
      const made = await call(camel, "tool_create", { action: "create", definition });
      expect(made.text, made.text).toContain("Made the tool");
    }
    const result = await call(camel, "say_loud", { input: "abc" });
    expect(result.text).toBe("<ABC|ABC>\n");
  });

  /** What models write when they haven't read the form. */
  const echo = { type: "shell", command_template: "echo {{text}}" };
  test.each([
    ["command", { strategy: { type: "shell", command: "echo {{text}}" } }],
    ["a strategy's name", { strategy: "shell", command_template: "echo {{text}}" }],
    ["a type alone", { type: "bash", command: "echo {{text}}" }],
    ["no type", { strategy: { command: "echo {{text}}" } }],
    ["no strategy", { command: "echo {{text}}" }],
    ["a list of words", { strategy: { type: "shell", command: ["echo", "it's {x}", "{{text}}"] } }],
    ["arguments beside the program", { strategy: { type: "shell", command: "echo", args: ["{{text}}"] } }],
    ["a list of steps", { strategy: { type: "composite", steps: ["base"] }, parameters: textSchema("text") }],
    ["steps with other keys", { strategy: { type: "chain", steps: [{ tool: "base", input: "{{input}}" }] } }],
    ["code", { strategy: { type: "javascript", code: "(input) => input.text" }, schema: textSchema("text") }],
    ["a schema of properties", { strategy: echo, input_schema: { text: { type: "string" } } }],
    [
      "required on a parameter",
      { strategy: echo, parameters: { properties: { text: { type: "string", required: true } } } },
    ],
    ["examples in short", { strategy: echo, examples: [{ input: "hi", expect: "hi" }] }],
    ["a number", { strategy: echo, examples: [{ input: { text: "31" }, expect: 31 }] }],
    ["an output", { strategy: echo, examples: [{ input: { text: "hi" }, output: "hi" }] }],
  ])("understands %s", async (_what, definition) => {
    const camel = await startCamel(await sandbox());
    const base = { name: "base", description: "x", strategy: echo };
    await call(camel, "tool_create", { action: "create", definition: base });
    const made = await call(camel, "tool_create", {
      action: "create",
      name: "naive",
      description: "x",
      definition,
    });
    expect(made.isError, made.text).toBeUndefined();
    const result = await call(camel, "tool_create", { action: "run", name: "naive", input: "hello" });
    expect(result.text).toContain("hello");
  });

  test("fields beside the action are a definition, and an update may name only what changes", async () => {
    const camel = await startCamel(await sandbox());
    const made = await call(camel, "tool_create", {
      action: "create",
      name: "naive",
      description: "x",
      strategy: echo,
    });
    expect(made.isError, made.text).toBeUndefined();
    const updated = await call(camel, "tool_create", {
      action: "update",
      name: "naive",
      definition: { description: "Says it." },
    });
    expect(updated.text).toContain("version 2");
    expect((await call(camel, "naive", { text: "still" })).text).toBe("still\n");
  });

  test("all fields may stand beside the action, and an update of the strategy keeps the rest", async () => {
    const camel = await startCamel(await sandbox());
    const tool = (args: object) => call(camel, "tool_create", args);
    const flat = {
      name: "naive",
      description: "x",
      type: "shell",
      command: "echo {{text}}",
      scope: "session",
    };
    const made = await tool({ action: "create", ...flat });
    expect(made.structured).toMatchObject({ name: "naive", scope: "session" });
    const updated = await tool({ action: "update", name: "naive", strategy: { command: "echo {{other}}" } });
    expect(updated.isError, updated.text).toBeUndefined();
    expect((await call(camel, "naive", { other: "new" })).text).toBe("new\n");
    const shown = await tool({ action: "show", name: "naive" });
    expect(shown.structured).toMatchObject({ definition: { description: "x", scope: "session" } });
    // Only how it works is missing: that is what the form is for.
    const form = await tool({ action: "create", description: "Say it", strategy: "js" });
    expect(form.structured).toMatchObject({ form: { strategy: { type: "js" } } });
    // A chain asks for what its first tool needs.
    await tool({ action: "create", name: "now_fixed", description: "x", source: "return 'now';" });
    await tool({ action: "create", name: "say_now", description: "x", steps: ["now_fixed", "naive"] });
    expect((await call(camel, "say_now", {})).text).toBe("now\n");
    // Arguments of run too, and under other names.
    for (const args of [{ other: "hi" }, { arguments: { other: "hi" } }, { args: { other: "hi" } }])
      expect((await tool({ action: "run", name: "naive", ...args })).text).toBe("hi\n");
    expect(await tool({ action: "delete" })).toMatchObject({ isError: true, code: "invalid_input" });
    const literal = await tool({
      action: "create",
      name: "greet",
      description: "x",
      command: "echo Hi {who}",
    });
    expect(literal.text).toContain("update it to {{who}}");
  });

  test.each([
    ["echo {input}", "write {{input}}"],
    ['echo "$1"', "write {{input}}"],
    ["echo $input", "{{name}}"],
    ["cat {{file}} | wc -l", '"pipeline": ["cat {{file}}","wc -l"]'],
    ["echo {{x}} > out", "tool's answer"],
    ["cat docs/{{file}}.md", "becomes {{file}}"],
  ])("says how %s is meant to be written", async (command_template, next) => {
    const camel = await startCamel(await sandbox());
    const refused = await call(camel, "tool_create", {
      action: "create",
      definition: { name: "naive", description: "x", strategy: { type: "shell", command_template } },
    });
    expect(refused.code).toBe("invalid_input");
    expect(refused.text).toContain(next);
  });

  test.each([
    [{ name: "countLines", strategy: echo }, "such as count_lines"],
    [{ strategy: echo, input_schema: textSchema("text", "other") }, '"other" isn\'t used'],
    [{ strategy: { type: "http", url: "https://example.com/{city}" } }, "write {{city}}"],
    [{ strategy: { type: "http" } }, "strategy.url: missing (expected string)"],
    [{ strategy: echo, examples: [{ input: "x", expect: { sum: 3 } }] }, '"sum"'],
    [{ strategy: { type: "python", code: "x" } }, "'shell'"],
  ])("says what is wrong with %j", async (definition, what) => {
    const camel = await startCamel(await sandbox());
    const refused = await call(camel, "tool_create", {
      action: "create",
      definition: { name: "naive", description: "x", ...definition },
    });
    expect(refused.code).toBe("invalid_input");
    expect(refused.text).toContain(what);
  });
});

function textSchema(...names: string[]): object {
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  return { type: "object", properties, required: names };
}
