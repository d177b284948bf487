import { execFileSync, spawnSync } from "node:child_process";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Camel } from "../../src/camel.ts";
import { call, sandbox, startCamel, type Sandbox } from "../harness.ts";

/** What reads or starts more than its arguments say. Nobody is there to approve: what isn't allowed is refused. */
const config = {
  "home/config.yaml": "shell: { allowedCommands: [cat, grep, rg, git, sort, head, echo, diff] }\n",
};

async function start(files: Record<string, string> = {}): Promise<{ box: Sandbox; camel: Camel }> {
  const box = await sandbox({ ...config, ...files });
  return { box, camel: await startCamel(box, { env: { PATH: process.env["PATH"] } }) };
}

const hasRipgrep = spawnSync("rg", ["--version"]).status === 0;
const here = (lines: readonly string[]): string[] =>
  lines.filter((line) => hasRipgrep || !line.startsWith("rg "));

let made = 0;
async function run(camel: Camel, strategy: object, rest: object = {}) {
  made += 1;
  const name = `reader_${made}`;
  const creation = await call(camel, "tool_create", {
    action: "create",
    definition: {
      name,
      description: "x",
      strategy: { type: "shell", success_codes: [0, 1], ...strategy },
      sandbox: "off",
      ...rest,
    },
  });
  return creation.isError === true ? creation : call(camel, name, {});
}

const command = (command_template: string) => ({ command_template });

describe("files that no argument names", () => {
  test("a pattern isn't a file, whatever it is called, and a file is one through a pattern too", async () => {
    const { camel } = await start({
      "workspace/src/a.ts": "const a = '/etc/passwd .env';\n",
      "workspace/docs/b.md": "x\n",
      "workspace/.env": "SECRET=hush\n",
    });
    for (const line of ["grep -n /etc/passwd src/a.ts", "grep -rn .env src", "diff -r src src"]) {
      const result = await run(camel, command(line));
      expect(result.isError, `${line}: ${result.text}`).toBeUndefined();
    }
    for (const line of ["grep -e x .env", "cat .e*", "cat .[e]nv", "cat {.env,a}", "cat ./.en?"])
      expect(await run(camel, command(line)), line).toMatchObject({
        isError: true,
        code: "denied_by_policy",
      });
    for (const line of ["grep -e x /etc/hostname", "cat ~nobody/x"])
      expect(await run(camel, command(line)), line).toMatchObject({ isError: true });
  });

  test("a search through folders shows no file that policy hides", async () => {
    const { camel } = await start({
      "workspace/src/a.ts": "const a = 1;\n",
      "workspace/.env": "SECRET=hush\n",
      "workspace/keys/server.pem": "hush\n",
    });
    for (const line of here([
      "grep -r hush .",
      "grep -rh hush",
      "grep --recursive hush .",
      "grep -d recurse hush keys",
      "grep -r server.pem",
      "rg -u hush",
      "rg --hidden hush",
      "rg hush",
      "rg hush keys",
      "diff -r keys src",
      // Not options: a pattern, or one of several; and one that is overruled.
      "grep -r -e --exclude=.env -e hush --exclude-dir=keys .",
      "grep -r --exclude=.env hush .",
      "grep -r --exclude=keys --exclude=.env hush .",
      "grep -r --exclude=.env --exclude-dir=keys --include=.env hush .",
      "grep -r --exclude=.e*v*x --exclude-dir=keys hush .",
    ]))
      expect(await run(camel, command(line)), line).toMatchObject({
        isError: true,
        code: "denied_by_policy",
      });
    for (const line of here([
      "grep -r const src",
      "grep -rn const src/a.ts",
      "grep -rn --exclude=.env --exclude-dir=keys const",
      "grep -rn --exclude=.env* --exclude=*.pem const .",
      "grep -n const src/a.ts",
      "rg -n const src",
      "rg const src/a.ts",
    ])) {
      const result = await run(camel, command(line));
      expect(result.isError, `${line}: ${result.text}`).toBeUndefined();
      expect(result.text, line).toContain("const a");
    }
    const piped = await run(camel, {
      pipeline: ["cat src/a.ts", hasRipgrep ? "rg const" : "grep const"],
    });
    expect(piped.text).toContain("const a");
  });

  test("a link lends its place neither to a fixed argument nor to a search", async () => {
    const { box, camel } = await start({ "outside/notes.txt": "hush\n", "workspace/a.txt": "plain\n" });
    await symlink(join(box.workspace, "..", "outside"), join(box.workspace, "linked"));
    for (const line of here([
      "cat linked/notes.txt",
      "grep -R hush .",
      "rg -L hush",
      "head -n 1 linked/notes.txt",
    ]))
      expect(await run(camel, command(line)), line).toMatchObject({
        isError: true,
        code: "approval_required",
      });
    expect((await run(camel, command("grep -r plain ."))).text).toContain("plain");
  });

  test("a path joined to an option is a path", async () => {
    const { box, camel } = await start({ "outside.txt": "x\n", "workspace/a.txt": "x\n" });
    const outside = join(box.workspace, "..", "outside.txt");
    for (const line of [
      `grep -f${outside} a.txt`,
      `grep --file=${outside} a.txt`,
      "grep -f../outside.txt a.txt",
    ])
      expect(await run(camel, command(line)), line).toMatchObject({
        isError: true,
        code: "approval_required",
      });
  });
});

