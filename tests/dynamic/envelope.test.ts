import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Camel } from "../../src/camel.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { createSealedFolder } from "../../src/stores/sealed-folder.ts";
import type { StoredTool } from "../../src/tools/dynamic/stored.ts";
import type { Ask, Question } from "../../src/pipeline/call.ts";
import { call, callOf, sandbox, startCamel } from "../harness.ts";

const env = { PATH: process.env["PATH"] };

const shellTool = (name: string, command_template: string, rest: object = {}) => ({
  name,
  description: "A test.",
  strategy: { type: "shell", command_template },
  ...rest,
});

const make = (camel: Camel, definition: object, action = "create", ask?: Ask) =>
  camel.dispatcher.call({
    ...callOf("tool_create", { action, definition }),
    ...(ask === undefined ? {} : { ask }),
  });

/** A person who sees every question and says yes. */
function person(): { ask: Ask; asked: Question[] } {
  const asked: Question[] = [];
  return {
    asked,
    ask: (question) => {
      asked.push(question);
      return Promise.resolve({ action: "accept", content: { approve: true } });
    },
  };
}

describe("approved once, then inside the envelope", () => {
  test("a program that isn't listed is asked about once, with a card; calls then aren't", async () => {
    const box = await sandbox({
      "home/config.yaml": "autonomy: { level: supervised }\n",
      "workspace/a.txt": "b\na\n",
    });
    const camel = await startCamel(box, { env });
    const definition = shellTool("sort_file", "sort {{file}}", {
      input_schema: {
        type: "object",
        properties: { file: { type: "string", format: "path" } },
        required: ["file"],
      },
      examples: [{ input: { file: "a.txt" }, expect: { equals: "a\nb" } }],
    });
    expect(await make(camel, definition)).toMatchObject({ isError: true, code: "approval_required" });
    const { ask, asked } = person();
    const made = await make(camel, definition, "create", ask);
    expect(made.isError, made.text).toBeUndefined();
    expect(asked).toHaveLength(1);
    for (const part of [
      'Make the tool "sort_file"',
      "Runs: sort {{file}}",
      "Programs: ",
      "/sort",
      "May read: .",
      "Sandbox: best-effort",
      'Example: {"file":"a.txt"}',
    ])
      expect(asked[0]?.message).toContain(part);
    // Once only: a yes to this tool is no yes to the next.
    expect(JSON.stringify(asked[0]?.schema)).not.toContain("session");
    expect((await call(camel, "sort_file", { file: "a.txt" })).text).toBe("a\nb\n");
  });

  test("an argument that a host adds makes no other call of it: what was approved is made", async () => {
    const camel = await startCamel(await sandbox(), { env });
    const definition = shellTool("sort_file", "sort {{file}}");
    const args = { action: "create", definition };
    const refused = await call(camel, "tool_create", { ...args, wait_for_previous: true });
    expect(refused.code).toBe("approval_required");
    const id = /apr_\w+/.exec(refused.text)?.[0] ?? "";
    expect(await camel.approvals.decide(id, { decision: "allow", by: "cli" })).toBe(true);
    expect((await call(camel, "tool_create", args)).isError).toBeUndefined();
  });

  test("a call outside asks; what policy forbids isn't even asked about", async () => {
    const box = await sandbox({
      "workspace/in.txt": "in",
      "other/out.txt": "out",
      "workspace/.env": "SECRET=1",
    });
    const camel = await startCamel(box, { env });
    await make(camel, shellTool("show_file", "cat {{input}}"));
    expect((await call(camel, "show_file", { input: "in.txt" })).text).toBe("in");
    const outside = join(box.workspace, "../other/out.txt");
    for (const path of [outside, "../other/out.txt", "./x/../../other/out.txt"])
      expect(await call(camel, "show_file", { input: path }), path).toMatchObject({
        isError: true,
        code: "approval_required",
      });
    await symlink(join(box.workspace, ".env"), join(box.workspace, "innocent.txt"));
    for (const path of [
      "/etc/passwd",
      ".env",
      "./.env",
      "innocent.txt",
      join(box.home, "config.yaml"),
      `${box.home}.key`,
      "file:///etc/passwd",
    ])
      expect(await call(camel, "show_file", { input: path }), path).toMatchObject({
        isError: true,
        code: "denied_by_policy",
      });
    await symlink(outside, join(box.workspace, "link.txt"));
    expect(await call(camel, "show_file", { input: "link.txt" })).toMatchObject({
      code: "approval_required",
    });
    const { ask, asked } = person();
    const shown = await camel.dispatcher.call({ ...callOf("show_file", { input: outside }), ask });
    expect(shown.text).toBe("out");
    expect(asked[0]?.message).toContain("beyond what was approved");
  });

  test("a path is seen however it is joined to an option, and never where the program opens nothing", async () => {
    const box = await sandbox({ "other/out.txt": "out", "workspace/in.txt": "in" });
    const camel = await startCamel(box, { env });
    const { ask } = person();
    await make(
      camel,
      shellTool("any_grep", "grep {{option}} x in.txt", {
        strategy: { type: "shell", command_template: "grep {{option}} x in.txt", dash_values: ["option"] },
      }),
      "create",
      ask,
    );
    const outside = join(box.workspace, "../other/out.txt");
    for (const option of [`-f${outside}`, `-nf${outside}`, `--file=${outside}`, `-f../other/out.txt`])
      expect(await call(camel, "any_grep", { option }), option).toMatchObject({
        isError: true,
        code: "approval_required",
      });
    expect(await call(camel, "any_grep", { option: "-f/etc/passwd" })).toMatchObject({
      code: "denied_by_policy",
    });
    await make(camel, shellTool("say_it", "echo {{input}}"));
    for (const input of [
      "/etc/passwd",
      "../../x",
      "~/.ssh/id_rsa",
      "a=/etc/shadow",
      ".env",
      "file:///etc/passwd",
    ])
      expect((await call(camel, "say_it", { input })).text, input).toBe(`${input}\n`);
  });

  test("a version that widens asks and shows what changed, one that doesn't, doesn't", async () => {
    const camel = await startCamel(await sandbox(), { env });
    const { ask, asked } = person();
    await make(camel, shellTool("count_it", "printf %s {{input}}"), "create", ask);
    expect(asked).toHaveLength(1);
    const same = await make(
      camel,
      shellTool("count_it", "printf %s {{input}}", { description: "Better words." }),
      "update",
      ask,
    );
    expect(same.structured).toMatchObject({ version: 2 });
    expect(asked).toHaveLength(1);
    const wider = shellTool("count_it", "wc -c {{input}}");
    expect(await make(camel, wider, "update")).toMatchObject({ isError: true, code: "approval_required" });
    expect((await make(camel, wider, "update", ask)).structured).toMatchObject({ version: 3 });
    expect(asked).toHaveLength(2);
    expect(asked[1]?.message).toContain("New: it runs wc -c {{input}}");
    expect(asked[1]?.message).toContain('- strategy.command_template: "printf %s {{input}}"');
    expect(asked[1]?.message).toContain('+ strategy.command_template: "wc -c {{input}}"');
    // Going back needs no question: it was approved before.
    const back = await call(camel, "tool_create", { action: "rollback", name: "count_it", version: 1 });
    expect(back.structured).toMatchObject({ version: 1 });
    expect((await call(camel, "count_it", { input: "abc" })).text).toBe("abc");
  });

  test("imports are untrusted: asked about unless harmless, one by one or as a list", async () => {
    const camel = await startCamel(await sandbox(), { env });
    const importing = (json: unknown) => call(camel, "tool_create", { action: "import", json });
    await make(camel, shellTool("say_it", "echo {{input}}"));
    const exported = (await call(camel, "tool_create", { action: "export", name: "say_it" })).text;
    await call(camel, "tool_create", { action: "delete", name: "say_it" });
    expect((await importing(exported)).text).toBe("Imported say_it.");
    const net = {
      name: "ask_net",
      description: "x",
      strategy: { type: "http", url: "https://example.com/" },
    };
    expect(await importing(JSON.stringify(net))).toMatchObject({ isError: true, code: "approval_required" });
    const described = (one: object) => make(camel, one, "create", person().ask);
    const foreignTemplate = shellTool("fetch_like", "printf '%s ' -o /tmp/%(title)s.%(ext)s {{input}}");
    expect((await described(foreignTemplate)).isError).toBeUndefined();
    expect((await call(camel, "fetch_like", { input: "https://example.com/watch?v=abc&t=1" })).text).toBe(
      "-o /tmp/%(title)s.%(ext)s https://example.com/watch?v=abc&t=1 ",
    );
    const foreignFormat = {
      name: "fetch_video",
      description: "Downloads.",
      strategy: { type: "shell", command_template: "echo -o /tmp/%(title)s.%(ext)s {{input}}" },
      created_at: 1711234567,
    };
    expect(
      (
        await importing([
          { ...foreignFormat, strategy: { type: "shell", command_template: "echo {{input}}" } },
          shellTool("list_it", "ls {{input}}"),
        ])
      ).text,
    ).toBe("Imported fetch_video, list_it.");
    expect(
      await importing([shellTool("bad_one", "rm {{input}}"), shellTool("good_one", "echo {{input}}")]),
    ).toMatchObject({ isError: true });
    expect(JSON.stringify(await call(camel, "tool_create", { action: "list" }))).not.toContain("good_one");
    const wrong = [shellTool("good_one", "echo {{input}}"), shellTool("worse_one", "echo a{{input}}")];
    expect((await importing(wrong)).text).toContain('json[1]: "a{{input}}" mixes');
    expect(
      await importing({ name: "old_one", description: "x", strategy: { type: "codegen", source: "x" } }),
    ).toMatchObject({ isError: true });
    expect(await importing("{not json")).toMatchObject({ isError: true, code: "invalid_input" });
  });

  test("a tool never has more rights than its maker, nor than its caller", async () => {
    const box = await sandbox({
      "home/config.yaml": `scopes:
  - { match: { agent: kid }, tools: { deny: [memory_write] } }
  - { match: { agent: reader }, autonomy: { level: readonly } }
`,
    });
    const camel = await startCamel(box, { env });
    const chain = (name: string) => ({
      name,
      description: "Writes a note.",
      strategy: {
        type: "composite",
        steps: [{ tool_name: "memory_write", input_override: { text: "{{input}}", file: "MEMORY.md" } }],
      },
    });
    await call(camel, "tool_create", { action: "create", definition: chain("by_kid") }, { agentId: "kid" });
    await call(camel, "tool_create", { action: "create", definition: chain("by_main") });
    const note = { input: "remember" };
    expect((await call(camel, "by_main", note)).isError).toBeUndefined();
    expect(await call(camel, "by_kid", note)).toMatchObject({ isError: true });
    expect((await call(camel, "by_kid", note)).text).toContain("memory_write");
    expect(await call(camel, "by_main", note, { agentId: "kid" })).toMatchObject({ isError: true });
    expect(await call(camel, "by_main", note, { agentId: "reader" })).toMatchObject({
      isError: true,
      code: "denied_by_policy",
    });
    expect(
      camel.dispatcher.list(callOf("x", {}, { agentId: "reader" }).caller).map((tool) => tool.name),
    ).not.toContain("by_main");
  });

  test("whoever writes a new version lends it their rights, not the first maker's", async () => {
    const box = await sandbox({
      "home/config.yaml": "scopes:\n  - { match: { agent: kid }, tools: { deny: [memory_write] } }\n",
    });
    const camel = await startCamel(box, { env });
    const chain = (description: string) => ({
      name: "write_note",
      description,
      strategy: {
        type: "composite",
        steps: [{ tool_name: "memory_write", input_override: { text: "{{input}}", file: "MEMORY.md" } }],
      },
    });
    await make(camel, chain("First."));
    expect((await call(camel, "write_note", { input: "x" })).isError).toBeUndefined();
    const changed = await call(
      camel,
      "tool_create",
      { action: "update", definition: chain("Second.") },
      { agentId: "kid" },
    );
    expect(changed.isError, changed.text).toBeUndefined();
    expect(await call(camel, "write_note", { input: "x" })).toMatchObject({ isError: true });
  });

  test("what policy keeps from a caller isn't listed, found or shown to it", async () => {
    const box = await sandbox({
      "home/config.yaml": "scopes:\n  - { match: { agent: kid }, tools: { deny: [hidden_one] } }\n",
    });
    const camel = await startCamel(box, { env });
    await make(camel, shellTool("hidden_one", "echo {{input}}"));
    for (const input of [
      { action: "list" },
      { action: "search", query: "hidden one test" },
      { action: "show", name: "hidden_one" },
      { action: "export", name: "hidden_one" },
      { action: "run", name: "hidden_one", input: "x" },
    ]) {
      expect((await call(camel, "tool_create", input)).text, input.action).toMatch(/hidden_one|^x/);
      const kids = await call(camel, "tool_create", input, { agentId: "kid" });
      expect(kids.text, input.action).not.toMatch(/A test|echo|^x/);
    }
  });

  test("the card says what the tool does first, and its maker's words can't imitate that", async () => {
    const camel = await startCamel(await sandbox(), { env });
    const { ask, asked } = person();
    const description = `Harmless.\n\nRuns: ls\nSandbox: required\n${"x ".repeat(900)}`;
    await make(camel, shellTool("sneaky_one", "printf '%s\\n' {{input}}", { description }), "create", ask);
    const lines = asked[0]?.message.split("\n") ?? [];
    expect(lines.filter((line) => line.startsWith("Runs: "))).toEqual(['Runs: printf "%s\\\\n" {{input}}']);
    expect(lines.filter((line) => line.startsWith("Sandbox: "))).toEqual([
      "Sandbox: best-effort, without network",
    ]);
    expect(lines.some((line) => line.startsWith("Its maker says: Harmless. Runs: ls"))).toBe(true);
  });

  test("only a host's own call makes, changes or removes tools", async () => {
    const camel = await startCamel(await sandbox(), { env });
    await make(camel, shellTool("say_it", "echo {{input}}"));
    const definition = shellTool("other_one", "echo {{input}}");
    for (const input of [
      { action: "create", definition },
      { action: "update", definition: shellTool("say_it", "echo x") },
      { action: "import", json: definition },
      { action: "delete", name: "say_it" },
      { action: "rollback", name: "say_it" },
      { action: "propose", name: "say_it", definition: shellTool("say_it", "echo x") },
    ])
      expect(await call(camel, "tool_create", input, { depth: 1 }), input.action).toMatchObject({
        isError: true,
        code: "denied_by_policy",
      });
    expect((await call(camel, "tool_create", { action: "list" }, { depth: 1 })).text).toContain("say_it");
    expect(
      (await call(camel, "tool_create", { action: "run", name: "say_it", input: "x" }, { depth: 1 })).text,
    ).toBe("x\n");
    expect(
      await call(camel, "tool_create", {
        action: "create",
        definition: { ...definition, strategy: { type: "js", source: "return 1", tools: ["tool_create"] } },
      }),
    ).toMatchObject({ isError: true });
  });

  test("switched off, nothing can be made or run", async () => {
    const box = await sandbox();
    const camel = await startCamel(box, { env });
    await make(camel, shellTool("say_it", "echo {{input}}"));
    await writeFile(join(box.home, "config.yaml"), "dynamicTools: { enabled: false }\n");
    const off = await startCamel(box, { env });
    expect(await call(off, "tool_create", { action: "list" })).toMatchObject({
      isError: true,
      code: "denied_by_policy",
    });
    expect(await call(off, "say_it", { input: "x" })).toMatchObject({ isError: true, code: "unknown_tool" });
    await mkdir(join(box.workspace, ".camelagi"));
    await writeFile(join(box.home, "config.yaml"), "");
    await writeFile(
      join(box.workspace, ".camelagi/config.yaml"),
      "dynamicTools: { enabled: false }\nshell: { deniedCommands: [cat], allowedCommands: [rm] }\n",
    );
    const narrowed = await startCamel(box, { env });
    expect(narrowed.config().settings.shell).toMatchObject({
      deniedCommands: ["cat"],
      allowedCommands: ["ls", "pwd", "cat", "echo"],
    });
    expect(await call(narrowed, "tool_create", { action: "list" })).toMatchObject({ isError: true });
  });
});

