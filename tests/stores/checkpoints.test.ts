import { chmod, mkdir, readdir, readFile, rename, stat, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/shared/clock.ts";
import { CamelError } from "../../src/shared/errors.ts";
import { indexDirectory, packsDirectory, readBlob } from "../../src/stores/checkpoints/blobs.ts";
import { createDisk } from "../../src/stores/checkpoints/disk.ts";
import { journalPaths, sha256 } from "../../src/stores/checkpoints/journal.ts";
import { prune, type CheckpointBounds } from "../../src/stores/checkpoints/prune.ts";
import { findRecord, keptIds, listRecords, readRecord } from "../../src/stores/checkpoints/records.ts";
import { chosenEntries, planRestore, restoreFiles } from "../../src/stores/checkpoints/restore.ts";
import { writeFiles, type WriteOptions } from "../../src/stores/checkpoints/write-files.ts";
import { createSandbox, readTree, type Sandbox, type Tree } from "../apply-patch/tree.ts";

const disk = createDisk({ fsync: false });
const BY = { tool: "test", agent: "main", callId: "call_1" };
const ROOMY: CheckpointBounds = { maxAgeDays: 1, maxBytes: 1_000_000, maxCount: 100 };
const DAY = 86_400_000;

async function box(tree: Tree = {}): Promise<Sandbox> {
  const sandbox = await createSandbox(tree);
  onTestFinished(() => sandbox.remove());
  return sandbox;
}

type Change = Record<string, { text: string; mode?: number } | string | null>;

/** Sets each file to a text, or removes it; returns the checkpoint. */
function change(sandbox: Sandbox, files: Change, over: Partial<WriteOptions> = {}): Promise<string> {
  return writeFiles({ home: sandbox.home, root: sandbox.root, by: BY, disk, ...over }, async (writer) =>
    writer.commit(
      await Promise.all(
        Object.entries(files).map(async ([name, wanted]) => {
          const path = join(writer.root, name);
          const found = await stat(path).catch(() => undefined);
          const after = typeof wanted === "string" ? { text: wanted } : wanted;
          return {
            path,
            before:
              found === undefined ? undefined : { bytes: await readFile(path), mode: found.mode & 0o7777 },
            after:
              after === null ? undefined : { bytes: Buffer.from(after.text, "latin1"), mode: after.mode },
          };
        }),
      ),
    ),
  );
}

async function restore(
  { home }: Sandbox,
  id: string,
  { paths, force = false }: { paths?: string[]; force?: boolean } = {},
): Promise<string | undefined> {
  const record = await readRecord(home, id);
  if (record === undefined) throw new Error(`no record ${id}`);
  const { checkpoint } = await restoreFiles(record, chosenEntries(record, paths), {
    home,
    by: { ...BY, tool: "checkpoint" },
    disk,
    force,
  });
  return checkpoint;
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: unknown) => (error instanceof CamelError ? error.code : String(error)),
  );

