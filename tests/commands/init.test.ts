import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { configTemplate, EXAMPLES } from "../../src/commands/config-template.ts";
import { parseConfig } from "../../src/config/parse.ts";
import { defaultConfig } from "../../src/config/defaults.ts";
import { runCli, sandbox } from "../harness.ts";

/** What a person gets who takes every # away: settings are `#`, indentation, text; explanations `# text`. */
const uncommented = (text: string): string => text.replaceAll(/^#(?! \S)/gm, "");

test.each(["user", "project"] as const)(
  "the %s file is valid as written and with every setting on",
  async (scope) => {
    const text = configTemplate(scope);
    expect((await parseConfig(text, "new.yaml")).config).toEqual(defaultConfig);
    const all = uncommented(text);
    expect(all).toMatch(/^tools:$/m);
    expect((await parseConfig(all, "all.yaml")).config).toEqual(defaultConfig);
  },
);

test("the user's file shows every setting there is", async () => {
  const text = configTemplate("user");
  for (const [section, value] of Object.entries(defaultConfig)) {
    expect(text).toMatch(new RegExp(`^#${section}:`, "m"));
    if (typeof value === "object" && !Array.isArray(value))
      for (const key of Object.keys(value)) expect(text).toMatch(new RegExp(`^#  (?:# )?${key}:`, "m"));
  }
  expect(configTemplate("project")).not.toMatch(/^#http:/m);
});

test("every setting is explained", () => {
  const lines = configTemplate("user").split("\n");
  const bare = lines.filter((line, at) => {
    const isSetting = /^#  (?:\w+: |# \w+: \(not set)/.test(line);
    const before = lines[at - 1] ?? "";
    return isSetting && (!before.startsWith("#  # ") || before.includes(": (not set"));
  });
  expect(bare).toEqual([]);
});

test.each(Object.entries(EXAMPLES))("the example for %s is valid", async (key, example) => {
  const path = key.split(".");
  const yaml = path.map((part, depth) => `${"  ".repeat(depth)}${part}:\n`).join("");
  const text = `${yaml}${"  ".repeat(path.length)}${example}\n`;
  let value: unknown = (await parseConfig(text, "example.yaml")).config;
  for (const part of path) value = (value as Record<string, unknown>)[part];
  expect(value).toHaveLength(1);
});

test("writes once, never over a file; the server takes it", async () => {
  const box = await sandbox();
  const file = join(box.home, "config.yaml");
  expect(await runCli(["init"], box)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`Wrote ${file}.\n`) as string,
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readFile(file, "utf8")).toBe(configTemplate("user"));
  expect((await runCli(["tools", "list"], box)).code).toBe(0);

  await box.write("home/config.yaml", "# mine\n");
  const again = await runCli(["init"], box);
  expect(again.code).toBe(1);
  expect(again.stderr).toContain(`${file} exists already; it was left as it is.`);
  expect(await readFile(file, "utf8")).toBe("# mine\n");

  const project = await runCli(["init", "--scope", "project", "--json"], box);
  expect(JSON.parse(project.stdout)).toEqual({
    file: join(box.workspace, ".camelagi", "config.yaml"),
    scope: "project",
  });
  expect((await runCli(["init", "--print"], box)).stdout).toBe(configTemplate("user"));
});
