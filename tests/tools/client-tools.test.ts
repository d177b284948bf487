import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { argumentVariables } from "../../src/tools/client-tools/environment.ts";
import type { Logger } from "../../src/shared/log.ts";
import { CLIENTS, call, connect, sandbox, startCamel, type Sandbox } from "../harness.ts";

const grepFile = {
  name: "grepFile",
  description: "Search for a pattern in a file.",
  properties: { path: { type: "string" }, pattern: { type: "string" } },
  handler: { bash: "./grep.sh", injectArgsAs: "env" },
};

async function withTools(tools: object[], files: Record<string, string> = {}): Promise<Sandbox> {
  return sandbox({ "home/config.yaml": JSON.stringify({ clientTools: tools }), ...files });
}

describe.each(CLIENTS)("a script as a tool, through %s", (kind) => {
  test("gets its arguments in the environment, and PATH stays PATH", async () => {
    const box = await withTools([grepFile], {
      "workspace/notes.txt": "one TODO\ntwo\n",
      "workspace/grep.sh": 'grep -n "$PATTERN" "$CAMEL_ARG_PATH"; echo "PATH is ${#PATH} long" >&2\n',
    });
    const script = { ...grepFile, handler: { bash: "bash ./grep.sh" } };
    await box.write("home/config.yaml", JSON.stringify({ clientTools: [script] }));
    const client = await connect(kind, box);
    const { tools } = await client.listTools();
    expect(tools.find((tool) => tool.name === "grepFile")).toMatchObject({
      inputSchema: { type: "object", properties: { path: { type: "string" } } },
    });
    const result = await client.callTool({
      name: "grepFile",
      arguments: { path: "notes.txt", pattern: "TODO" },
    });
    expect(result.content[0]?.text).toBe("1:one TODO\n");
  });
});

test("the documented example works as it stands", async () => {
  const page = await readFile(new URL("../../docs/client-tools.md", import.meta.url), "utf8");
  const config = /```yaml\n([^]*?)```/.exec(page)?.[1] ?? "";
  const box = await sandbox({ "home/config.yaml": config, "workspace/a b.txt": "one two three\n" });
  const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
  expect((await call(camel, "count_words", { file: "a b.txt" })).text.trim()).toBe("3");
  expect((await call(camel, "count_words", { file: 17 })).code).toBe("invalid_input");
});

test("as one JSON argument, which no shell reads", async () => {
  const box = await withTools([
    {
      name: "echo_args",
      schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      handler: { bash: "printf '%s\\n' \"$#\"; printf '%s'", injectArgsAs: "argv" },
    },
  ]);
  const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
  const text = `'; touch pwned; "$(touch pwned)" \`touch pwned\` $HOME`;
  const result = await call(camel, "echo_args", { text });
  expect(result.text).toBe(`1\n${JSON.stringify({ text })}`);
  expect(existsSync(join(box.workspace, "pwned"))).toBe(false);
  expect((await call(camel, "echo_args", { text: 5 })).code).toBe("invalid_input");
});

test.each([
  ["cat <<<\n", "a script of several lines\n"],
  ['echo "$1"\n', "one that says where the argument goes"],
  ['if true; then\n  echo "${1}"\nfi\n', "one that ends with no command"],
])("%j gets the argument, and bash never runs it: %s", async (bash) => {
  const tool = { name: "shows", properties: { text: {} }, handler: { bash, injectArgsAs: "argv" } };
  const camel = await startCamel(await withTools([tool]), { env: { PATH: process.env["PATH"] } });
  expect((await call(camel, "shows", { text: "x" })).text).toBe('{"text":"x"}\n');
});

test.each([
  "PATH",
  "ld_preload",
  "bash_env",
  "node_options",
  "IFS",
  "git_ssh_command",
  "camel_workspace",
  "ENV",
  "PS4",
  "dyld_insert_libraries",
  "makeflags",
  "groups",
  "xdg_config_home",
  "rustc_wrapper",
])("an argument called %s doesn't reach the program that listens to it", (name) => {
  const variables = argumentVariables({ [name]: "/evil" }, {});
  expect(Object.keys(variables)).toEqual([`CAMEL_ARG_${name.toUpperCase()}`]);
});

test("an argument never replaces what is in the environment already", () => {
  expect(argumentVariables({ region: "a", city: "b" }, { REGION: "kept" })).toEqual({
    CAMEL_ARG_REGION: "a",
    CAMEL_ARG_CITY: "b",
    CITY: "b",
  });
});

test("is told at load: a name that is taken, a schema that won't do, an argument with a reserved name", async () => {
  const said: string[] = [];
  const log: Logger = { error: () => {}, warn: (line) => said.push(line), info: () => {}, debug: () => {} };
  const handler = { bash: "true" };
  const box = await withTools([
    { name: "memory_get", handler },
    { name: "twice", handler },
    { name: "twice", handler },
    { name: "wrong", schema: { type: "string" }, handler },
    grepFile,
    { name: "alike", properties: { "a-b": { type: "string" }, a_b: { type: "string" } }, handler },
  ]);
  const camel = await startCamel(box, { log });
  expect(said.join("\n")).toMatch(
    /"memory_get" is ignored[\s\S]*"twice" is ignored[\s\S]*"wrong" is ignored[\s\S]*in "grepFile", the argument "path" reaches the script only as CAMEL_ARG_PATH: [\s\S]*"a-b" and "a_b" are both CAMEL_ARG_A_B/,
  );
  expect((await call(camel, "memory_get", { filePath: "MEMORY.md" })).code).toBe("not_found");
});

test("failure, time-out and too much output are errors with what was said; the script's children die", async () => {
  const box = await withTools([
    { name: "fails", handler: { bash: "echo why >&2; exit 3" } },
    { name: "hangs", handler: { bash: "sleep 1000 & sleep 1000" }, timeoutSeconds: 0.2 },
    { name: "floods", handler: { bash: "yes" }, outputBytes: 1000 },
  ]);
  const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
  expect((await call(camel, "fails", {})).text).toMatch(/tool_failed.*ended with 3\.\nwhy/);
  expect((await call(camel, "hangs", {})).text).toMatch(/timeout[\s\S]*0\.2 s[\s\S]*clientTools/);
  expect((await call(camel, "floods", {})).text).toContain("more than 1000 bytes");
  // A limit for the tool counts, as for any other.
  const limited = await withTools([
    { name: "hangs", handler: { bash: "sleep 0.3; echo done" }, timeoutSeconds: 0.1 },
  ]);
  const config = await readFile(join(limited.home, "config.yaml"), "utf8");
  const limits = { tools: [{ tool: "hangs", timeoutSeconds: 30 }] };
  await limited.write("home/config.yaml", JSON.stringify({ ...JSON.parse(config), limits }));
  const longer = await startCamel(limited, { env: { PATH: process.env["PATH"] } });
  expect((await call(longer, "hangs", {})).text).toBe("done\n");
});

test("policy and approval hold for them, and a workspace's file can't bring any", async () => {
  const tool = { name: "touches", handler: { bash: "touch here" } };
  const box = await sandbox({
    "home/config.yaml": "autonomy: { level: readonly }\n",
    "workspace/.camelagi/config.yaml": JSON.stringify({ clientTools: [tool] }),
  });
  expect((await call(await startCamel(box), "touches", {})).code).toBe("unknown_tool");
  await box.write("home/config.yaml", JSON.stringify({ clientTools: [tool], approvals: { mode: "smart" } }));
  expect((await call(await startCamel(box), "touches", {})).code).toBe("approval_required");
  expect(existsSync(join(box.workspace, "here"))).toBe(false);
});
