import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parseConfig } from "../src/config/parse.ts";
import { call, callOf, runCli, sandbox, startCamel } from "./harness.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const PAGES = [
  ...readdirSync(ROOT).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

interface Example {
  page: string;
  language: string;
  text: string;
}

const EXAMPLES = PAGES.flatMap((page): Example[] =>
  [...readFileSync(join(ROOT, page), "utf8").matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(
    ([, language = "", text = ""]) => ({ page, language, text }),
  ),
);
const inLanguage = (language: string): Example[] => EXAMPLES.filter((one) => one.language === language);

/** Commands of examples that end by themselves and need nothing but a workspace. */
const RUNNABLE =
  /^npx (?:-y )?camel-mcp ((?:tools|call|policy|init|token (?:create|list)|install --list|insights|approvals list)\b.*)$/;

describe("examples in the documentation", () => {
  test.each(inLanguage("yaml"))("YAML in $page is a valid config", async ({ text, page }) => {
    await expect(parseConfig(text, page)).resolves.toBeDefined();
  });

  test.each(inLanguage("json"))("JSON in $page parses", ({ text }) => {
    expect(() => JSON.parse(text) as unknown).not.toThrow();
  });

  test.each(PAGES)("every example in %s is in a block of a language that is checked", (page) => {
    const text = readFileSync(join(ROOT, page), "utf8");
    const blocks = [...text.matchAll(/^```(.*)\n[\s\S]*?^```$/gm)];
    // Trees of files are no examples.
    if (page !== "AGENTS.md")
      for (const [, info = ""] of blocks) expect(info).toMatch(/^(?:sh|json|yaml|js|text|diff|python)\b/);
    const prose = text.replaceAll(/^```.*\n[\s\S]*?^```$/gm, "");
    expect(prose).not.toMatch(/^(?: {4}|\t)(?:npx|camel-mcp|[\w-]+:)/m);
  });

  test("the tool in docs/tool-create.md can be made, and works", async () => {
    const [example] = inLanguage("json").filter(({ page }) => page === "docs/tool-create.md");
    const camel = await startCamel(await sandbox({ "workspace/README.md": "one\ntwo\n" }), {
      env: { PATH: process.env["PATH"] },
    });
    const yes = async () => ({ action: "accept" as const, content: { approve: true } });
    const made = await camel.dispatcher.call({
      ...callOf("tool_create", JSON.parse(example?.text ?? "")),
      ask: yes,
    });
    expect(made.isError, made.text).toBeUndefined();
    expect((await call(camel, "count_lines", { file: "README.md" })).text).toContain("2 README.md");
  });

  const lines = [...inLanguage("sh"), ...inLanguage("text")].flatMap(({ page, text }) =>
    text
      .split("\n")
      .filter((line) => /^(?:npx (?:-y )?)?camel-mcp /.test(line))
      .map((line) => ({ page, line })),
  );

  test.each(lines)("$page: $line", async ({ line }) => {
    const [, words] = RUNNABLE.exec(line) ?? [];
    const box = await sandbox({ "workspace/MEMORY.md": "Releases go out on Tuesdays.\n" });
    if (words !== undefined) {
      const { code, stderr } = await runCli(splitWords(words), box);
      // 3 and 4 are answers of `policy explain`.
      expect([0, 3, 4], stderr).toContain(code);
      return;
    }
    const [command = ""] = line.replace(/^(?:npx (?:-y )?)?camel-mcp /, "").split(" ");
    const help = await runCli([command, "--help"], box);
    expect(help.code, `${command} is no command`).toBe(0);
    for (const [flag] of line.matchAll(/--[a-z-]+/g)) expect(help.stdout).toContain(flag);
  });

  test.each(PAGES)("links in %s lead somewhere", (page) => {
    const text = readFileSync(join(ROOT, page), "utf8");
    for (const [, target = ""] of text.matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)(?:#[^)]*)?\)/g)) {
      expect(() => readFileSync(join(ROOT, dirname(page), target)), `${page} -> ${target}`).not.toThrow();
    }
  });
});

test("mcp.json.example and server.json name flags, variables and addresses that there are", async () => {
  const { stdout: help } = await runCli(["--help"], await sandbox());
  const example = JSON.parse(readFileSync(join(ROOT, "mcp.json.example"), "utf8")) as {
    mcpServers: { camel: { args: string[]; env: Record<string, string> }; "camel-shared": { url: string } };
  };
  const { camel, "camel-shared": shared } = example.mcpServers;
  expect(new URL(shared.url).port).toBe(String((await parseConfig("", "defaults")).config.http.port));
  const server = JSON.parse(readFileSync(join(ROOT, "server.json"), "utf8")) as {
    packages: { packageArguments: { name: string }[]; environmentVariables: { name: string }[] }[];
  };
  const [listed] = server.packages;
  const names = [
    ...camel.args.filter((word) => word.startsWith("--")),
    ...Object.keys(camel.env),
    ...[...(listed?.packageArguments ?? []), ...(listed?.environmentVariables ?? [])].map(({ name }) => name),
  ];
  expect(names.length).toBeGreaterThan(4);
  for (const name of names) expect(help).toMatch(new RegExp(`(?<![\\w-])${name}(?![\\w-])`));
});

/** Words and single-quoted words, as a shell splits them. */
function splitWords(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}
