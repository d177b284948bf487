/** Tools that write by themselves: what they say they touch can be brought back. */
import { chmod, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { listRecords } from "../../src/stores/checkpoints/records.ts";
import { defineTool, type ToolDef } from "../../src/tools/tool.ts";
import { readTree } from "../apply-patch/tree.ts";
import { call, sandbox, startCamel } from "../harness.ts";

/** Writes each text to its path; null deletes; then does what `then` says. */
function writer(then: () => Promise<void> = () => Promise.resolve()): ToolDef {
  return defineTool({
    name: "write_all",
    title: "Write",
    description: "Writes files.",
    tier: "core",
    schema: z.object({ files: z.record(z.string(), z.string().nullable()) }),
    effect: "write",
    async touches({ files }, context) {
      const root = await context.workspace("read");
      return {
        paths: Object.entries(files).map(([path, text]) => ({
          path: resolve(root, path),
          access: text === null ? ("delete" as const) : ("write" as const),
        })),
      };
    },
    async execute({ files }, context) {
      const root = await context.workspace("write");
      for (const [path, text] of Object.entries(files)) {
        const full = join(root, path);
        await mkdir(dirname(full), { recursive: true });
        if (text === null) await rm(full, { force: true });
        else await writeFile(full, text);
      }
      await then();
      return "done";
    },
  });
}

const FILES = { "a.txt": "A\n", "gone.txt": null, "new/b.txt": "b\n", "same.txt": "same\n" };

test("what it replaced, deleted and made is undone as one; what it left alone isn't in it", async () => {
  const own = await sandbox({
    "workspace/a.txt": "a\n",
    "workspace/gone.txt": "bye\n",
    "workspace/same.txt": "same\n",
  });
  await chmod(join(own.workspace, "gone.txt"), 0o750);
  const camel = await startCamel(own, { tools: [writer()] });
  const before = await readTree(own.workspace);
  await call(camel, "write_all", { files: FILES });
  const after = await readTree(own.workspace);
  const [record] = await listRecords(own.home, () => true, 9);
  expect(record).toMatchObject({ tool: "write_all", agent: "main" });
  expect(record?.entries.map(({ path }) => path.slice(own.workspace.length + 1))).toEqual([
    "a.txt",
    "gone.txt",
    "new/b.txt",
  ]);
  const undone = await call(camel, "checkpoint", { action: "restore", id: record?.callId });
  expect(undone.isError).not.toBe(true);
  expect(await readTree(own.workspace)).toEqual(before);
  expect((await stat(join(own.workspace, "gone.txt"))).mode & 0o777).toBe(0o750);
  await call(camel, "checkpoint", { action: "restore", id: undone.structured?.["checkpoint"] });
  expect(await readTree(own.workspace)).toEqual(after);
});

test("the old bytes are on disk before the tool runs, and stay when it fails", async () => {
  const own = await sandbox({ "workspace/a.txt": "a\n" });
  const seen: number[] = [];
  const failing = writer(async () => {
    seen.push((await listRecords(own.home, () => true, 9)).length);
    throw new Error("half way");
  });
  const camel = await startCamel(own, { tools: [failing] });
  expect((await call(camel, "write_all", { files: { "a.txt": "A\n" } })).isError).toBe(true);
  expect(seen).toEqual([1]);
  const [record] = await listRecords(own.home, () => true, 9);
  await call(camel, "checkpoint", { action: "restore", id: record?.id });
  expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("a\n");
});

test("a process that died in the middle leaves a checkpoint that asks for force", async () => {
  const own = await sandbox({ "workspace/a.txt": "a\n" });
  let id = "";
  const dying = writer(async () => {
    const [record] = await listRecords(own.home, () => true, 9);
    id = record?.id ?? "";
    // What is on disk now is what a kill would leave.
    const other = await startCamel(own);
    expect((await call(other, "checkpoint", { action: "restore", id })).code).toBe("conflict");
    expect((await call(other, "checkpoint", { action: "restore", id, force: true })).isError).not.toBe(true);
    expect(await readFile(join(own.workspace, "a.txt"), "utf8")).toBe("a\n");
  });
  const camel = await startCamel(own, { tools: [dying] });
  expect((await call(camel, "write_all", { files: { "a.txt": "A\n" } })).text).toBe("done");
  expect(id).not.toBe("");
});

test("nothing changed, nothing kept; nothing can be kept, nothing runs", async () => {
  const own = await sandbox({ "workspace/same.txt": "same\n" });
  const camel = await startCamel(own, { tools: [writer()] });
  await call(camel, "write_all", { files: { "same.txt": "same\n" } });
  expect(await listRecords(own.home, () => true, 9)).toEqual([]);
  await camel.close();
  await rm(join(own.home, "checkpoints"), { recursive: true });
  await writeFile(join(own.home, "checkpoints"), "in the way");
  const again = await startCamel(own, { tools: [writer()] });
  expect((await call(again, "write_all", { files: { "same.txt": "other\n" } })).isError).toBe(true);
  expect(await readTree(own.workspace)).toEqual({ "same.txt": "same\n" });
});
