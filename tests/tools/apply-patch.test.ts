import { createHash } from "node:crypto";
import { readFile, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { applyPatch } from "../../src/tools/apply-patch/tool.ts";
import { connect, sandbox, type AnyClient, type Sandbox } from "../harness.ts";

const envelope = (body: string): string => `*** Begin Patch\n${body}*** End Patch\n`;
const UPDATE = "*** Update File: a.txt\n@@\n one\n-two\n+TWO\n";

async function send(client: AnyClient, patch: string, more: Record<string, unknown> = {}) {
  const result = await client.callTool({ name: "apply_patch", arguments: { patch, ...more } });
  return { ...result, text: result.content.map((part) => part.text ?? "").join("") };
}

function box(files: Record<string, string> = {}): Promise<Sandbox> {
  return sandbox({ "workspace/a.txt": "one\ntwo\n", ...files });
}

describe.each(["2.x modern stdio", "2.x modern http", "1.x stdio"] as const)("%s", (kind) => {
  test("applies, and says the same in words and as data", async () => {
    const own = await box({ "workspace/old.txt": "bye\n" });
    const client = await connect(kind, own);
    const patch = envelope(`${UPDATE}*** Add File: d/new.txt\n+hi\n*** Delete File: old.txt\n`);
    const { text, structuredContent, isError } = await send(client, patch);
    expect(isError).not.toBe(true);
    expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("one\nTWO\n");
    expect(await readFile(join(own.workspace, "d/new.txt"), "utf8")).toBe("hi\n");
    expect((await readdir(own.workspace)).sort()).toEqual(["a.txt", "d"]);
    const data = applyPatch.output?.parse(structuredContent) as Record<string, unknown>;
    expect(data).toMatchObject({ applied: true, added: 2, removed: 2, fileCount: 3, diffCut: false });
    expect(data["files"]).toMatchObject([
      { status: "M", path: "a.txt", ranges: ["2-2"] },
      { status: "A", path: "d/new.txt" },
      { status: "D", path: "old.txt" },
    ]);
    for (const part of ["M a.txt (+1 -1) lines 2", "A d/new.txt", "D old.txt", String(data["checkpoint"])])
      expect(text).toContain(part);
    expect(text).toContain(String(data["diff"]));
  });

  test("a failure is complete on either side, and nothing is written", async () => {
    const own = await box();
    const client = await connect(kind, own);
    const patch = envelope("*** Add File: b.txt\n+b\n*** Update File: a.txt\n@@\n one\n-tow\n+TWO\n");
    const { text, structuredContent, isError } = await send(client, patch);
    expect(isError).toBe(true);
    expect(await readdir(own.workspace)).toEqual(["a.txt"]);
    for (const side of [text, JSON.stringify(structuredContent)]) {
      expect(side).toContain("Nothing was written");
      expect(side).toContain("a.txt, hunk 1 (patch line 5)");
      expect(side).toContain("lines 1-2");
      expect(side).toContain("tow");
      expect(side).toContain("send the whole patch again");
    }
  });
});

test("dry_run shows the change and writes nothing, not even a checkpoint", async () => {
  const own = await box();
  const client = await connect("2.x modern stdio", own);
  const { text, structuredContent } = await send(client, envelope(UPDATE), { dry_run: true });
  expect(text).toContain("Dry run: nothing was written");
  expect(applyPatch.output?.parse(structuredContent)).toMatchObject({ applied: false, checkpoint: null });
  expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("one\ntwo\n");
  await expect(readdir(join(own.home, "checkpoints"))).rejects.toThrow("ENOENT");
});

const FORBIDDEN: Record<string, { config?: string; second: string }> = {
  "a sensitive file": { second: "*** Add File: .env\n+KEY=1\n" },
  "a sensitive file as a move's target": { second: "*** Update File: b.txt\n*** Move to: id_rsa\n" },
  "the version control's folder": { second: "*** Add File: .git/hooks/post-commit\n+x\n" },
  "a forbidden path": {
    config: "autonomy:\n  forbiddenPaths: ['**/secret']\n",
    second: "*** Add File: secret/x.txt\n+x\n",
  },
  "a forbidden path by way of a link": {
    config: "autonomy:\n  forbiddenPaths: ['**/secret']\n",
    second: "*** Add File: link/x.txt\n+x\n",
  },
  "a path denied by a rule": {
    config: "rules:\n  - { tool: apply_patch, path: 'gen/**', decision: deny, reason: generated }\n",
    second: "*** Add File: gen/x.txt\n+x\n",
  },
  "a path outside": { second: "*** Add File: ../x.txt\n+x\n" },
};

test.each(Object.entries(FORBIDDEN))(
  "the second file is %s: the first isn't written either",
  async (name, { config, second }) => {
    const own = await box({ "workspace/b.txt": "b\n", "workspace/secret/y.txt": "y\n" });
    if (config !== undefined) await own.write("home/config.yaml", config);
    if (name.endsWith("link")) await symlink("secret", join(own.workspace, "link"));
    const client = await connect("2.x modern stdio", own);
    const before = await readdir(own.workspace, { recursive: true });
    const { text, isError } = await send(client, envelope(UPDATE + second));
    expect(isError).toBe(true);
    expect(text).toMatch(/denied_by_policy|path_outside_root|path_forbidden/);
    expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("one\ntwo\n");
    expect(await readdir(own.workspace, { recursive: true })).toEqual(before);
  },
);

test("readonly autonomy: a dry run works, the real thing is refused", async () => {
  const own = await box({ "home/config.yaml": "autonomy:\n  level: readonly\n" });
  const client = await connect("2.x modern http", own);
  expect((await send(client, envelope(UPDATE), { dry_run: true })).isError).not.toBe(true);
  const refused = await send(client, envelope(UPDATE));
  expect(refused.isError).toBe(true);
  expect(refused.text).toContain("denied_by_policy");
  expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("one\ntwo\n");
});

test("what a dead process left is undone when a server starts, without any call", async () => {
  const own = await box();
  const target = join(own.workspace, "a.txt");
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
  // As after a kill between two renames: the new content has the name, the old one only its backup's.
  const backup = join(own.workspace, ".camel-x-0.old");
  await writeFile(backup, "one\ntwo\n");
  await writeFile(target, "half\n");
  const journal = {
    version: 1,
    id: "x",
    createdAt: "2026-01-01T00:00:00.000Z",
    root: own.workspace,
    directories: [],
    entries: [
      {
        path: target,
        backup,
        staged: join(own.workspace, ".camel-x-0.new"),
        before: { sha256: sha256("one\ntwo\n"), offset: 0, length: 8 },
        after: { sha256: sha256("half\n") },
      },
    ],
  };
  await own.write("home/checkpoints/open/x.json", JSON.stringify(journal));
  await connect("2.x modern stdio", own);
  await expect.poll(() => readFile(target, "utf8"), { timeout: 10_000 }).toBe("one\ntwo\n");
  await expect.poll(() => readdir(own.workspace)).toEqual(["a.txt"]);
});
