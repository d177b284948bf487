import { chmod, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkNode } from "../../src/commands/doctor/checks.ts";
import { CLI, runCli, sandbox, startHttp, type Sandbox } from "../harness.ts";

interface Finding {
  check: string;
  status: string;
  says: string;
  remedy?: string;
}

async function examine(
  box: Sandbox,
  args: readonly string[] = [],
): Promise<{ code: number | null; of: (check: string) => Finding[] }> {
  const { code, stdout } = await runCli(["doctor", "--json", ...args], box);
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  expect(ok).toBe(code === 0);
  for (const one of findings) expect(one.status === "ok" || one.remedy !== undefined, one.says).toBe(true);
  return { code, of: (check) => findings.filter((one) => one.check === check) };
}

/** A port that nobody else uses now, so that a server on the default one doesn't matter. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

test("a fresh installation: nothing fails, no trace is left", async () => {
  const box = await sandbox();
  const before = await readdir(box.home);
  const { code, stdout } = await runCli(["doctor"], box);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ok {4}node {7}Node /m);
  expect(stdout).toMatch(/^warn {2}hosts {6}registered in no host\n {17}camel-mcp install --list/m);
  expect(await readdir(box.home)).toEqual(before);
});

test("Node's age", () => {
  expect(checkNode("20.19.0")[0]?.status).toBe("ok");
  expect(checkNode("24.1.0")[0]?.status).toBe("ok");
  expect(checkNode("20.18.3")[0]).toMatchObject({ status: "fail" });
  expect(checkNode("18.20.0")[0]?.remedy).toContain("20.19");
});

test("a broken config is shown with file, line and column; the other checks go on", async () => {
  const box = await sandbox({ "home/config.yaml": "tools:\n  alow: []\n" });
  const { code, of } = await examine(box);
  expect(code).toBe(1);
  expect(of("config")).toMatchObject([
    { status: "fail", says: expect.stringContaining(`${join(box.home, "config.yaml")}:2:3:`) as unknown },
  ]);
  expect(of("stores")).toMatchObject([{ status: "ok" }]);
});

test("what a workspace file may not have is a warning", async () => {
  const box = await sandbox({ "workspace/.camelagi/config.yaml": "http: { port: 1 }\n" });
  const { code, of } = await examine(box);
  expect(code).toBe(0);
  expect(of("config").map((one) => one.status)).toEqual(["ok", "warn"]);
});

test("the policy is summed up, and an empty one is a warning", async () => {
  const box = await sandbox({
    "home/config.yaml": "autonomy: { level: readonly }\ntools: { deny: ['*'] }\n",
  });
  expect((await examine(box)).of("policy")).toMatchObject([
    {
      status: "warn",
      says: expect.stringMatching(/main sees 0 tools .*autonomy readonly.*1 denied/) as unknown,
    },
  ]);
});

test("an unfinished patch is found", async () => {
  const box = await sandbox({ "home/checkpoints/open/cp_1.json": "{}" });
  expect((await examine(box)).of("journal")).toMatchObject([
    { status: "warn", says: expect.stringContaining("cp_1.json") as unknown },
  ]);
});

test("a state directory that can't be written to fails", async () => {
  const box = await sandbox({ file: "" });
  const { code, of } = await examine(box, ["--home", join(box.home, "..", "file", "state")]);
  expect(code).toBe(1);
  expect(of("stores")).toMatchObject([{ status: "fail" }]);
});

test("a broken config lets nothing through, and doctor doesn't claim otherwise", async () => {
  const box = await sandbox({ "home/config.yaml": "tools: [" });
  expect((await examine(box)).of("policy")).toMatchObject([
    { status: "fail", says: expect.stringContaining("every call is refused") as unknown },
  ]);
});

test("a policy that names no tool is a warning with the nearest name", async () => {
  const box = await sandbox({
    "home/config.yaml":
      "tools: { deny: [crn, cron, 'memory_*', my_own_thing] }\n" +
      "approvals: { allowlist: ['aply_patch:docs/**', 'cron'] }\nlimits: { tools: [{ tool: memory_gt }] }\n",
  });
  const [, ...more] = (await examine(box)).of("policy");
  expect(more.map(({ status, remedy }) => [status, /"(\w+)"/.exec(remedy ?? "")?.[1]])).toEqual([
    ["warn", "cron"],
    ["warn", "memory_get"],
    ["warn", "apply_patch"],
  ]);
});

test.skipIf(process.platform === "win32")("a config that others can change is a warning", async () => {
  const box = await sandbox({ "home/config.yaml": "" });
  await chmod(join(box.home, "config.yaml"), 0o666);
  expect((await examine(box)).of("stores")).toMatchObject([
    { status: "warn", remedy: expect.stringContaining("chmod go-w") as unknown },
  ]);
});

test("a workspace that was named and isn't there fails", async () => {
  const box = await sandbox();
  expect((await examine(box, ["--workspace", join(box.home, "none")])).of("workspace")).toMatchObject([
    { status: "fail" },
  ]);
});

describe("tokens", () => {
  test("listening to the network without one fails", async () => {
    const box = await sandbox({ "home/config.yaml": `http: { host: 0.0.0.0, port: ${await freePort()} }\n` });
    const { code, of } = await examine(box);
    expect(code).toBe(1);
    expect(of("tokens")).toMatchObject([
      { status: "fail", remedy: expect.stringContaining("token create") as unknown },
    ]);
  });

  test("a file that others can read is a warning, a damaged one fails", async () => {
    const box = await sandbox();
    await runCli(["token", "create"], box);
    expect((await examine(box)).of("tokens")).toMatchObject([{ status: "ok", says: "1 active" }]);
    await chmod(join(box.home, "tokens.json"), 0o644);
    expect((await examine(box)).of("tokens")).toMatchObject([{ status: "warn" }]);
    await box.write("home/tokens.json", "{");
    expect((await examine(box)).of("tokens")).toMatchObject([{ status: "fail" }]);
  });
});

describe("port", () => {
  test("free, taken by another program, taken by our own server", async () => {
    const box = await sandbox();
    const port = await freePort();
    await box.write("home/config.yaml", `http: { port: ${port} }\n`);
    expect((await examine(box)).of("port")).toMatchObject([
      { status: "ok", says: expect.stringContaining("free") as unknown },
    ]);

    const other = createServer((socket) => socket.destroy()).listen(port, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    expect((await examine(box)).of("port")).toMatchObject([{ status: "warn" }]);

    const { url } = await startHttp(box);
    await box.write("home/config.yaml", `http: { port: ${new URL(url).port} }\n`);
    expect((await examine(box)).of("port")).toMatchObject([
      { status: "ok", says: expect.stringContaining("a camel-mcp server answers") as unknown },
    ]);
  });
});

describe("registrations", () => {
  test("found in every kind of file; a build that is gone fails with the command that repairs it", async () => {
    const box = await sandbox();
    const build = await box.write("build/camel-mcp/cli.js", "");
    for (const host of ["codex", "goose", "continue", "opencode"])
      await runCli(["install", host, "--command", `${process.execPath} ${build}`], box);
    await runCli(
      [
        "install",
        "cursor",
        "--scope",
        "project",
        "--name",
        "mine",
        "--command",
        `${process.execPath} ${CLI}`,
      ],
      box,
    );
    await runCli(["install", "zed", "--url", "http://127.0.0.1:1/mcp"], box);
    const ok = await examine(box);
    expect(ok.of("hosts").map((one) => one.status)).toEqual(["ok", "ok", "ok", "ok", "ok"]);

    await rm(build);
    const gone = await examine(box);
    expect(gone.code).toBe(1);
    expect(gone.of("hosts").filter((one) => one.status === "fail")).toHaveLength(4);
    expect(gone.of("hosts").find((one) => one.says.startsWith("Codex"))).toMatchObject({
      says: expect.stringContaining(`${build} is not there`) as unknown,
      remedy: "camel-mcp install codex --name camel",
    });
  });

  test("what `claude mcp add` wrote for this folder is found too", async () => {
    const box = await sandbox();
    const servers = (command: string): string =>
      JSON.stringify({ projects: { [box.workspace]: { mcpServers: { camel: { command } } } } });
    await box.write("home/.claude.json", servers(process.execPath));
    expect((await examine(box)).of("hosts")).toMatchObject([
      { status: "ok", says: expect.stringContaining('"camel" for this folder') as unknown },
    ]);
    await box.write("home/.claude.json", servers("/gone/node"));
    expect((await examine(box)).of("hosts")).toMatchObject([
      { status: "fail", remedy: "claude mcp remove camel -s local" },
    ]);
  });

  test("a host's broken file is a warning", async () => {
    const box = await sandbox({ "home/.codex/config.toml": "x = \n" });
    expect((await examine(box)).of("hosts")).toMatchObject([
      { status: "warn", says: expect.stringContaining("config.toml:1:") as unknown },
    ]);
  });
});