describe("a checkpoint", () => {
  test("holds who, when, where, and both states of every file", async () => {
    const sandbox = await box({ "a.txt": "one", "gone.txt": "bye" });
    await chmod(join(sandbox.root, "a.txt"), 0o755);
    const id = await change(
      sandbox,
      { "a.txt": { text: "two", mode: 0o600 }, "new.txt": "new", "gone.txt": null },
      { clock: { ...systemClock, now: () => Date.UTC(2026, 2, 9, 8, 7, 6, 5) } },
    );
    expect(id).toMatch(/^20260309T080706005-[0-9a-f]{8}$/);
    expect(await readRecord(sandbox.home, id)).toMatchObject({
      id,
      createdAt: "2026-03-09T08:07:06.005Z",
      ...BY,
      root: sandbox.root,
      entries: [
        {
          path: join(sandbox.root, "a.txt"),
          before: { sha256: sha256(Buffer.from("one")), size: 3, mode: 0o755 },
          after: { sha256: sha256(Buffer.from("two")), size: 3, mode: 0o600 },
        },
        { path: join(sandbox.root, "new.txt"), after: { sha256: sha256(Buffer.from("new")) } },
        { path: join(sandbox.root, "gone.txt"), before: { sha256: sha256(Buffer.from("bye")) } },
      ],
    });
    expect(await findRecord(sandbox.home, "call_1")).toMatchObject({ id });
    expect(await findRecord(sandbox.home, "../open/x")).toBeUndefined();
  });

  test("brings bytes, modes and missing files back, and leaves no folder it made", async () => {
    const before: Tree = { "a.bin": "\x00\xff\r\n", "d/b.txt": "" };
    const sandbox = await box(before);
    await chmod(join(sandbox.root, "a.bin"), 0o750);
    const id = await change(sandbox, { "a.bin": "x", "d/b.txt": null, "new/deep/c.txt": "c" });
    const after = await readTree(sandbox.root);
    const back = await restore(sandbox, id);
    expect(await readTree(sandbox.root)).toEqual(before);
    expect((await stat(join(sandbox.root, "a.bin"))).mode & 0o777).toBe(0o750);
    expect((await readdir(sandbox.root)).sort()).toEqual(["a.bin", "d"]);
    await restore(sandbox, back ?? "");
    expect(await readTree(sandbox.root)).toEqual(after);
    expect(await restore(sandbox, back ?? "")).toBeUndefined();
  });

  test("keeps equal contents once, within a change and across changes", async () => {
    const sandbox = await box({ "a.txt": "same", "b.txt": "same", "c.txt": "other" });
    const kept = async (): Promise<number> => {
      const packs = await readdir(packsDirectory(sandbox.home));
      const sizes = packs.map(async (name) => (await stat(join(packsDirectory(sandbox.home), name))).size);
      return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    };
    await change(sandbox, { "a.txt": "1", "b.txt": "2", "c.txt": "3" });
    expect(await kept()).toBe("sameother".length);
    const back = await change(sandbox, { "a.txt": "same", "c.txt": "other" });
    expect(await kept()).toBe("sameother13".length);
    const again = await change(sandbox, { "a.txt": "1", "c.txt": "3" });
    expect(await kept()).toBe("sameother13".length);
    await restore(sandbox, again);
    await restore(sandbox, back);
    expect(await kept()).toBe("sameother13".length);
    expect(await readTree(sandbox.root)).toEqual({ "a.txt": "1", "b.txt": "2", "c.txt": "3" });
  });

  test("a damaged content is told, and kept anew when the same bytes come again", async () => {
    const sandbox = await box({ "a.txt": "old" });
    const id = await change(sandbox, { "a.txt": "new" });
    const pack = join(packsDirectory(sandbox.home), id);
    await writeFile(pack, "bad");
    expect(await codeOf(restore(sandbox, id))).toBe("io_error");
    expect(await readTree(sandbox.root)).toEqual({ "a.txt": "new" });
    await change(sandbox, { "b.txt": "old" });
    const second = await change(sandbox, { "b.txt": "x" });
    await unlink(pack);
    expect(await codeOf(restore(sandbox, id))).toBe("io_error");
    await restore(sandbox, second);
    expect(await readTree(sandbox.root)).toEqual({ "a.txt": "new", "b.txt": "old" });
  });

  test("an index that lies is not believed", async () => {
    const sandbox = await box({ "a.txt": "old", "b.txt": "else" });
    const first = await change(sandbox, { "a.txt": "new", "b.txt": "more" });
    const hint = join(indexDirectory(sandbox.home), sha256(Buffer.from("old")));
    for (const lie of [
      "",
      "x",
      `${first}:2`,
      `${first}:99`,
      "../../secret:0",
      "20260101T000000000-00000000:0",
    ]) {
      await writeFile(join(sandbox.root, "a.txt"), "old");
      await writeFile(hint, lie);
      const id = await change(sandbox, { "a.txt": "new" });
      await restore(sandbox, id);
      expect((await readTree(sandbox.root))["a.txt"]).toBe("old");
    }
  });
});

