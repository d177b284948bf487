import { chmod, lstat, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import * as nodeFs from "node:fs/promises";
import { dirname, join } from "node:path";
import { parse as parseJsonc } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
import { describe, expect, test } from "vitest";
import { HOST_IDS, hostOf, type Entry, type HostId, type Scope } from "../../src/commands/install/hosts.ts";
import type { Machine } from "../../src/commands/install/machine.ts";
import { register, type Change } from "../../src/commands/install/register.ts";
import { entryFor, type Request } from "../../src/commands/install/request.ts";
import { sandbox } from "../harness.ts";
import { BROKEN, WITH_OTHERS } from "./fixtures.ts";

const REQUEST: Request = { name: "camel", scope: "user", passed: {} };
const HTTP: Request = { ...REQUEST, url: "http://127.0.0.1:7800/mcp", tokenEnv: "CAMEL_TOKEN" };
const CASES = HOST_IDS.flatMap((id) =>
  (["user", "project"] as const)
    .filter((scope) => hostOf(id)[scope] !== undefined)
    .map((scope): [HostId, Scope] => [id, scope]),
);

async function linux(): Promise<Machine> {
  const box = await sandbox();
  return { platform: "linux", env: {}, home: box.home, cwd: box.workspace };
}

const install = (id: HostId, machine: Machine, request: Request = REQUEST): Promise<Change> =>
  register(id, request, entryFor(id, request, machine), machine);
const uninstall = (id: HostId, machine: Machine, request: Request = REQUEST): Promise<Change> =>
  register(id, request, undefined, machine);

function pathOf(id: HostId, scope: Scope, machine: Machine): string {
  const [path] = hostOf(id)[scope]?.(machine) ?? [];
  if (path === undefined) throw new Error(`${id} has no ${scope} file`);
  return path;
}

async function given(path: string, text: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

const read = (path: string): Promise<string> => readFile(path, "utf8");

function dataOf(id: HostId, text: string): Entry {
  const parsers: Record<string, (text: string) => unknown> = {
    json: (json) => parseJsonc(json) as unknown,
    toml: (toml) => parseToml(toml, { integersAsBigInt: "asNeeded" }),
    yaml: (yaml) => parseYaml(yaml) as unknown,
  };
  const data = parsers[hostOf(id).format]?.(text);
  return JSON.parse(
    JSON.stringify(data, (_key, one: unknown) => (typeof one === "bigint" ? String(one) : one)),
  ) as Entry;
}

function serversOf(id: HostId, text: string): Record<string, Entry> {
  const container = dataOf(id, text)[hostOf(id).key];
  return Array.isArray(container)
    ? Object.fromEntries((container as Entry[]).map((one): [string, Entry] => [String(one["name"]), one]))
    : (container as Record<string, Entry>);
}

describe.each(CASES)("%s, %s scope", (id, scope) => {
  const request = { ...REQUEST, scope };

  test("registers beside what is there, twice the same, and out again without a trace", async () => {
    const machine = await linux();
    const before = WITH_OTHERS[id];
    const path = await given(pathOf(id, scope, machine), before);

    expect((await install(id, machine, request)).action).toBe("added");
    const after = await read(path);
    const { camel, ...others } = serversOf(id, after);
    expect(others).toEqual(serversOf(id, before));
    expect(camel).toEqual(entryFor(id, request, machine));
    // Every line of the user's is still there, in order; one may have got a comma.
    const lines = (text: string): string[] => text.replaceAll(",", "").split(/\r?\n/);
    const remaining = lines(after);
    for (const line of before.includes("\n") ? lines(before) : []) {
      const found = remaining.indexOf(line);
      expect(found, `"${line}" in\n${after}`).not.toBe(-1);
      remaining.splice(0, found);
    }

    expect((await install(id, machine, request)).action).toBe("unchanged");
    expect(await read(path)).toBe(after);
    expect(await read(`${path}.camel-backup`)).toBe(before);

    expect((await uninstall(id, machine, request)).action).toBe("removed");
    expect(await read(path)).toBe(before);
    expect((await uninstall(id, machine, request)).action).toBe("absent");
  });

  test.each(["missing", "empty"])("a %s file", async (kind) => {
    const machine = await linux();
    const path = pathOf(id, scope, machine);
    if (kind === "empty") await given(path, "");
    expect((await install(id, machine, request)).action).toBe(kind === "empty" ? "added" : "created");
    const text = await read(path);
    expect(dataOf(id, text)).toEqual({
      ...hostOf(id).newFile,
      [hostOf(id).key]:
        hostOf(id).list === true
          ? [entryFor(id, request, machine)]
          : { camel: entryFor(id, request, machine) },
    });
    expect(text.endsWith("\n")).toBe(true);
    expect((await install(id, machine, request)).action).toBe("unchanged");
    expect(await read(path)).toBe(text);
    await uninstall(id, machine, request);
    expect(Object.keys(serversOf(id, await read(path)) ?? {})).toEqual([]);
  });

  test("a broken file is left alone, and the message says where", async () => {
    const machine = await linux();
    const { text, at } = BROKEN[hostOf(id).format];
    const path = await given(pathOf(id, scope, machine), text);
    for (const change of [install, uninstall]) {
      await expect(change(id, machine, request)).rejects.toMatchObject({
        code: "invalid_config",
        message: expect.stringContaining(`${path}:${at}`) as unknown,
      });
    }
    expect(await read(path)).toBe(text);
    await expect(stat(`${path}.camel-backup`)).rejects.toThrow("ENOENT");
  });

  test("a symlinked file stays a link, its target keeps its mode", async () => {
    const machine = await linux();
    const path = pathOf(id, scope, machine);
    const target = await given(join(machine.home, "dotfiles", "real-file"), WITH_OTHERS[id]);
    await chmod(target, 0o664);
    await mkdir(dirname(path), { recursive: true });
    await symlink(target, path);
    await install(id, machine, request);
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
    expect(serversOf(id, await read(target))).toHaveProperty("camel");
    expect((await stat(target)).mode & 0o777).toBe(0o664);
  });

  test("a read-only file is refused", async () => {
    const machine = await linux();
    const path = await given(pathOf(id, scope, machine), WITH_OTHERS[id]);
    await chmod(path, 0o444);
    await expect(install(id, machine, request)).rejects.toMatchObject({
      code: "io_error",
      message: `${path} is read-only. Nothing was changed.`,
    });
    expect(await read(path)).toBe(WITH_OTHERS[id]);
  });

  test("from stdio to HTTP and back, keeping what the user added", async () => {
    const machine = await linux();
    const path = pathOf(id, scope, machine);
    const overHttp = { ...HTTP, scope };
    await install(id, machine, request);
    await install(id, machine, overHttp);
    expect(serversOf(id, await read(path))["camel"]).toEqual(entryFor(id, overHttp, machine));
    expect(await read(path)).not.toContain('"npx" "-y" "camel-mcp"');
    await install(id, machine, request);
    expect(serversOf(id, await read(path))["camel"]).toEqual(entryFor(id, request, machine));
  });
});

test("what the user added to the entry stays, with its comments", async () => {
  const machine = await linux();
  const path = await given(
    pathOf("gemini", "user", machine),
    `{
  "mcpServers": {
    "camel": {
      "command": "old", // ours
      "env": { "A": "1" }, // the user's
      "trust": true
    }
  }
}
`,
  );
  await install("gemini", machine);
  expect(await read(path)).toBe(`{
  "mcpServers": {
    "camel": {
      "command": "npx", // ours
      "env": { "A": "1" }, // the user's
      "trust": true,
      "args": [
        "-y",
        "camel-mcp"
      ]
    }
  }
}
`);
});

test("a Codex entry is changed in place; its sub-tables and comments stay", async () => {
  const machine = await linux();
  const path = await given(
    pathOf("codex", "user", machine),
    `[mcp_servers.camel] # ours
command = "old" # what it starts
args = [
  "a", # first
]
startup_timeout_sec = 20

[mcp_servers.camel.tools.apply_patch]
approval_mode = "approve"

[tui]
theme = "dark"
`,
  );
  await install("codex", machine);
  const after = `[mcp_servers.camel] # ours
command = "npx" # what it starts
args = [ "-y", "camel-mcp" ]
startup_timeout_sec = 20

[mcp_servers.camel.tools.apply_patch]
approval_mode = "approve"

[tui]
theme = "dark"
`;
  expect(await read(path)).toBe(after);
  await uninstall("codex", machine);
  expect(await read(path)).toBe(`[tui]\ntheme = "dark"\n`);
});

const CODEX_ENTRY = `[mcp_servers.camel]\ncommand = "npx"\nargs = [ "-y", "camel-mcp" ]\n`;

test.each([
  ['mcp_servers = { other = { command = "x" } } # all\na = 1\n', "other", undefined],
  ["mcp_servers = {}\n", undefined, undefined],
  ['mcp_servers = { camel = { command = "old" }, other = { command = "x" } }\n', "other", undefined],
  ['mcp_servers = { camel.command = "old", camel.cwd = "/x" }\n', undefined, undefined],
  ['mcp_servers.other.command = "x"\n', "other", `\n${CODEX_ENTRY}`],
  ['mcp_servers.camel.command = "old" # c\nmodel = "m"\n', undefined, `model = "m"\n\n${CODEX_ENTRY}`],
  ['[mcp_servers]\n  camel.command = "old"\n  other.command = "x"\n', "other", `\n${CODEX_ENTRY}`],
  ['[mcp_servers]\ncamel = { command = "old" }\nother = { command = "x" }\n', "other", `\n${CODEX_ENTRY}`],
  ['[mcp_servers.camel.env]\nA = "1"\n', undefined, `${CODEX_ENTRY}\n[mcp_servers.camel.env]\nA = "1"\n`],
  ["big = 9223372036854775807\n", undefined, `\n${CODEX_ENTRY}`],
])("Codex may write its servers as %j", async (before, other, end) => {
  const machine = await linux();
  const path = await given(pathOf("codex", "user", machine), before);
  await install("codex", machine);
  const text = await read(path);
  expect(serversOf("codex", text)["camel"]).toMatchObject({ command: "npx", args: ["-y", "camel-mcp"] });
  if (end !== undefined) expect(text.slice(-end.length)).toBe(end);
  expect((await install("codex", machine)).action).toBe("unchanged");
  await uninstall("codex", machine);
  expect(Object.keys(serversOf("codex", await read(path)) ?? {})).toEqual(other === undefined ? [] : [other]);
  if (!before.includes("camel")) expect(await read(path)).toBe(before);
});

test.each<[HostId, string]>([
  ["gemini", '{ "theme": "dark" }'],
  ["gemini", "// mine\n"],
  ["codex", "model = 1"],
  ["goose", "model: x # mine"],
  ["continue", "name: x\n"],
])("%s: out again, %j has no empty rest of ours", async (id, before) => {
  const machine = await linux();
  const path = await given(pathOf(id, "user", machine), before);
  await install(id, machine);
  await install(id, machine, HTTP);
  await uninstall(id, machine);
  expect(await read(path)).toBe(before);
});

test("a file that was changed since keeps what came in", async () => {
  const machine = await linux();
  const path = await given(pathOf("gemini", "user", machine), '{\n  "theme": "dark"\n}\n');
  await install("gemini", machine);
  await writeFile(path, (await read(path)).replace("dark", "light"));
  await uninstall("gemini", machine);
  expect(await read(path)).toBe('{\n  "theme": "light",\n  "mcpServers": {}\n}\n');
});

test("what can't be edited is left alone, and nothing is said about lines that aren't there", async () => {
  const machine = await linux();
  const text = "base: &b {cmd: x}\nextensions: {camel: *b}\n";
  const path = await given(pathOf("goose", "user", machine), text);
  await expect(install("goose", machine)).rejects.toMatchObject({
    code: "invalid_config",
    message: `${path}: it is written in a way that can't be edited safely. The file was left alone.`,
    next: expect.stringContaining("--print") as unknown,
  });
  expect(await read(path)).toBe(text);
});

test.each<[HostId, string, Entry]>([
  ["goose", "extensions:\n  camel:\n    cmd: old\n    timeout: 20\n", { cmd: "npx", timeout: 20 }],
  ["copilot", '{"mcpServers":{"camel":{"tools":["memory_get"]}}}', { command: "npx", tools: ["memory_get"] }],
])("%s: a limit that the user set isn't lifted", async (id, text, expected) => {
  const machine = await linux();
  const path = await given(pathOf(id, "user", machine), text);
  await install(id, machine);
  expect(serversOf(id, await read(path))["camel"]).toMatchObject(expected);
});

test("header look-alikes inside strings are not headers", async () => {
  const machine = await linux();
  const text = `note = """\n[mcp_servers.camel]\ncommand = "no"\n"""\n`;
  const path = await given(pathOf("codex", "user", machine), text);
  await install("codex", machine);
  expect((await read(path)).startsWith(text)).toBe(true);
  await uninstall("codex", machine);
  expect(await read(path)).toBe(text);
});

test("the backup holds the file before the first change, whatever follows", async () => {
  const machine = await linux();
  const path = await given(pathOf("cursor", "user", machine), WITH_OTHERS.cursor);
  const first = await install("cursor", machine);
  expect(first.backup).toBe(`${path}.camel-backup`);
  const second = await install("cursor", machine, HTTP);
  expect(second.backup).toBeUndefined();
  expect(await read(`${path}.camel-backup`)).toBe(WITH_OTHERS.cursor);
});

test.each([
  ["ENOSPC", "the disk is full"],
  ["EROFS", "the disk is read-only"],
  ["EACCES", "permission denied"],
])("%s while writing: the old file stays whole, the message says why", async (code, why) => {
  const machine = await linux();
  const path = await given(pathOf("zed", "user", machine), WITH_OTHERS.zed);
  const fs = {
    ...nodeFs,
    open: () => Promise.reject(Object.assign(new Error(code), { code })),
  };
  const entry = entryFor("zed", REQUEST, machine);
  await expect(register("zed", REQUEST, entry, machine, { fs })).rejects.toMatchObject({
    code: "io_error",
    message: `Can't write ${path}: ${why}. Nothing was changed.`,
  });
  expect(await read(path)).toBe(WITH_OTHERS.zed);
});

test("a host that writes its file meanwhile loses nothing", async () => {
  const machine = await linux();
  const path = await given(pathOf("claude-code", "user", machine), WITH_OTHERS["claude-code"]);
  let reads = 0;
  const fs = {
    ...nodeFs,
    readFile: (async (...args: Parameters<typeof nodeFs.readFile>) => {
      const content = await nodeFs.readFile(...args);
      // Behind the second look (the plan inside the lock) and before the third (the last check).
      if (++reads === 2) await writeFile(path, WITH_OTHERS["claude-code"].replace("12", "13"));
      return content;
    }) as typeof nodeFs.readFile,
  };
  await register("claude-code", REQUEST, entryFor("claude-code", REQUEST, machine), machine, { fs });
  expect(reads).toBeGreaterThan(3);
  const data = dataOf("claude-code", await read(path));
  expect(data["numStartups"]).toBe(13);
  expect(data["mcpServers"]).toHaveProperty("camel");
});

test("ten at once, each with a name of its own: all are there", async () => {
  const machine = await linux();
  const path = await given(pathOf("cursor", "user", machine), WITH_OTHERS.cursor);
  const names = Array.from({ length: 10 }, (_, index) => `camel${index}`);
  await Promise.all(names.map((name) => install("cursor", machine, { ...REQUEST, name })));
  expect(Object.keys(serversOf("cursor", await read(path))).toSorted()).toEqual([...names, "linear"]);
});

test("opencode.jsonc is used where it is the one that exists", async () => {
  const machine = await linux();
  const path = await given(join(machine.cwd, "opencode.jsonc"), WITH_OTHERS.opencode);
  const change = await install("opencode", machine, { ...REQUEST, scope: "project" });
  expect(change.file.path).toBe(path);
});

test("a container of the wrong kind is left alone", async () => {
  const machine = await linux();
  const path = await given(pathOf("cursor", "user", machine), `{ "mcpServers": [] }`);
  await expect(install("cursor", machine)).rejects.toThrow(`${path}: "mcpServers" is not a map.`);
});

test("the token is never written, only its variable's name", async () => {
  const machine: Machine = { platform: "linux", env: { CAMEL_TOKEN: "camel_secret" }, home: "/h", cwd: "/p" };
  for (const id of HOST_IDS) {
    const text = JSON.stringify(entryFor(id, HTTP, machine));
    expect(text).toContain("CAMEL_TOKEN");
    expect(text).not.toContain("camel_secret");
  }
});
