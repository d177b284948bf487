import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { CLI, runCli, sandbox } from "../harness.ts";
import { WITH_OTHERS } from "./fixtures.ts";

/** A few walks through the real process; the matrix of hosts is in install.test.ts. */
const SELF = ["--command", `${process.execPath} ${CLI}`];

test("install, again, dry run, and out again", async () => {
  const box = await sandbox({ "home/.gemini/settings.json": WITH_OTHERS.gemini });
  const file = join(box.home, ".gemini", "settings.json");

  const dry = await runCli(["install", "gemini", "--dry-run"], box);
  expect(dry.code).toBe(0);
  expect(dry.stdout).toContain(`--- ${file}\tbefore\n+++ ${file}\tafter\n`);
  expect(dry.stdout).toMatch(/^\+ {4}"camel": \{$/m);
  expect(await readFile(file, "utf8")).toBe(WITH_OTHERS.gemini);

  expect((await runCli(["install", "gemini"], box)).stdout).toBe(
    `Gemini CLI: registered as "camel" in ${file}.\nThe file as it was: ${file}.camel-backup\n`,
  );
  expect((await runCli(["install", "gemini"], box)).stdout).toBe(
    `Gemini CLI: "camel" in ${file} is already as it should be.\n`,
  );
  const removed = await runCli(["uninstall", "gemini", "--json"], box);
  expect(JSON.parse(removed.stdout)).toMatchObject({
    host: "gemini",
    scope: "user",
    action: "removed",
    file,
  });
  expect(await readFile(file, "utf8")).toBe(WITH_OTHERS.gemini);
});

test("a project's file is readable by all, a new user file only by its owner", async () => {
  const box = await sandbox();
  await runCli(["install", "claude-code", "--scope", "project"], box);
  await runCli(["install", "claude-code"], box);
  const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
  expect(await mode(join(box.workspace, ".mcp.json"))).toBe(0o666 & ~process.umask());
  expect(await mode(join(box.home, ".claude.json"))).toBe(0o600);
});

test("what install writes starts a server that answers", async () => {
  const box = await sandbox({ "workspace/MEMORY.md": "the fact\n" });
  const printed = await runCli(
    ["install", "cursor", "--print", ...SELF, "--workspace", ".", "--home", box.home],
    box,
  );
  const { camel } = (
    JSON.parse(printed.stdout) as { mcpServers: { camel: { command: string; args: string[] } } }
  ).mcpServers;
  const { stdout } = await promisify(execFile)(
    camel.command,
    [...camel.args, "call", "memory_get", '{"filePath":"MEMORY.md"}'],
    { cwd: "/", env: { PATH: process.env["PATH"] } },
  );
  expect(stdout).toBe("1: the fact\n");
});

test("--list says which hosts are here", async () => {
  const box = await sandbox({ "home/.codex/config.toml": "" });
  const { stdout } = await runCli(["install", "--list", "--json"], box, { env: { PATH: "" } });
  const hosts = JSON.parse(stdout) as { id: string; isHere: boolean; files: { exists: boolean }[] }[];
  expect(hosts.filter((host) => host.isHere).map((host) => host.id)).toEqual(["codex"]);
  expect(hosts.find((host) => host.id === "codex")?.files[0]).toEqual({
    scope: "user",
    path: join(box.home, ".codex", "config.toml"),
    exists: true,
  });
  expect((await runCli(["install", "--list"], box)).stdout.split("\n")).toHaveLength(hosts.length + 1);
});

test.each([
  [["install"], "Which host? One of claude-code,"],
  [["install", "clin"], 'Did you mean "cline"?'],
  [["install", "codex", "--scope", "global"], "neither user nor project"],
  [["install", "codex", "--name", "a b"], "--name"],
  [["install", "codex", "--url", "ftp://x"], "not an http or https address"],
  [["install", "codex", "--url", "http://me:secret@x/mcp"], "must hold no secret"],
  [["install", "codex", "--url", "http://x/mcp", "--token-env", "camel_abc-def"], "never the token itself"],
  [["install", "codex", "--token-env", "T"], "goes with --url"],
  [["install", "codex", "--url", "http://x/mcp", "--workspace", "."], "belongs to the server"],
  [["install", "windsurf", "--scope", "project"], "no project file"],
  [["install", "codex", "--command", " "], "--command is empty"],
])("%j is a usage error", async (args, message) => {
  const result = await runCli(args, await sandbox());
  expect(result.code).toBe(2);
  expect(result.stderr).toContain(message);
});

test("a file that doesn't parse is named with line and column", async () => {
  const box = await sandbox({ "workspace/.mcp.json": '{\n  "mcpServers": {,}\n}\n' });
  const result = await runCli(["install", "claude-code", "--scope", "project"], box);
  expect(result.code).toBe(1);
  expect(result.stderr).toContain(`${join(box.workspace, ".mcp.json")}:2:18: not valid JSON`);
  expect(result.stderr).toContain("left alone");
});
