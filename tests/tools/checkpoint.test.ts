import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkpoint as checkpointTool } from "../../src/tools/checkpoint/tool.ts";
import { readTree } from "../apply-patch/tree.ts";
import { call, connect, runCli, sandbox, startCamel, type AnyClient, type Sandbox } from "../harness.ts";

const envelope = (body: string): string => `*** Begin Patch\n${body}*** End Patch\n`;
const update = (name: string, from: string, to: string): string =>
  `*** Update File: ${name}\n@@\n-${from}\n+${to}\n`;

type Data = Record<string, unknown> & { checkpoint?: string | null };

async function send(
  client: AnyClient,
  name: string,
  args: Record<string, unknown>,
): Promise<{ text: string; data: Data; isError: boolean }> {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
  return {
    text: content.map(({ text }) => text ?? "").join("\n"),
    data: structuredContent as Data,
    isError: isError === true,
  };
}

const FORTY = Array.from({ length: 40 }, (_, i) => i);

function fortyFiles(): { box: Record<string, string>; patch: string } {
  const box: Record<string, string> = {};
  let patch = "";
  for (const i of FORTY) {
    const name = `d${i % 4}/f${i}.txt`;
    if (i % 4 === 3) patch += `*** Add File: new/${name}\n+fresh ${i}\n`;
    else {
      box[`workspace/${name}`] = `head\nold ${i}\n`;
      patch += i % 4 === 2 ? `*** Delete File: ${name}\n` : update(name, `old ${i}`, `new ${i}`);
    }
  }
  return { box, patch: envelope(patch) };
}

test.each(["2.x modern stdio", "1.x stdio", "2.x legacy http", "1.x sse"] as const)(
  "%s: a 40-file patch is undone as one, and the undo too, and that too",
  async (kind) => {
    const { box: files, patch } = fortyFiles();
    const own = await sandbox(files);
    const client = await connect(kind, own);
    const before = await readTree(own.workspace);
    const { data: applied } = await send(client, "apply_patch", { patch });
    const after = await readTree(own.workspace);
    expect(after).not.toEqual(before);
    let id = applied.checkpoint;
    for (const expected of [before, after, before]) {
      const { text, data, isError } = await send(client, "checkpoint", { action: "restore", id });
      expect(isError).toBe(false);
      expect(checkpointTool.output?.parse(data)).toMatchObject({ action: "restore", id, fileCount: 40 });
      expect(text).toContain(String(data.checkpoint));
      expect(await readTree(own.workspace)).toEqual(expected);
      id = data.checkpoint;
    }
  },
);

