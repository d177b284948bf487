import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
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
        "rules:\n  - { tool: memory_get, path: 'memory/private/**', decision: deny, reason: private }\n  - { tool: memory_get, path: 'memory/plans/**', decision: ask }\n",
    });
    const explain = (filePath: string): ReturnType<typeof runCli> =>
      runCli(["policy", "explain", "memory_get", JSON.stringify({ filePath })], box);
    const denied = await explain("memory/private/x.md");
    expect(denied.code).toBe(4);
    expect(denied.stdout).toMatch(/deny: rules\[0\].*private[\s\S]*decided by: .*config\.yaml/);
    expect((await explain("memory/plans/x.md")).code).toBe(3);
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
    expect((await runCli(["token", "revoke", made.id], box)).code).toBe(0);
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

test("demo walks through the tools and ends with 0", async () => {
  const result = await runCli(["demo"], await sandbox());
  expect(result.code).toBe(0);
  expect(result.stdout).toContain("memory_get");
  expect(result.stdout).toContain("denied_by_policy");
});