describe("settings that start programs", () => {
  test("a variable that isn't known to be harmless is asked about", async () => {
    const { camel } = await start();
    for (const [name, value] of [
      ["RIPGREP_CONFIG_PATH", "rc"],
      ["XDG_CONFIG_HOME", "x"],
      ["KUBECONFIG", "x"],
      ["TZ", "/etc/shadow"],
    ])
      expect(await run(camel, { ...command("echo x"), env: { [name ?? ""]: value } }), name).toMatchObject({
        isError: true,
        code: "approval_required",
      });
    expect((await run(camel, { ...command("echo x"), env: { LANG: "C", NO_COLOR: "1" } })).text).toBe("x\n");
  });

  test("git only looks, and asks where the repository names a program", async () => {
    const { box, camel } = await start({ "workspace/a.txt": "x\n" });
    const git = (...args: string[]): void =>
      void execFileSync("git", args, {
        cwd: box.workspace,
        env: { PATH: process.env["PATH"], HOME: box.home },
      });
    git("init", "--quiet");
    expect((await run(camel, command("git status --short"))).text).toContain("a.txt");
    for (const [key, value] of [
      ["core.fsmonitor", "touch CANARY"],
      ["core.hooksPath", "hooks"],
      ["diff.external", "touch CANARY"],
      ["filter.x.clean", "touch CANARY"],
      ["include.path", "../other"],
      ["CORE.Pager", "touch CANARY"],
    ] as const) {
      git("config", key, value);
      expect(await run(camel, command("git status --short")), key).toMatchObject({
        isError: true,
        code: "approval_required",
      });
      git("config", "--unset", key);
    }
    expect((await run(camel, command("git status --short"))).isError).toBeUndefined();
    expect(await run(camel, command("git add a.txt"))).toMatchObject({ code: "approval_required" });
  });

  test("what policy alone allowed isn't allowed any more once policy says otherwise", async () => {
    const { box, camel } = await start({ "workspace/a.txt": "x\n" });
    const definition = {
      name: "show_it",
      description: "x",
      strategy: { type: "shell", ...command("cat a.txt") },
    };
    await call(camel, "tool_create", { action: "create", definition });
    expect((await call(camel, "show_it", {})).text).toBe("x\n");
    await box.write("home/config.yaml", "shell: { allowedCommands: [ls] }\n");
    await expect
      .poll(async () => (await call(camel, "show_it", {})).code, { timeout: 5_000 })
      .toBe("approval_required");
  });
});

test("what can't be started says what to do", async () => {
  const { camel } = await start({ "workspace/a.txt": "x\n" });
  for (const cwd of ["nosuch", "a.txt"]) {
    const result = await run(camel, { ...command("echo x"), cwd });
    expect(result).toMatchObject({ isError: true, code: "not_found" });
    expect(result.text).toContain("another cwd");
  }
});