describe("through one client", () => {
  async function changed(
    files: Record<string, string> = {},
  ): Promise<{ own: Sandbox; client: AnyClient; id: string }> {
    const own = await sandbox({ "workspace/a.txt": "one\ntwo\n", "workspace/b.txt": "bee\n", ...files });
    const client = await connect("2.x modern stdio", own);
    const { data } = await send(client, "apply_patch", {
      patch: envelope(update("a.txt", "two", "TWO") + update("b.txt", "bee", "BEE")),
    });
    return { own, client, id: String(data.checkpoint) };
  }

  test("lists newest first, by path, and finds a checkpoint by its call's id", async () => {
    const { own, client, id } = await changed();
    const second = await send(client, "apply_patch", { patch: envelope("*** Add File: d/c.txt\n+c\n") });
    const { text, data } = await send(client, "checkpoint", { action: "list" });
    const all = data["checkpoints"] as { id: string; callId: string; files: unknown[] }[];
    expect(all.map((one) => one.id)).toEqual([second.data.checkpoint, id]);
    expect(all[1]).toMatchObject({ tool: "apply_patch", agent: "main", root: own.workspace, fileCount: 2 });
    expect(text).toContain("M a.txt, M b.txt");
    const filtered = await send(client, "checkpoint", { action: "list", path: "d", limit: 5 });
    expect((filtered.data["checkpoints"] as { id: string }[]).map((one) => one.id)).toEqual([
      second.data.checkpoint,
    ]);
    await send(client, "checkpoint", { action: "restore", id: all[1]?.callId });
    expect(await readTree(own.workspace)).toEqual({
      "a.txt": "one\ntwo\n",
      "b.txt": "bee\n",
      "d/c.txt": "c\n",
    });
  });

  test("shows what changed since, within bounds, the same on both sides", async () => {
    const { own, client, id } = await changed();
    await writeFile(join(own.workspace, "b.txt"), "mine\n");
    const { text, data } = await send(client, "checkpoint", { action: "show", id });
    for (const part of ["-two", "+TWO", "-bee", "+mine", "--- then/a.txt", "+++ now/a.txt"]) {
      expect(text).toContain(part);
      expect(data["diff"]).toContain(part);
    }
    expect(data["files"]).toEqual([
      { path: "a.txt", status: "M", changedSince: false },
      { path: "b.txt", status: "M", changedSince: true },
    ]);
    await writeFile(join(own.workspace, "a.txt"), Buffer.alloc(2_000_000, "x\n"));
    await writeFile(join(own.workspace, "b.txt"), Buffer.from([0, 1, 2]));
    const large = await send(client, "checkpoint", { action: "show", id });
    expect(large.text).toContain("a.txt: too large to compare line by line");
    expect(large.text).toContain("b.txt: binary");
    // More than is shown, and little enough to be compared in time on a busy machine.
    await writeFile(join(own.workspace, "a.txt"), Array.from({ length: 2_000 }, (_, i) => `${i}\n`).join(""));
    const long = await send(client, "checkpoint", { action: "show", id, paths: ["a.txt"] });
    expect(long.data["diffCut"]).toBe(true);
    expect(long.text.length).toBeLessThan(8_000);
  });

  test("tells what was edited since; force takes it back and keeps the edit", async () => {
    const { own, client, id } = await changed();
    await writeFile(join(own.workspace, "a.txt"), "mine\n");
    const dry = await send(client, "checkpoint", { action: "restore", id, dry_run: true });
    expect(dry.text).toContain("restore a.txt (edited since; needs force)");
    const refused = await send(client, "checkpoint", { action: "restore", id });
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain("conflict");
    expect(refused.text).toContain("a.txt");
    expect(await readTree(own.workspace)).toEqual({ "a.txt": "mine\n", "b.txt": "BEE\n" });
    const forced = await send(client, "checkpoint", { action: "restore", id, force: true });
    expect(await readTree(own.workspace)).toEqual({ "a.txt": "one\ntwo\n", "b.txt": "bee\n" });
    await send(client, "checkpoint", { action: "restore", id: forced.data.checkpoint });
    expect((await readTree(own.workspace))["a.txt"]).toBe("mine\n");
  });

  test("policy judges the paths: a rule refuses the whole restore, reading stays possible", async () => {
    const { own, client, id } = await changed();
    await writeFile(
      join(own.home, "config.yaml"),
      "rules:\n  - { tool: '*', path: b.txt, decision: deny, reason: frozen }\n",
    );
    const fresh = await connect("2.x modern stdio", own);
    for (const action of ["restore", "show"]) {
      const refused = await send(fresh, "checkpoint", { action, id });
      expect(refused.text).toContain("denied_by_policy");
    }
    expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("one\nTWO\n");
    expect((await send(fresh, "checkpoint", { action: "restore", id, paths: ["a.txt"] })).isError).toBe(
      false,
    );
    await writeFile(join(own.home, "config.yaml"), "autonomy:\n  level: readonly\n");
    const reader = await connect("2.x modern stdio", own);
    expect((await send(reader, "checkpoint", { action: "list" })).isError).toBe(false);
    expect((await send(reader, "checkpoint", { action: "show", id })).isError).toBe(false);
    expect((await send(reader, "checkpoint", { action: "restore", id })).text).toContain("denied_by_policy");
    await client.close();
  });

  test("a person is asked with the names of the files", async () => {
    const { own, id } = await changed();
    await writeFile(join(own.home, "config.yaml"), "approvals:\n  mode: smart\n");
    const asked: string[] = [];
    const client = await connect("2.x modern stdio", own, {
      onAsk: ({ message }) => {
        asked.push(message);
        return Promise.resolve({ action: "decline" });
      },
    });
    expect((await send(client, "checkpoint", { action: "show", id })).isError).toBe(false);
    expect((await send(client, "checkpoint", { action: "restore", id })).isError).toBe(true);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("bring back a.txt");
    expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("one\nTWO\n");
  });
});

