import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { SYNTAX } from "../../src/commands/flags.ts";
import { HELP_PAGES } from "../../src/commands/help.ts";
import { VERSION } from "../../src/shared/version.ts";
import { CLI, runCli, sandbox } from "../harness.ts";

describe("words and flags", () => {
  test("--version and --help print and end well", async () => {
    const box = await sandbox();
    expect(await runCli(["--version"], box)).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: "" });
    const help = await runCli(["--help"], box);
    expect(help.code).toBe(0);
    for (const word of ["serve", "call", "policy explain", "token", "demo", "--workspace", "CAMEL_WORKSPACE"])
      expect(help.stdout).toContain(word);
  });

  test.each([
    [["serv"], 'Did you mean "serve"?'],
    [["--nope"], "--nope"],
    [["--wrkspace", "x"], "Did you mean --workspace?"],
    [["--workspace"], "--workspace needs a value"],
    [["serv", "--help"], 'Did you mean "serve"?'],
    [["memory", "serch"], 'Did you mean "search"?'],
    [["policy", "command"], "which command line"],
    [["cron", "add", "5m", "say", "hi"], '"hi" is one word too many'],
    [["cron", "remove", "x", "--dry-run"], "Nothing was done"],
    [["install", "vscode", "cursor"], '"cursor" is one word too many'],
    [["install", "claude"], 'Did you mean "claude-code" or "claude-desktop"?'],
    [["--log-level", "loud"], "loud"],
    [["--agent", "../x", "tools", "list"], "not an agent id"],
    [["call"], "Which tool?"],
    [["call", "memory_get", "{half"], "not JSON"],
    [["tools", "schema", "memory_gte"], 'Did you mean "memory_get"?'],
    [["policy", "tell"], "explain"],
    [["serve", "--port", "99999"], "not a port"],
  ])("%j is a usage error that says what to do", async (args, message) => {
    const result = await runCli(args, await sandbox());
    expect(result.code).toBe(2);
    expect(result.stdout).toBe("");
    expect(result.stderr).toContain(message);
  });

  test("a flag that a command doesn't know stops it before it does anything", async () => {
    const box = await sandbox();
    expect((await runCli(["install", "cursor"], box)).code).toBe(0);
    const refused = await runCli(["uninstall", "cursor", "--print"], box);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--dry-run") as unknown });
    expect(await readFile(join(box.home, ".cursor", "mcp.json"), "utf8")).toContain("camel-mcp");
  });

  test.each(Object.keys(SYNTAX).filter((name) => /^\w+$/.test(name)))(
    "%s --help tells every flag it takes",
    async (name) => {
      const page = HELP_PAGES[name] ?? "";
      for (const [key, { flags = [] }] of Object.entries(SYNTAX))
        if (key.split(" ")[0] === name) for (const flag of flags) expect(page).toContain(`--${flag}`);
      expect(page).toMatch(new RegExp(`^camel-mcp ${name}\\b`));
    },
  );

  test("with --json an error is JSON on stdout", async () => {
    const box = await sandbox();
    for (const args of [
      ["init", "--scope", "x"],
      ["tools", "info", "nope"],
      ["token", "revoke", "nope"],
    ]) {
      const { stdout, code } = await runCli([...args, "--json"], box);
      expect(code).not.toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ error: { message: expect.any(String) as unknown } });
    }
  });

  test("a reader that leaves early gets no trace on stderr", async () => {
    const box = await sandbox();
    const child = spawn(process.execPath, [CLI, "init", "--print"], {
      cwd: box.workspace,
      env: { PATH: process.env["PATH"], HOME: box.home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    const [stderr, exit] = await Promise.all([text(child.stderr), once(child, "exit")]);
    expect({ stderr, exit }).toEqual({ stderr: "", exit: [0, null] });
  });

  test("a setting that is empty in the environment is not set: the workspace never becomes the state directory", async () => {
    const box = await sandbox({ "workspace/config.yaml": "tools: { deny: [cron] }\n" });
    const { stdout } = await runCli(["tools", "list"], box, { env: { CAMELAGI_HOME: "", CAMEL_CONFIG: "" } });
    expect(stdout).toMatch(/^cron\b/m);
  });

  test.skipIf(process.platform === "win32")("a folder that is gone is told in words", async () => {
    const box = await sandbox();
    const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$1" tools list';
    const child = spawn("/bin/sh", ["-c", script, process.execPath, CLI], {
      cwd: box.workspace,
      env: { PATH: process.env["PATH"], HOME: box.home },
      stdio: ["ignore", "ignore", "pipe"],
    });
    expect(await text(child.stderr)).toContain("The folder this was started in is gone.");
  });

  test("every setting can be given by flag or by its environment name", async () => {
    const box = await sandbox({
      "other/MEMORY.md": "other\n",
      "elsewhere/config.yaml": "tools: { deny: [cron] }\n",
      "home/agents/alice/MEMORY.md": "alice\n",
    });
    const get = ["call", "memory_get", '{"filePath":"MEMORY.md"}'];
    expect((await runCli([...get, "--workspace", "../other"], box)).stdout).toBe("1: other\n");
    expect((await runCli(get, box, { env: { CAMEL_WORKSPACE: "../other" } })).stdout).toBe("1: other\n");
    expect((await runCli(get, box, { env: { CAMEL_MEMORY_ROOT: "../other" } })).stdout).toBe("1: other\n");
    expect((await runCli([...get, "--memory-root", "../other"], box)).stdout).toBe("1: other\n");
    expect((await runCli([...get, "--agent", "alice"], box)).stdout).toBe("1: alice\n");
    expect((await runCli(get, box, { env: { CAMELAGI_AGENT: "alice" } })).stdout).toBe("1: alice\n");
    const listed = await runCli(["tools", "list"], box, {
      env: { CAMEL_CONFIG: "../elsewhere/config.yaml" },
    });
    expect(listed.stdout).not.toMatch(/^cron\b/m);
    const missing = await runCli(["tools", "list", "--config", "none.yaml"], box);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("no such file");
  });
});

describe("call", () => {
  test("takes arguments from a word, a file or stdin; exit 1 for an error result", async () => {
    const box = await sandbox({
      "workspace/MEMORY.md": "one\n",
      "workspace/args.json": '{"filePath":"MEMORY.md"}',
    });
    expect((await runCli(["call", "memory_get", "@args.json"], box)).stdout).toBe("1: one\n");
    expect(
      (await runCli(["call", "memory_get", "-"], box, { stdin: '{"filePath":"MEMORY.md"}' })).stdout,
    ).toBe("1: one\n");
    const failed = await runCli(["call", "memory_get", '{"filePath":"x"}', "--json"], box);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({ isError: true, code: "path_outside_root" });
  });
});

describe("policy explain", () => {
  test("names the decision, the rule and the line's file; the exit code tells them apart", async () => {
    const box = await sandbox({
      "home/config.yaml":
        "rules:\n  - { tool: memory_get, path: 'memory/private/**', decision: deny, reason: private }\n  - { tool: memory_get, path: 'memory/plans/**', decision: ask }\nscopes:\n  - match: { agent: guest }\n    tools: { deny: [cron] }\n",
    });
    const explain = (filePath: string): ReturnType<typeof runCli> =>
      runCli(["policy", "explain", "memory_get", JSON.stringify({ filePath })], box);
    const denied = await explain("memory/private/x.md");
    expect(denied.code).toBe(4);
    expect(denied.stdout).toMatch(/deny: rules\[0\].*private[\s\S]*decided by: .*config\.yaml:2\n/);
    const asked = await explain("memory/plans/x.md");
    expect(asked.code).toBe(3);
    expect(asked.stdout).toContain("config.yaml:3\n");
    const guest = await runCli(["policy", "explain", "cron", '{"action":"list"}', "--agent", "guest"], box);
    expect(guest.stdout).toContain("config.yaml:6 (scopes[0])");
    expect((await explain("MEMORY.md")).code).toBe(0);
    const json = await runCli(["policy", "explain", "memory_get", '{"filePath":"MEMORY.md"}', "--json"], box);
    expect(JSON.parse(json.stdout)).toMatchObject({ decision: "allow", tool: "memory_get" });
  });
});

describe("token and serve", () => {
  test("a token is shown once, stored hashed, listed and revoked; serve takes it and stops on a signal", async () => {
    const box = await sandbox();
    const made = JSON.parse(
      (await runCli(["token", "create", "--agent", "alice", "--json"], box)).stdout,
    ) as {
      id: string;
      token: string;
    };
    const listed = await runCli(["token", "list"], box);
    expect(listed.stdout).toContain(made.id);
    expect(listed.stdout).not.toContain(made.token);

    const child = spawn(process.execPath, [CLI, "serve", "--port", "0", "--json", "--home", box.home], {
      cwd: box.workspace,
      env: { PATH: process.env["PATH"] },
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    const { url } = JSON.parse(line) as { url: string };
    const status = async (token: string): Promise<number> => {
      const answer = await fetch(url, {
        method: "POST",
        headers: {
          Authorization: `Bearer ${token}`,
          "Content-Type": "application/json",
          Accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: {
            protocolVersion: "2025-06-18",
            capabilities: {},
            clientInfo: { name: "t", version: "1" },
          },
        }),
      });
      await answer.text();
      return answer.status;
    };
    expect(await status(made.token)).toBe(200);
    const revoked = await runCli(["token", "revoke", made.id, "--json"], box);
    expect(JSON.parse(revoked.stdout)).toEqual({ revoked: made.id, isLast: true });
    expect(await status(made.token)).toBe(401);
    expect((await runCli(["token", "revoke", made.id], box)).code).toBe(1);
    child.kill("SIGTERM");
    const [code] = (await once(child, "exit")) as [number | null];
    expect(code).toBe(0);
  });

  test("two shells that make tokens at once lose none", async () => {
    const box = await sandbox();
    await Promise.all(
      Array.from({ length: 8 }, (_, index) => runCli(["token", "create", "--agent", `a${index}`], box)),
    );
    const { stdout } = await runCli(["token", "list", "--json"], box);
    expect((JSON.parse(stdout) as unknown[]).length).toBe(8);
  });

  test("a port that is taken is said so", async () => {
    const box = await sandbox();
    const child = spawn(process.execPath, [CLI, "serve", "--port", "0", "--json", "--home", box.home], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    const { port } = new URL((JSON.parse(line) as { url: string }).url);
    const second = await runCli(["serve", "--port", port], box);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/EADDRINUSE[\s\S]*Choose another --port/);
  });
});

test.each([
  ["call", "memory_get", '{"filePath":"MEMORY.md"}'],
  ["checkpoint", "list"],
  ["cron", "list"],
  ["memory", "get", "MEMORY.md"],
  ["patch", "-"],
])("%s inside a job's run is part of that run: a scope for runs holds", async (...words) => {
  const box = await sandbox({
    "home/config.yaml": 'scopes: [{ match: { depth: 1 }, tools: { deny: ["*"] } }]\n',
    "workspace/MEMORY.md": "Tea.\n",
  });
  const stdin = "*** Begin Patch\n*** Add File: a.txt\n+a\n*** End Patch\n";
  const outside = await runCli(words, box, { stdin });
  expect(outside.code, outside.stderr).toBe(0);
  const inside = await runCli(words, box, { stdin, env: { CAMEL_DEPTH: "1" } });
  expect(inside.code).toBe(1);
  expect(inside.stdout + inside.stderr).toContain("denied_by_policy");
});

test("demo walks through every tool that is listed, asks a person, shows refusals, and ends with 0", async () => {
  const result = await runCli(["demo"], await sandbox());
  expect(result.code).toBe(0);
  const listed = result.stdout.split("\n")[1]?.trim().split(", ") ?? [];
  expect(listed).toContain("apply_patch");
  const called = new Set([...result.stdout.matchAll(/^> (\w+) {2}/gm)].map(([, tool = ""]) => tool));
  expect([...called].toSorted()).toEqual(listed.toSorted());
  expect(result.stdout).toMatch(/^\? main \(camel-demo\) wants to call memory_write: write MEMORY\.md$/m);
  expect(result.stdout).toContain("denied_by_policy");
});
