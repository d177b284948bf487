import { spawn } from "node:child_process";
import { chmod, copyFile, readFile, readdir, symlink, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/shared/clock.ts";
import { addKey, loadKeyring } from "../../src/stores/keyring.ts";
import { seal, unseal } from "../../src/stores/sealed.ts";
import { createSealedFolder, rotateKey } from "../../src/stores/sealed-folder.ts";
import { createSecrets } from "../../src/stores/secrets.ts";
import { CLI, call, connect, sandbox, startCamel, type Sandbox } from "../harness.ts";

interface Item {
  value: number;
}

const FOLDERS = [{ folder: "tools", kind: "tool" }];

function optionsFor(box: Sandbox, env: NodeJS.ProcessEnv = {}) {
  return { home: box.home, env, keychain: false, clock: systemClock, folder: "tools", kind: "tool" };
}

const store = (box: Sandbox, env: NodeJS.ProcessEnv = {}) => createSealedFolder<Item>(optionsFor(box, env));

async function filled(count: number): Promise<Sandbox> {
  const box = await sandbox();
  const items = store(box);
  for (let value = 0; value < count; value += 1) await items.change(`item_${value}`, () => ({ value }));
  return box;
}

const echo = (name: string) => ({
  name,
  description: "Says it.",
  strategy: { type: "shell", command_template: "echo {{input}}" },
});

describe("sealed file", () => {
  const key = { id: "0123456789abcdef", bytes: Buffer.alloc(32, 7) };
  const keyOf = (id: string) => (id === key.id ? key : undefined);

  test("gives back what was sealed, and nothing after any change of any bit, name or key", () => {
    const name = { kind: "tool", name: "a_tool" };
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.nat(),
        fc.integer({ min: 0, max: 7 }),
        (plain, at, bit) => {
          const sealed = seal(name, plain, key);
          expect(unseal(name, sealed, keyOf)).toEqual({ plain: Buffer.from(plain) });
          const changed = Buffer.from(sealed);
          const index = at % changed.length;
          changed[index] = (changed[index] ?? 0) ^ (1 << bit);
          expect(unseal(name, changed, keyOf)).toHaveProperty("refused");
          expect(unseal(name, sealed.subarray(0, at % sealed.length), keyOf)).toHaveProperty("refused");
          expect(unseal({ ...name, name: "b_tool" }, sealed, keyOf)).toHaveProperty("refused", "damaged");
          expect(unseal({ ...name, kind: "secret" }, sealed, keyOf)).toHaveProperty("refused", "damaged");
          expect(unseal(name, sealed, () => undefined)).toHaveProperty("refused", "unknown_key");
          expect(unseal(name, sealed, () => ({ ...key, bytes: Buffer.alloc(32, 8) }))).toHaveProperty(
            "refused",
            "damaged",
          );
        },
      ),
    );
  });

  test("a newer format is left alone", () => {
    expect(
      unseal({ kind: "tool", name: "x" }, Buffer.from("camel-sealed 2 whatever\n"), keyOf),
    ).toHaveProperty("refused", "unknown_key");
  });
});