describe("who sees what", () => {
  const patch = envelope("*** Add File: x.txt\n+x\n");
  const ids = (structured: Record<string, unknown> | undefined): string[] =>
    ((structured?.["checkpoints"] ?? []) as { id: string }[]).map(({ id }) => id);

  test("an agent its own, main all of the workspace, nobody another workspace's", async () => {
    const own = await sandbox();
    const camel = await startCamel(own);
    const made = await call(camel, "apply_patch", { patch }, { agentId: "helper" });
    const id = String(made.structured?.["checkpoint"]);
    for (const [agentId, seen] of [
      ["helper", [id]],
      ["main", [id]],
      ["other", []],
    ] as const)
      expect(ids((await call(camel, "checkpoint", { action: "list" }, { agentId })).structured)).toEqual(
        seen,
      );
    for (const action of ["show", "restore"])
      expect((await call(camel, "checkpoint", { action, id }, { agentId: "other" })).code).toBe("not_found");
    const elsewhere = join(own.workspace, "..", "elsewhere");
    await mkdir(elsewhere);
    const other = await startCamel(own, { workspace: elsewhere });
    expect(ids((await call(other, "checkpoint", { action: "list" })).structured)).toEqual([]);
    expect((await call(other, "checkpoint", { action: "restore", id })).code).toBe("not_found");
    expect(await readTree(own.workspace)).toEqual({ "x.txt": "x\n" });
  });

  test("an agent's notes come back into its own memory", async () => {
    const own = await sandbox({ "home/agents/helper/MEMORY.md": "# Home\n\nold\n\n# Work\n\nnine\n" });
    const camel = await startCamel(own);
    const as = { agentId: "helper" };
    const file = "MEMORY.md";
    const path = join(own.home, "agents/helper/MEMORY.md");
    const original = await readFile(path, "utf8");
    const inserted = await call(camel, "memory_write", { file, heading: "Home", text: "new" }, as);
    const forgotten = await call(camel, "memory_write", { action: "forget", file, oldText: "nine" }, as);
    for (const made of [forgotten, inserted]) {
      const id = made.structured?.["checkpoint"];
      expect((await call(camel, "checkpoint", { action: "restore", id }, { agentId: "main" })).code).toBe(
        "not_found",
      );
      expect((await call(camel, "checkpoint", { action: "restore", id }, as)).isError).not.toBe(true);
    }
    expect(await readFile(path, "utf8")).toBe(original);
  });

  test("no link leads a restore or a look out of the workspace", async () => {
    const own = await sandbox({ "workspace/d/a.txt": "one\n" });
    const camel = await startCamel(own);
    const made = await call(camel, "apply_patch", { patch: envelope(update("d/a.txt", "one", "two")) });
    const id = made.structured?.["checkpoint"];
    const outside = join(own.workspace, "..", "outside");
    await rename(join(own.workspace, "d"), outside);
    await writeFile(join(outside, "a.txt"), "secret\n");
    await symlink(outside, join(own.workspace, "d"));
    expect((await call(camel, "checkpoint", { action: "restore", id, force: true })).code).toBe(
      "path_outside_root",
    );
    const shown = await call(camel, "checkpoint", { action: "show", id });
    expect(JSON.stringify(shown)).not.toContain("secret");
    expect(await readFile(join(outside, "a.txt"), "utf8")).toBe("secret\n");
  });

  test("wrong calls say what to do", async () => {
    const camel = await startCamel(await sandbox());
    expect((await call(camel, "checkpoint", { action: "restore" })).code).toBe("invalid_input");
    expect((await call(camel, "checkpoint", { action: "show", id: "../../x" })).code).toBe("not_found");
    expect((await call(camel, "checkpoint", { action: "list" })).text).toBe("No checkpoints.");
  });

  test("the workspace's own config can't shorten what is kept", async () => {
    const own = await sandbox({ "workspace/.camelagi/config.yaml": "checkpoints:\n  maxCount: 1\n" });
    const camel = await startCamel(own);
    expect(camel.config().settings.checkpoints.maxCount).toBe(500);
    expect(camel.config().warnings.join()).toContain("checkpoints is ignored");
  });

  test("bounds hold through the tool, and closing waits for the removing", async () => {
    const own = await sandbox({
      "home/config.yaml": "checkpoints:\n  maxCount: 2\n",
      "workspace/a.txt": "0\n",
    });
    const camel = await startCamel(own);
    for (let i = 0; i < 4; i++)
      await call(camel, "apply_patch", { patch: envelope(update("a.txt", `${i}`, `${i + 1}`)) });
    await camel.close();
    const again = await startCamel(own);
    expect(ids((await call(again, "checkpoint", { action: "list" })).structured)).toHaveLength(2);
  });
});

test("from the shell: list, show, restore, restore of the restore", async () => {
  const own = await sandbox({ "workspace/a.txt": "one\n" });
  const patched = await runCli(["patch", "--json"], own, { stdin: envelope(update("a.txt", "one", "two")) });
  const { checkpoint: id } = JSON.parse(patched.stdout) as { checkpoint: string };
  const listed = await runCli(["checkpoint", "list"], own);
  expect(listed).toMatchObject({ code: 0, stderr: "" });
  expect(listed.stdout).toContain(id);
  expect((await runCli(["checkpoint", "show", id], own)).stdout).toContain("-one\n+two");
  const dry = await runCli(["checkpoint", "restore", id, "a.txt", "--dry-run"], own);
  expect(dry.stdout).toContain("nothing was written");
  expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("two\n");
  const back = await runCli(["checkpoint", "restore", id, "--json"], own);
  expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("one\n");
  await writeFile(join(own.workspace, "a.txt"), "mine\n");
  const { checkpoint: undo } = JSON.parse(back.stdout) as { checkpoint: string };
  const refused = await runCli(["checkpoint", "restore", undo], own);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("Edited since");
  expect((await runCli(["checkpoint", "restore", undo, "--force"], own)).code).toBe(0);
  expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("two\n");
  expect((await runCli(["checkpoint", "remove"], own)).code).toBe(2);
  expect((await runCli(["checkpoint", "show"], own)).code).toBe(2);
  expect((await runCli(["checkpoint", "--help"], own)).stdout).toContain("checkpoint restore ID");
});