describe("a restore", () => {
  test("refuses what was edited since, unless forced, and keeps the edit", async () => {
    const sandbox = await box({ "a.txt": "1", "b.txt": "1" });
    const id = await change(sandbox, { "a.txt": "2", "b.txt": "2" });
    await writeFile(join(sandbox.root, "a.txt"), "mine");
    expect(await codeOf(restore(sandbox, id))).toBe("conflict");
    expect(await readTree(sandbox.root)).toEqual({ "a.txt": "mine", "b.txt": "2" });
    await restore(sandbox, id, { paths: ["b.txt"] });
    expect(await readTree(sandbox.root)).toEqual({ "a.txt": "mine", "b.txt": "1" });
    const forced = await restore(sandbox, id, { force: true });
    expect(await readTree(sandbox.root)).toEqual({ "a.txt": "1", "b.txt": "1" });
    await restore(sandbox, forced ?? "");
    expect(await readTree(sandbox.root)).toEqual({ "a.txt": "mine", "b.txt": "1" });
  });

  test("takes files and folders in paths, and names what isn't there", async () => {
    const sandbox = await box({ "d/a.txt": "1", "d/e/b.txt": "1", "de.txt": "1" });
    const id = await change(sandbox, { "d/a.txt": "2", "d/e/b.txt": "2", "de.txt": "2" });
    expect(await codeOf(restore(sandbox, id, { paths: ["x.txt"] }))).toBe("not_found");
    expect(await codeOf(restore(sandbox, id, { paths: ["../work2"] }))).toBe("not_found");
    await restore(sandbox, id, { paths: ["d/"] });
    expect(await readTree(sandbox.root)).toEqual({ "d/a.txt": "1", "d/e/b.txt": "1", "de.txt": "2" });
  });

  test("never follows a link that was put in since", async () => {
    const sandbox = await box({ "d/a.txt": "1", "f.txt": "1" });
    const id = await change(sandbox, { "d/a.txt": "2", "f.txt": "2" });
    const outside = join(sandbox.base, "outside");
    await rename(join(sandbox.root, "d"), outside);
    await symlink(outside, join(sandbox.root, "d"));
    expect(await codeOf(restore(sandbox, id, { force: true }))).toBe("path_outside_root");
    await unlink(join(sandbox.root, "f.txt"));
    await symlink(join(outside, "a.txt"), join(sandbox.root, "f.txt"));
    expect(await codeOf(restore(sandbox, id, { paths: ["f.txt"], force: true }))).toBe("path_outside_root");
    expect(await readFile(join(outside, "a.txt"), "utf8")).toBe("2");
  });

  test("refuses a root that became a link, and a folder in a file's place", async () => {
    const sandbox = await box({ "a.txt": "1", "b.txt": "1" });
    const id = await change(sandbox, { "a.txt": "2", "b.txt": "2" });
    await unlink(join(sandbox.root, "b.txt"));
    await mkdir(join(sandbox.root, "b.txt"));
    expect(await codeOf(restore(sandbox, id, { force: true }))).toBe("not_a_file");
    expect((await readTree(sandbox.root))["a.txt"]).toBe("2");
    const moved = join(sandbox.base, "moved");
    await rename(sandbox.root, moved);
    await symlink(moved, sandbox.root);
    expect(await codeOf(restore(sandbox, id, { paths: ["a.txt"] }))).toBe("path_outside_root");
  });
});

describe("bounds", () => {
  const at = (now: number): Partial<WriteOptions> => ({ clock: { ...systemClock, now: () => now } });
  const START = Date.UTC(2026, 0, 1);

  async function history(count: number): Promise<{ sandbox: Sandbox; ids: string[] }> {
    const sandbox = await box({ "a.txt": "0".repeat(100), "b.txt": "always" });
    const ids: string[] = [];
    for (let i = 1; i <= count; i++)
      ids.push(
        await change(
          sandbox,
          { "a.txt": String(i).repeat(100), "b.txt": i % 2 === 0 ? "always" : "x" },
          at(START + i * DAY),
        ),
      );
    return { sandbox, ids: ids.reverse() };
  }

  const now = START + 6 * DAY;

  test.each<[string, Partial<CheckpointBounds>, number]>([
    ["number", { maxCount: 3 }, 3],
    ["bytes", { maxBytes: 250 }, 2],
    ["age", { maxAgeDays: 2 }, 3],
    ["bytes that not even the newest keeps", { maxBytes: 0 }, 1],
    ["age that not even the newest keeps", { maxAgeDays: 0.000001 }, 1],
    ["nothing", {}, 6],
  ])("by %s: the newest stay, with all they need and nothing else", async (_name, bounds, expected) => {
    const { sandbox, ids } = await history(6);
    await writeFile(
      join(packsDirectory(sandbox.home), "20250101T000000000-00000000"),
      "left by a dead process",
    );
    await prune(sandbox.home, { maxAgeDays: 100, maxBytes: 1_000_000, maxCount: 100, ...bounds }, now);
    expect(await keptIds(sandbox.home)).toEqual(ids.slice(0, expected));
    const records = await listRecords(sandbox.home, () => true, 100);
    const needed = records.flatMap(({ entries }) => entries.flatMap(({ before }) => before ?? []));
    expect(new Set(await readdir(packsDirectory(sandbox.home)))).toEqual(
      new Set(needed.map(({ pack }) => pack)),
    );
    const hints = await readdir(indexDirectory(sandbox.home));
    expect(needed.map((one) => one.sha256)).toEqual(expect.arrayContaining(hints));
    for (const one of needed) await readBlob(sandbox.home, one);
  });

  test("are kept by the writing itself, after the answer", async () => {
    const sandbox = await box({ "a.txt": "0" });
    const work: Promise<void>[] = [];
    for (let i = 1; i <= 25; i++) {
      await change(
        sandbox,
        { "a.txt": String(i) },
        { bounds: { ...ROOMY, maxCount: 20 }, later: (one) => work.push(one) },
      );
      await Promise.all(work);
      expect((await keptIds(sandbox.home)).length).toBeLessThanOrEqual(20);
    }
    expect((await keptIds(sandbox.home)).length).toBeGreaterThanOrEqual(18);
  });

  test("an unfinished change keeps what it needs, and one that can't be read stops the removing", async () => {
    const { sandbox, ids } = await history(3);
    const oldest = ids.at(-1) ?? "";
    const paths = journalPaths(sandbox.home, oldest);
    await rename(paths.kept, paths.open);
    const tight = { maxAgeDays: 100, maxBytes: 0, maxCount: 1 };
    await prune(sandbox.home, tight, now);
    expect(await readdir(packsDirectory(sandbox.home))).toContain(oldest);
    await writeFile(paths.open, "{");
    await expect(prune(sandbox.home, tight, now)).rejects.toThrow();
    expect(await readdir(packsDirectory(sandbox.home))).toContain(oldest);
  });
});

