import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parseConfig } from "../src/config-load.ts";
import { runCli, sandbox } from "./harness.ts";

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

  const lines = inLanguage("sh").flatMap(({ page, text }) =>
    text
      .split("\n")
      .filter((line) => /^npx (-y )?camel-mcp /.test(line))
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
    const [command = ""] = line.replace(/^npx (-y )?camel-mcp /, "").split(" ");
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

/** Words and single-quoted words, as a shell splits them. */
function splitWords(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}
