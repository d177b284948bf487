import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { configTemplate, EXAMPLES } from "../../src/commands/config-template.ts";
import { parseConfig } from "../../src/config-load.ts";
import { defaultConfig } from "../../src/config-defaults.ts";
import { runCli, sandbox } from "../harness.ts";

/** What a person gets who takes every # away: settings are `#`, indentation, text; explanations `# text`. */
const uncommented = (text: string): string => text.replaceAll(/^#(?! \S)/gm, "");

test.each(["user", "project"] as const)(
  "the %s file is valid as written and with every setting on",
  async (scope) => {
    const text = configTemplate(scope);
    expect(await parseConfig(text, "new.yaml")).toEqual(defaultConfig);
    const all = uncommented(text);
    expect(all).toMatch(/^tools:$/m);
    expect(await parseConfig(all, "all.yaml")).toEqual(defaultConfig);
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

test.each(Object.entries(EXAMPLES))("the example for %s is valid", async (key, example) => {
  const config = await parseConfig(`${key}:\n  ${example}\n`, "example.yaml");
  expect(config[key as "rules" | "scopes"]).toHaveLength(1);
});

test("writes once, never over a file; the server takes it", async () => {
  const box = await sandbox();
  const file = join(box.home, "config.yaml");
  expect(await runCli(["init"], box)).toMatchObject({ code: 0, stdout: `Wrote ${file}.\n` });
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