describe("sealed store", () => {
  test("what is stored is unreadable without the key, private, and survives a restart", async () => {
    const box = await filled(3);
    const file = join(box.home, "tools/item_1.tool");
    const bytes = await readFile(file);
    expect(bytes.toString("latin1")).toMatch(/^camel-sealed 1 tool item_1 [0-9a-f]{16} [\w-]{16}\n/);
    expect(bytes.toString("latin1")).not.toContain("value");
    if (process.platform !== "win32") {
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect((await stat(`${box.home}.key`)).mode & 0o777).toBe(0o600);
    }
    expect((await store(box).load()).items.get("item_1")).toEqual({ value: 1 });
    expect((await readdir(join(box.home, "tools"))).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  const flip = (at: (bytes: Buffer) => number) => async (file: string) => {
    const bytes = await readFile(file);
    const index = at(bytes);
    bytes[index] = (bytes[index] ?? 0) ^ 1;
    await writeFile(file, bytes);
  };
  const tampering: Record<string, (file: string, folder: string) => Promise<unknown>> = {
    "a changed byte of the content": flip((bytes) => bytes.indexOf(10) + 3),
    "a changed byte of the tag": flip((bytes) => bytes.length - 1),
    "a changed nonce": flip((bytes) => bytes.indexOf(10) - 2),
    "a changed name in the header": flip((bytes) => bytes.indexOf("item_1") + 5),
    "a cut-off file": async (file) => writeFile(file, (await readFile(file)).subarray(0, -5)),
    "an empty file": (file) => writeFile(file, ""),
    "plain text": (file) => writeFile(file, JSON.stringify({ value: 666 })),
    "another item's file under this name": (file, folder) => copyFile(join(folder, "item_0.tool"), file),
    "an appended byte": async (file) =>
      writeFile(file, Buffer.concat([await readFile(file), Buffer.from("x")])),
    "a header and nothing else": async (file) => {
      const bytes = await readFile(file);
      await writeFile(file, bytes.subarray(0, bytes.indexOf(10) + 1));
    },
  };
  test.each(Object.entries(tampering))("%s is refused and kept aside, the rest works", async (_, tamper) => {
    const box = await filled(3);
    const folder = join(box.home, "tools");
    await tamper(join(folder, "item_1.tool"), folder);
    const items = store(box);
    const { items: found, refused } = await items.load();
    expect([...found.keys()]).toEqual(["item_0", "item_2"]);
    expect(refused).toMatchObject([{ name: "item_1" }]);
    expect(await readdir(join(folder, "refused"))).toHaveLength(1);
    // Another process, or this one after a restart, says so too.
    expect((await store(box).load()).refused).toMatchObject([{ name: "item_1" }]);
    expect(await readdir(folder)).not.toContain("item_1.tool");
    await items.change("item_1", () => ({ value: 9 }));
    expect((await items.load()).items.get("item_1")).toEqual({ value: 9 });
  });

  test("a file under another key is refused, left where it is, and no new key is made over it", async () => {
    const box = await filled(2);
    await rename(`${box.home}.key`, `${box.home}.key.away`);
    const without = store(box);
    const { items, refused } = await without.load();
    expect(items.size).toBe(0);
    expect(refused.map((one) => one.name)).toEqual(["item_0", "item_1"]);
    await expect(without.change("item_2", () => ({ value: 2 }))).rejects.toMatchObject({ code: "damaged" });
    await rename(`${box.home}.key.away`, `${box.home}.key`);
    expect((await without.load()).items.size).toBe(2);
  });

  test("CAMEL_MCP_KEY goes before a passphrase, that before the key file, and all open what they sealed", async () => {
    const box = await filled(1);
    const key = { CAMEL_MCP_KEY: "ab".repeat(32) };
    const passphrase = { CAMEL_MCP_PASSPHRASE: "correct horse" };
    await store(box, passphrase).change("by_phrase", () => ({ value: 1 }));
    await store(box, { ...key, ...passphrase }).change("by_key", () => ({ value: 2 }));
    const sources = await Promise.all(
      [{ ...key, ...passphrase }, passphrase, {}].map(
        async (env) => (await loadKeyring({ ...optionsFor(box), env }, { make: false }))?.source,
      ),
    );
    expect(sources).toEqual(["CAMEL_MCP_KEY", "passphrase", "key file"]);
    expect([...(await store(box, { ...key, ...passphrase }).load()).items.keys()]).toEqual([
      "by_key",
      "by_phrase",
      "item_0",
    ]);
    expect([...(await store(box, passphrase).load()).items.keys()]).toEqual(["by_phrase", "item_0"]);
    expect([...(await store(box, { CAMEL_MCP_PASSPHRASE: "wrong" }).load()).items.keys()]).toEqual([
      "item_0",
    ]);
    await expect(store(box, { CAMEL_MCP_KEY: "short" }).load()).rejects.toMatchObject({
      code: "invalid_config",
    });
  });

  test.skipIf(process.platform === "win32")("a key file that others can read is refused", async () => {
    const box = await filled(1);
    await chmod(`${box.home}.key`, 0o644);
    await expect(store(box).load()).rejects.toMatchObject({ code: "path_forbidden" });
  });

  test("many writers in one process and several stores lose nothing", async () => {
    const box = await sandbox();
    const stores = [store(box), store(box), store(box)];
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        stores[index % 3]!.change("counter", (current) => ({ value: (current?.value ?? 0) + 1 })),
      ),
    );
    expect(await store(box).read("counter")).toEqual({ value: 30 });
  });
});

describe("key rotation", () => {
  const keys = async (box: Sandbox): Promise<string[]> =>
    (JSON.parse(await readFile(`${box.home}.key`, "utf8")) as { keys: { id: string }[] }).keys.map(
      (one) => one.id,
    );

  test("everything is sealed anew, and the old key is forgotten", async () => {
    const box = await filled(4);
    const [old] = await keys(box);
    const running = store(box);
    await running.load();
    const result = await rotateKey({ ...optionsFor(box), folders: FOLDERS });
    expect(result).toMatchObject({ resealed: 4, left: [] });
    expect(await keys(box)).not.toContain(old);
    // A process that ran all the while finds the new key by itself, for reading and for writing.
    expect((await running.load()).items.size).toBe(4);
    await running.change("item_9", () => ({ value: 9 }));
    expect((await store(box).load()).items.size).toBe(5);
  });

  test("interrupted anywhere, nothing is lost and the next rotation finishes it", async () => {
    const box = await filled(3);
    // As after a crash right behind the first step, and behind the first file.
    await addKey(optionsFor(box));
    expect((await store(box).load()).items.size).toBe(3);
    await store(box).change("item_0", (current) => current);
    expect((await store(box).load()).items.size).toBe(3);
    expect(await keys(box)).toHaveLength(2);
    await rotateKey({ ...optionsFor(box), folders: FOLDERS });
    expect(await keys(box)).toHaveLength(1);
    expect((await store(box).load()).items.size).toBe(3);
  });

  test.skipIf(process.platform === "win32")("a file that goes meanwhile stops nothing", async () => {
    const box = await filled(2);
    await symlink("nowhere", join(box.home, "tools/gone.tool"));
    expect(await rotateKey({ ...optionsFor(box), folders: FOLDERS })).toMatchObject({
      resealed: 2,
      left: [],
    });
    expect(await keys(box)).toHaveLength(1);
  });

  test("a key from outside is changed outside", async () => {
    const box = await sandbox();
    const old = { CAMEL_MCP_KEY: "11".repeat(32) };
    const next = { CAMEL_MCP_KEY: "22".repeat(32) };
    await store(box, old).change("item_0", () => ({ value: 0 }));
    await rotateKey({
      ...optionsFor(box, { ...next, CAMEL_MCP_KEY_PREVIOUS: old.CAMEL_MCP_KEY }),
      folders: FOLDERS,
    });
    expect((await store(box, next).load()).items.size).toBe(1);
    expect((await store(box, old).load()).items.size).toBe(0);
  });

  test("kill -9 in the middle of a rotation", async () => {
    const box = await filled(60);
    // The first step replaces the key file, the next ones a file each.
    for (const replaced of [
      `${box.home}.key`,
      join(box.home, "tools/item_0.tool"),
      join(box.home, "tools/item_30.tool"),
    ]) {
      const child = spawn(process.execPath, [CLI, "key", "rotate", "--home", box.home], {
        stdio: "ignore",
        env: { PATH: process.env["PATH"] },
      });
      const exited = new Promise((resolve) => child.once("exit", resolve));
      await untilChanged(replaced, exited);
      child.kill("SIGKILL");
      await exited;
      const { items, refused } = await store(box).load();
      expect([items.size, refused.length]).toEqual([60, 0]);
    }
    await rotateKey({ ...optionsFor(box), folders: FOLDERS });
    expect(await keys(box)).toHaveLength(1);
    expect((await store(box).load()).items.size).toBe(60);
  });
});

/** Waits until a file was replaced, or the process that should do it has ended. */
async function untilChanged(path: string, ended: Promise<unknown>): Promise<void> {
  const before = (await stat(path)).ino;
  let over = false;
  void ended.then(() => (over = true));
  while (
    !over &&
    (await stat(path).then(
      (found) => found.ino,
      () => before,
    )) === before
  )
    await new Promise((resolve) => setImmediate(resolve));
}

describe("secrets", () => {
  test("are set from the shell, used by name, and never shown", async () => {
    const box = await sandbox({ "home/config.yaml": "rules:\n  - { tool: '*', decision: allow }\n" });
    const set = spawn(process.execPath, [CLI, "secret", "set", "token", "--home", box.home], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    const done = new Promise((resolve) => set.once("exit", resolve));
    set.stdin.end("s3cr3t-value\n");
    expect(await done).toBe(0);
    const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
    const definition = {
      name: "use_secret",
      description: "x",
      strategy: { type: "shell", command_template: "env", env: { TOKEN: "Bearer secret://token" } },
    };
    const made = await call(camel, "tool_create", { action: "create", definition });
    expect(made.isError, made.text).toBeUndefined();
    const result = await call(camel, "use_secret", {});
    expect(result.text).toContain("TOKEN=Bearer [secret token]");
    for (const action of ["list", "show", "export", "versions"]) {
      const shown = JSON.stringify(await call(camel, "tool_create", { action, name: "use_secret" }));
      expect(shown, action).not.toContain("s3cr3t");
    }
    expect(
      JSON.stringify(await call(camel, "tool_create", { action: "export", name: "use_secret" })),
    ).toContain("secret://token");
    expect((await readdir(join(box.home, "secrets"))).map((name) => name.replace(/\..*/, ""))).toEqual([
      "token",
    ]);
    const secrets = createSecrets({ ...optionsFor(box) });
    expect(await secrets.names()).toEqual(["token"]);
    await secrets.remove("token");
    expect(await call(camel, "use_secret", {})).toMatchObject({ isError: true, code: "not_found" });
  });

  test("a tool with a secret is asked about, and a value that reads like one is only text", async () => {
    const box = await sandbox();
    const camel = await startCamel(box, { env: { PATH: process.env["PATH"] } });
    await createSecrets(optionsFor(box)).set("token", "s3cr3t-value");
    const definition = {
      ...echo("say_secret"),
      strategy: { type: "shell", command_template: "echo {{input}}", env: { T: "secret://token" } },
    };
    expect(await call(camel, "tool_create", { action: "create", definition })).toMatchObject({
      isError: true,
      code: "approval_required",
    });
    await call(camel, "tool_create", { action: "create", definition: echo("say_it") });
    expect((await call(camel, "say_it", { input: "secret://token" })).text).toBe("secret://token\n");
  });
});

describe("two processes on one home", () => {
  test("both make tools at once, and none is lost", async () => {
    const box = await sandbox();
    const clients = await Promise.all([connect("2.x modern stdio", box), connect("1.x stdio", box)]);
    await Promise.all(
      clients.flatMap((client, which) =>
        Array.from({ length: 8 }, (_, index) =>
          client.callTool({
            name: "tool_create",
            arguments: { action: "create", definition: echo(`tool_${which}_${index}`) },
          }),
        ),
      ),
    );
    for (const client of clients) {
      const { tools } = await client.listTools();
      expect(tools.filter((tool) => /^tool_\d_\d$/.test(tool.name))).toHaveLength(16);
    }
  });

  test("kill -9 while tools are saved leaves whole files only", async () => {
    const box = await sandbox();
    for (let round = 0; round < 3; round += 1) {
      const child = spawn(process.execPath, [CLI, "--home", box.home, "--workspace", box.workspace], {
        stdio: ["pipe", "pipe", "ignore"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      const send = (message: object): void =>
        void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
      send({
        id: 0,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
      });
      send({ method: "notifications/initialized" });
      for (let id = 1; id <= 30; id += 1)
        send({
          id,
          method: "tools/call",
          params: {
            name: "tool_create",
            arguments: { action: "create", definition: echo(`round_${round}_${id}`) },
          },
        });
      // Killed in the middle of it: when a few answers are there.
      await new Promise<void>((resolve) => {
        let answers = 0;
        child.stdout.on("data", (part: Buffer) => {
          answers += part.toString().split("\n").length - 1;
          if (answers > 4 + round * 5) resolve();
        });
      });
      child.kill("SIGKILL");
      await new Promise((resolve) => child.once("exit", resolve));
    }
    const camel = await startCamel(box);
    const listed = await call(camel, "tool_create", { action: "list" });
    const { refused, tools } = listed.structured as { tools: { name: string }[]; refused: unknown[] };
    expect(refused).toEqual([]);
    expect(tools.length).toBeGreaterThanOrEqual(10);
    for (const { name } of tools) expect((await call(camel, name, { input: "x" })).text, name).toBe("x\n");
    // And the store goes on working: nobody waits for the dead process's lock.
    expect(
      (await call(camel, "tool_create", { action: "create", definition: echo("after_all") })).isError,
    ).toBeUndefined();
    await rm(join(box.home, "tools"), { recursive: true });
    expect((await call(camel, "tool_create", { action: "list" })).text).toContain("No tools");
  });
});