test("any sequence of changes and restores leaves what a model says, and what is kept stays restorable", async () => {
  const name = fc.constantFrom("a.txt", "b.txt", "d/c.txt", "d/e/f.txt");
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("change" as const),
      files: fc.dictionary(name, fc.option(fc.constantFrom("1", "2", "3\n", "")), { minKeys: 1, maxKeys: 3 }),
    }),
    fc.record({ kind: fc.constant("restore" as const), which: fc.nat(20), force: fc.boolean() }),
    fc.record({ kind: fc.constant("edit" as const), name, text: fc.constantFrom("1", "mine") }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 12 }),
      fc.nat(400),
      async (steps, maxBytes) => {
        const sandbox = await createSandbox();
        try {
          const model = new Map<string, string>();
          const made: { id: string; files: { name: string; before?: string; after?: string }[] }[] = [];
          const set = (file: string, text: string | undefined): void => {
            if (text === undefined) model.delete(file);
            else model.set(file, text);
          };
          for (const one of steps) {
            if (one.kind === "edit") {
              await mkdir(join(sandbox.root, one.name, ".."), { recursive: true });
              await writeFile(join(sandbox.root, one.name), one.text);
              set(one.name, one.text);
            } else if (one.kind === "change") {
              const wanted = Object.entries(one.files).filter(
                ([file, text]) => (text ?? undefined) !== model.get(file),
              );
              if (wanted.length === 0) continue;
              const id = await change(sandbox, Object.fromEntries(wanted));
              made.push({
                id,
                files: wanted.map(([file, text]) => ({
                  name: file,
                  ...(model.has(file) ? { before: model.get(file) ?? "" } : {}),
                  ...(text === null ? {} : { after: text }),
                })),
              });
              for (const [file, text] of wanted) set(file, text ?? undefined);
            } else {
              const target = made[one.which % Math.max(1, made.length)];
              if (target === undefined) continue;
              const differing = target.files.filter((file) => model.get(file.name) !== file.before);
              const edited = differing.some((file) => model.get(file.name) !== file.after);
              const result = await restore(sandbox, target.id, { force: one.force }).catch(
                (error: unknown) => error,
              );
              if (edited && !one.force) expect(result).toMatchObject({ code: "conflict" });
              else if (differing.length === 0) expect(result).toBeUndefined();
              else {
                made.push({
                  id: String(result),
                  files: differing.map((file) => ({
                    name: file.name,
                    ...(model.has(file.name) ? { before: model.get(file.name) ?? "" } : {}),
                    ...(file.before === undefined ? {} : { after: file.before }),
                  })),
                });
                for (const file of differing) set(file.name, file.before);
              }
            }
            expect(await readTree(sandbox.root)).toEqual(Object.fromEntries(model));
          }
          await prune(sandbox.home, { ...ROOMY, maxBytes }, Date.now());
          for (const record of await listRecords(sandbox.home, () => true, 100))
            await planRestore(sandbox.home, record, record.entries);
        } finally {
          await sandbox.remove();
        }
      },
    ),
    { numRuns: 60 },
  );
});