describe("definitions", () => {
  test.each([
    ["a short name", { name: "ab" }],
    ["a capital", { name: "Tool" }],
    ["a name with a dash", { name: "my-tool" }],
    ["a path as name", { name: "../../x" }],
    ["a built-in's name", { name: "apply_patch" }],
    ["tool_create itself", { name: "tool_create" }],
    ["no description", { description: "" }],
    ["an unknown strategy", { strategy: { type: "magic" } }],
    [
      "a placeholder without a parameter",
      { input_schema: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } },
    ],
    [
      "a parameter that may be missing",
      { input_schema: { type: "object", properties: { input: { type: "string" } } } },
    ],
    [
      "an array as argument",
      {
        input_schema: {
          type: "object",
          properties: { input: { type: "array", items: { type: "string" } } },
          required: ["input"],
        },
      },
    ],
    [
      "a reference in the schema",
      { input_schema: { type: "object", properties: { input: { $ref: "#/x" } }, required: ["input"] } },
    ],
    [
      "a boolean schema",
      { input_schema: { type: "object", properties: { input: true }, required: ["input"] } },
    ],
    [
      "a pattern that hangs",
      {
        input_schema: {
          type: "object",
          properties: { input: { type: "string", pattern: "^(a+)+$" } },
          required: ["input"],
        },
      },
    ],
    ["a schema with anyOf on top", { input_schema: { type: "object", anyOf: [], properties: {} } }],
    ["an example that fails", { examples: [{ input: "x", expect: { contains: "nothing like it" } }] }],
    ["an example that doesn't fit", { examples: [{ input: { wrong: 1 } }] }],
    ["a step that doesn't exist", { strategy: { type: "composite", steps: [{ tool_name: "nowhere" }] } }],
    ["a step that is itself", { strategy: { type: "composite", steps: [{ tool_name: "good_name" }] } }],
    [
      "a later step's result",
      {
        strategy: {
          type: "composite",
          steps: [
            { id: "a", tool_name: "memory_get", input_override: { path: "{{steps.b.json.x}}" } },
            { id: "b", tool_name: "memory_get", input_override: { path: "x" } },
          ],
        },
      },
    ],
  ])("%s is refused", async (_, change) => {
    const camel = await startCamel(await sandbox(), { env });
    const made = await make(camel, { ...shellTool("good_name", "echo {{input}}"), ...change });
    expect(made.isError, made.text).toBe(true);
    expect((await call(camel, "tool_create", { action: "list" })).text).toBe("No tools were made yet.");
  });

  test("inputs are checked by the tool's own schema, before policy", async () => {
    const camel = await startCamel(await sandbox(), { env });
    const made = await make(camel, {
      name: "typed_tool",
      description: "x",
      strategy: { type: "shell", command_template: "echo {{size}} {{kind}}" },
      input_schema: {
        type: "object",
        properties: {
          size: { type: "integer", minimum: 1, maximum: 9 },
          kind: { type: "string", enum: ["a", "b"], default: "a" },
        },
        required: ["size"],
      },
    });
    expect(made.isError, made.text).toBeUndefined();
    expect((await call(camel, "typed_tool", { size: 3, extra: "ignored", kind: null })).text).toBe("3 a\n");
    for (const input of [
      {},
      { size: 0 },
      { size: 10 },
      { size: "3" },
      { size: 3, kind: "c" },
      { size: 1.5 },
      "x",
      null,
      [],
    ])
      expect(await call(camel, "typed_tool", input), JSON.stringify(input)).toMatchObject({
        isError: true,
        code: "invalid_input",
      });
    expect((await call(camel, "typed_tool", { size: 0 })).text).toContain("size");
  });

  test("composites: order, references, failures, cycles and what they claim", async () => {
    const camel = await startCamel(await sandbox(), { env });
    await make(camel, {
      name: "as_json",
      description: "x",
      strategy: { type: "js", source: "return { list: [{ name: input.input }], n: 2 };" },
    });
    await make(camel, shellTool("say_two", "echo {{a}} {{b}}"));
    await make(camel, {
      name: "fail_it",
      description: "x",
      strategy: { type: "js", source: "throw new Error('broken');" },
    });
    await make(camel, {
      name: "chain_it",
      description: "x",
      strategy: {
        type: "composite",
        steps: [
          { id: "a", tool_name: "as_json" },
          {
            tool_name: "say_two",
            input_override: { a: "{{steps.a.json.list[0].name}}-{{input}}", b: "{{steps.a.json.n}}" },
          },
        ],
      },
    });
    expect((await call(camel, "chain_it", { input: "zoe" })).text).toBe("zoe-zoe 2\n");
    await make(camel, {
      name: "chain_fails",
      description: "x",
      strategy: { type: "composite", steps: [{ tool_name: "as_json" }, { tool_name: "fail_it" }] },
    });
    const failed = await call(camel, "chain_fails", { input: "x" });
    expect(failed).toMatchObject({
      isError: true,
      code: "tool_failed",
      structured: { error: { details: { step: "fail_it", steps: [{ id: "as_json" }] } } },
    });
    expect(failed.text).toContain('step "fail_it" failed');
    expect(failed.text).toContain('"list"');
    const list = () =>
      new Map(camel.dispatcher.list(callOf("x", {}).caller).map((tool) => [tool.name, tool]));
    expect(list().get("as_json")).toMatchObject({ effect: "read", destructive: false });
    expect(list().get("chain_it")).toMatchObject({ effect: "exec", destructive: true, openWorld: true });
    expect(list().get("chain_fails")).toMatchObject({ effect: "read" });
    // A tool it calls becomes more dangerous, and so does what it claims.
    await make(camel, shellTool("as_json", "echo {{input}}"), "update", person().ask);
    expect(list().get("chain_fails")).toMatchObject({ effect: "exec", destructive: true });
    const loop = await make(
      camel,
      {
        name: "as_json",
        description: "x",
        strategy: { type: "composite", steps: [{ tool_name: "chain_it" }] },
      },
      "update",
    );
    expect(loop.text).toContain("leads back");
    const deleted = await call(camel, "tool_create", { action: "delete", name: "fail_it" });
    expect(deleted.structured).toMatchObject({ usedBy: ["chain_fails"] });
  });

  test("tools that call tools end somewhere", async () => {
    const camel = await startCamel(await sandbox(), { env });
    await make(camel, shellTool("level_0", "echo {{input}}"));
    for (let level = 1; level <= 8; level += 1)
      await make(camel, {
        name: `level_${level}`,
        description: "x",
        strategy: { type: "composite", steps: [{ tool_name: `level_${level - 1}` }] },
      });
    expect((await call(camel, "level_5", { input: "deep" })).text).toBe("deep\n");
    expect((await call(camel, "level_8", { input: "deep" })).text).toContain("levels deep");
  });

  test("source that isn't the approved one isn't run, even if it was sealed with the right key", async () => {
    const box = await sandbox();
    const camel = await startCamel(box, { env });
    await make(camel, {
      name: "hashed_one",
      description: "x",
      strategy: { type: "js", source: "return 1;" },
    });
    const store = createSealedFolder<StoredTool>({
      home: box.home,
      env: {},
      keychain: false,
      clock: systemClock,
      folder: "tools",
      kind: "tool",
    });
    await store.change(
      "hashed_one",
      (tool) => JSON.parse(JSON.stringify(tool).replace("return 1;", "return 2;")) as StoredTool,
    );
    const again = await startCamel(box, { env });
    expect(await call(again, "hashed_one", { input: "x" })).toMatchObject({ isError: true, code: "damaged" });
  });

  test("scopes: a session's and a project's tools stay there", async () => {
    const box = await sandbox();
    const camel = await startCamel(box, { env });
    await make(camel, shellTool("for_session", "echo {{input}}", { scope: "session" }));
    await make(camel, shellTool("for_project", "echo {{input}}", { scope: "project" }));
    expect((await call(camel, "for_session", { input: "x" })).text).toBe("x\n");
    expect(await call(camel, "for_session", { input: "x" }, { sessionId: "ses_other" })).toMatchObject({
      isError: true,
      code: "unknown_tool",
    });
    expect((await call(camel, "for_project", { input: "x" }, { sessionId: "ses_other" })).text).toBe("x\n");
    await mkdir(join(box.workspace, "../elsewhere"));
    const elsewhere = await startCamel(box, {
      env,
      workspace: join(box.workspace, "../elsewhere"),
      cwd: box.home,
    });
    expect(await call(elsewhere, "for_project", { input: "x" })).toMatchObject({
      isError: true,
      code: "unknown_tool",
    });
    expect((await call(elsewhere, "tool_create", { action: "list" })).text).toBe("No tools were made yet.");
  });

  test("a description alone gives the form, the rules and the closest tool", async () => {
    const camel = await startCamel(await sandbox(), { env });
    await make(camel, {
      ...shellTool("count_lines", "cat {{input}}"),
      description: "Counts the lines of a file.",
    });
    const form = await call(camel, "tool_create", {
      action: "create",
      description: "A tool that counts lines of text files",
      strategy_hint: "shell",
    });
    expect(form.isError).toBeUndefined();
    expect(form.structured).toMatchObject({
      form: { strategy: { type: "shell" } },
      closest: { name: "count_lines" },
    });
    expect(form.text).toContain("Rules that are checked");
    expect(await call(camel, "tool_create", { action: "create" })).toMatchObject({
      isError: true,
      code: "invalid_input",
    });
  });

  test("a credential written into a definition is pointed out, and neither shown nor exported", async () => {
    const camel = await startCamel(await sandbox(), { env });
    const made = await make(camel, {
      name: "ask_api",
      description: "x",
      strategy: {
        type: "http",
        url: "https://api.example.com/v1",
        headers: { Authorization: "Bearer sk-plain-text", Accept: "text/plain" },
      },
    });
    expect(made.text).toContain("Authorization holds a credential as text");
    for (const action of ["show", "export", "list"]) {
      const shown = JSON.stringify(await call(camel, "tool_create", { action, name: "ask_api" }));
      expect(shown, action).not.toContain("sk-plain");
    }
    expect((await call(camel, "tool_create", { action: "export", name: "ask_api" })).text).toContain(
      "secret://ask_api_authorization",
    );
  });

  test("at most so many tools", async () => {
    const camel = await startCamel(await sandbox({ "home/config.yaml": "dynamicTools: { maxTools: 2 }\n" }), {
      env,
    });
    for (const name of ["one_tool", "two_tool"])
      expect((await make(camel, shellTool(name, "echo {{input}}"))).isError).toBeUndefined();
    expect(await make(camel, shellTool("three_tool", "echo {{input}}"))).toMatchObject({
      isError: true,
      code: "limit_reached",
    });
  });
});
