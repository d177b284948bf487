import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { CLI, connect, runCli, sandbox } from "../harness.ts";

interface Listed {
  name: string;
  effect: string;
  inputSchema?: { type: string };
}

describe("tools", () => {
  test("list shows the same tools as a host sees, with schemas on request", async () => {
    const box = await sandbox();
    const client = await connect("2.x modern stdio", box);
    const hosted = (await client.listTools()).tools;
    const listed = JSON.parse((await runCli(["tools", "list", "--json"], box)).stdout) as Listed[];
    expect(listed.map((tool) => tool.name)).toEqual(hosted.map((tool) => tool.name));
    expect(listed.every((tool) => tool.inputSchema === undefined)).toBe(true);
    const full = JSON.parse(
      (await runCli(["tools", "list", "--json", "--with-schema"], box)).stdout,
    ) as Listed[];
    expect(full.every((tool) => tool.inputSchema?.type === "object")).toBe(true);

    const text = (await runCli(["tools", "list"], box)).stdout;
    expect(text).toMatch(/^memory_get +read +Reads a memory file/m);
    expect((await runCli(["tools", "list", "--with-schema"], box)).stdout).toContain('"filePath": {');
  });

  test("info explains a tool and its parameters", async () => {
    const { stdout } = await runCli(["tools", "info", "memory_get"], await sandbox());
    expect(stdout).toMatch(/^memory_get: /);
    expect(stdout).toContain("Effect: read\n");
    expect(stdout).toMatch(/^ {2}filePath \(required\)$/m);
    expect(stdout).toMatch(/^ {2}from$/m);
  });

  test("schema: compact, pretty, and as an OpenAI function", async () => {
    const box = await sandbox();
    const compact = (await runCli(["tools", "schema", "memory_get"], box)).stdout;
    const pretty = (await runCli(["tools", "schema", "memory_get", "--pretty"], box)).stdout;
    expect(compact.trim()).not.toContain("\n");
    expect(pretty).toContain('\n  "properties"');
    expect(JSON.parse(pretty)).toEqual(JSON.parse(compact));
    const openai = JSON.parse((await runCli(["tools", "schema", "memory_get", "--openai"], box)).stdout) as {
      function: { parameters: object };
    };
    expect(openai).toMatchObject({ type: "function", function: { name: "memory_get" } });
    expect(openai.function.parameters).toEqual(JSON.parse(compact));
    expect(compact).not.toContain("$schema");
    const all = JSON.parse((await runCli(["tools", "list", "--openai"], box)).stdout) as unknown[];
    expect(all).toContainEqual(openai);
  });

  test("what policy hides is not shown", async () => {
    const box = await sandbox({ "home/config.yaml": "tools: { deny: [memory_get] }\n" });
    expect((await runCli(["tools", "list"], box)).stdout).not.toMatch(/^memory_get/m);
    expect((await runCli(["tools", "info", "memory_get"], box)).code).toBe(2);
  });
});

describe("help", () => {
  test("every command has a page of its own, by --help and by help", async () => {
    const box = await sandbox();
    const { stdout } = await runCli(["--help"], box);
    const section = stdout.slice(stdout.indexOf("Commands\n"), stdout.indexOf("Flags on every"));
    const commands = [...section.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name ?? "");
    expect(commands).toContain("install");
    for (const name of commands) {
      const [page, same] = await Promise.all([runCli([name, "--help"], box), runCli(["help", name], box)]);
      expect(page.code).toBe(0);
      expect(page.stdout, name).toMatch(new RegExp(`^camel-mcp ${name}\\b`));
      expect(same.stdout).toBe(page.stdout);
    }
  });
});

test("a person in a terminal is told what this is, on stderr, and leaves with Ctrl-C", async () => {
  const box = await sandbox();
  // `script` gives the process a terminal.
  const command = `'${process.execPath}' '${CLI}' 2>&1 >/dev/null`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    cwd: box.workspace,
    env: { PATH: process.env["PATH"], HOME: box.home, CAMELAGI_HOME: box.home },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (said.includes("npx camel-mcp --help")) break;
  }
  child.stdin.write("\u0003");
  await once(child, "exit");
  expect(said).toContain("is an MCP server");
  expect(said).toContain("npx camel-mcp install");
  expect(said).toContain("npx camel-mcp demo");
});
