import { describe, expect, test } from "vitest";
import { HOST_IDS, hostOf } from "../../src/commands/install/hosts.ts";
import type { Machine } from "../../src/commands/install/machine.ts";
import { entryFor, type Request } from "../../src/commands/install/request.ts";

const MACHINES: Record<string, Machine> = {
  linux: { platform: "linux", env: {}, home: "/home/me", cwd: "/work/site" },
  darwin: { platform: "darwin", env: {}, home: "/Users/me", cwd: "/work/site" },
  win32: {
    platform: "win32",
    env: { APPDATA: "C:\\Users\\me\\AppData\\Roaming" },
    home: "C:\\Users\\me",
    cwd: "D:\\work\\site",
  },
};
const REQUEST: Request = { name: "camel", scope: "user", passed: {} };

const machineOf = (name: string): Machine => {
  const machine = MACHINES[name];
  if (machine === undefined) throw new Error(name);
  return machine;
};

test.each(Object.keys(MACHINES))("the files of every host on %s", (name) => {
  const machine = machineOf(name);
  const files = HOST_IDS.map((id) => [id, hostOf(id).user(machine), hostOf(id).project?.(machine) ?? []]);
  expect(files).toMatchSnapshot();
});

test.each(Object.keys(MACHINES))("the entries of every host on %s", (name) => {
  const machine = machineOf(name);
  const url = "https://camel.example.com/mcp";
  const entries = HOST_IDS.map((id) => [
    id,
    entryFor(id, REQUEST, machine),
    entryFor(id, { ...REQUEST, url }, machine),
    entryFor(id, { ...REQUEST, url, tokenEnv: "CAMEL_TOKEN" }, machine),
  ]);
  expect(entries).toMatchSnapshot();
});

describe("the command", () => {
  const linux = machineOf("linux");
  const launch = (request: Partial<Request>, machine = linux): unknown =>
    entryFor("cursor", { ...REQUEST, ...request }, machine);

  test("on Windows npx goes through cmd, a program of one's own doesn't", () => {
    expect(launch({}, machineOf("win32"))).toEqual({
      command: "cmd",
      args: ["/c", "npx", "-y", "camel-mcp"],
    });
    expect(launch({ command: `"C:\\Program Files\\node.exe" cli.js` }, machineOf("win32"))).toEqual({
      command: "C:\\Program Files\\node.exe",
      args: ["cli.js"],
    });
  });

  test("--command with blanks in quotes", () => {
    expect(launch({ command: `node "/my folder/cli.js" --x 'a b'` })).toEqual({
      command: "node",
      args: ["/my folder/cli.js", "--x", "a b"],
    });
  });

  test("flags are handed on; paths become absolute in a user file and stay in a project file", () => {
    const passed = { workspace: "sub", agent: "me" };
    expect(launch({ passed })).toMatchObject({
      args: ["-y", "camel-mcp", "--workspace", "/work/site/sub", "--agent", "me"],
    });
    expect(launch({ passed, scope: "project" })).toMatchObject({
      args: ["-y", "camel-mcp", "--workspace", "sub", "--agent", "me"],
    });
    expect(launch({ passed: { workspace: "${workspaceFolder}" } })).toMatchObject({
      args: ["-y", "camel-mcp", "--workspace", "${workspaceFolder}"],
    });
  });

  test("environment variables move a host's file", () => {
    const env = { CODEX_HOME: "/c", CLAUDE_CONFIG_DIR: "/d", COPILOT_HOME: "/e", XDG_CONFIG_HOME: "/x" };
    const machine = { ...linux, env };
    expect(hostOf("codex").user(machine)).toEqual(["/c/config.toml"]);
    expect(hostOf("claude-code").user(machine)).toEqual(["/d/.claude.json"]);
    expect(hostOf("copilot").user(machine)).toEqual(["/e/mcp-config.json"]);
    expect(hostOf("zed").user(machine)).toEqual(["/x/zed/settings.json"]);
  });
});
