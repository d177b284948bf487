import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { call, sandbox, startCamel } from "../harness.ts";

const get = async (
  files: Record<string, string | Uint8Array>,
  args: Record<string, unknown>,
): Promise<{ text: string; code?: string; structured?: Record<string, unknown> }> => {
  const box = await sandbox(files);
  return call(await startCamel(box), "memory_get", args);
};

describe("reading", () => {
  test("lines are numbered as they stand; CRLF, lone CR and a BOM don't show", async () => {
    const result = await get(
      { "workspace/MEMORY.md": "\uFEFFone\r\ntwo\rthree\n\nfive" },
      { filePath: "MEMORY.md" },
    );
    expect(result.text).toBe("1: one\n2: two\n3: three\n4:\n5: five");
    expect(result.structured).toMatchObject({ from: 1, count: 5, totalLines: 5 });
  });

  test("from and lines take a part and say where to go on", async () => {
    const file = { "workspace/memory/a.md": "1\n2\n3\n4\n5\n" };
    const part = await get(file, { filePath: "memory/a.md", from: 2, lines: 2 });
    expect(part.text).toBe("2: 2\n3: 3");
    expect(part.structured).toMatchObject({ from: 2, count: 2, nextFrom: 4 });
    expect((await get(file, { filePath: "memory/a.md", from: 9 })).text).toContain("has 5 lines");
    expect((await get(file, { filePath: "memory/a.md", from: 0 })).code).toBe("invalid_input");
    expect((await get(file, { filePath: "memory/a.md", from: null, lines: null })).text).toContain("5: 5");
  });

  test.each(["./memory/a.md", "memory//a.md", "memory/./a.md", ".//memory/.//a.md", "memory\\a.md"])(
    "%j is memory/a.md",
    async (filePath) => {
      const found = await get({ "workspace/memory/a.md": "x" }, { filePath });
      expect(found).toMatchObject({ text: "1: x", structured: { filePath: "memory/a.md" } });
    },
  );

  test("a lower-case memory.md is read too, and an empty file says so", async () => {
    expect((await get({ "workspace/memory.md": "low\n" }, { filePath: "memory.md" })).text).toBe("1: low");
    expect((await get({ "workspace/MEMORY.md": "" }, { filePath: "MEMORY.md" })).text).toContain("empty");
  });

  test("a huge file costs what is asked for", async () => {
    const line = `${"x".repeat(99)}\n`;
    const result = await get(
      { "workspace/memory/big.md": line.repeat(300_000) },
      { filePath: "memory/big.md", from: 250_000, lines: 1 },
    );
    expect(result.text).toBe(`250000: ${"x".repeat(99)}`);
  });

  test("a missing file names those that exist; bytes that aren't text are refused", async () => {
    const missing = await get(
      { "workspace/memory/there.md": "x", "workspace/memory-old/a.md": "x", "workspace/memory.old.md": "x" },
      { filePath: "memory/here.md" },
    );
    expect(missing.code).toBe("not_found");
    expect(missing.text).toContain("Existing files: memory/there.md.");
    const invalid = await get(
      { "workspace/memory/b.md": Uint8Array.from([0x61, 0xff, 0x62]) },
      { filePath: "memory/b.md" },
    );
    expect(invalid.code).toBe("not_text");
    const zero = await get(
      { "workspace/memory/b.md": Uint8Array.from([0x61, 0]) },
      { filePath: "memory/b.md" },
    );
    expect(zero.code).toBe("not_text");
  });
});

describe("nothing else can be read", () => {
  test.each([
    "notes.md",
    "memory/../secret.md",
    "memory/../../workspace-sibling/x.md",
    "../workspace/MEMORY.md",
    "memory/a/../../secret.md",
    "/etc/passwd",
    "memory\\..\\secret.md",
    "memory/",
    "memory",
    "",
    "memory/.hidden.md",
    "memory-private/x.md",
    "MEMORY.md/../secret.md",
    "memory/\0.md",
    "file:///etc/passwd",
    "//memory/a/x.md",
    `memory/${"x".repeat(300)}.md`,
    `memory/${"x/".repeat(5_000)}a.md`,
    "~/x",
  ])("%j is refused", async (filePath) => {
    const result = await get(
      {
        "workspace/secret.md": "SECRET",
        "workspace/notes.md": "SECRET",
        "workspace/memory/a/x.md": "x",
        "workspace/memory/.hidden.md": "SECRET",
        "workspace/memory-private/x.md": "SECRET",
        "workspace-sibling/x.md": "SECRET",
      },
      { filePath },
    );
    expect(result.code).toMatch(/path_|invalid_input|not_a_file|denied_by_policy/);
    expect(result.text).not.toContain("SECRET");
  });

  test("links out of the memory are refused, of files and of folders, and a pipe doesn't hang", async () => {
    const box = await sandbox({ "workspace/secret.md": "SECRET", "outside/x.md": "SECRET" });
    const memory = join(box.workspace, "memory");
    await mkdir(memory);
    await symlink("../secret.md", join(memory, "link.md"));
    await symlink(join(box.workspace, "../outside"), join(memory, "folder"));
    await symlink("loop.md", join(memory, "loop.md"));
    execFileSync("mkfifo", [join(memory, "pipe.md")]);
    const camel = await startCamel(box);
    for (const filePath of ["memory/link.md", "memory/folder/x.md", "memory/loop.md", "memory/pipe.md"]) {
      const result = await call(camel, "memory_get", { filePath });
      expect(result.isError, filePath).toBe(true);
      expect(result.text).not.toContain("SECRET");
    }
  });

  test("each agent reads its own memory; a strange agent id reads none", async () => {
    const box = await sandbox({
      "workspace/MEMORY.md": "of main\n",
      "home/agents/alice/MEMORY.md": "of alice\n",
      "home/agents/bob/MEMORY.md": "of bob\n",
    });
    const camel = await startCamel(box);
    const read = async (agentId: string, filePath = "MEMORY.md"): Promise<string> =>
      (await call(camel, "memory_get", { filePath }, { agentId })).text;
    expect(await read("main")).toContain("of main");
    expect(await read("alice")).toContain("of alice");
    expect(await read("bob")).toContain("of bob");
    expect(await read("alice", "memory/../../bob/MEMORY.md")).toContain("path_outside_root");
    expect(await read("../bob")).toContain("not an agent id");
    await writeFile(join(box.home, "config.yaml"), "");
    expect(await read("nobody")).toContain("not_found");
  });
});
