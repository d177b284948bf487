/** What scenario folders can't hold: modes, links, absolute paths, bytes that are no text. */
import { chmod, chown, link, lstat, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CamelError } from "../../src/shared/errors.ts";
import { readBlob } from "../../src/stores/checkpoints/blobs.ts";
import { readRecord } from "../../src/stores/checkpoints/records.ts";
import { restoreFiles } from "../../src/stores/checkpoints/restore.ts";
import { applyPatch } from "../../src/tools/apply-patch/apply.ts";
import { createSandbox, readTree, type Sandbox, type Tree } from "./tree.ts";

const envelope = (body: string): string => `*** Begin Patch\n${body}*** End Patch\n`;
const update = (path: string): string => envelope(`*** Update File: ${path}\n@@\n-one\n+two\n`);

async function box(tree: Tree): Promise<Sandbox> {
  const sandbox = await createSandbox(tree);
  onTestFinished(() => sandbox.remove());
  return sandbox;
}

async function refusal(sandbox: Sandbox, patch: string): Promise<CamelError> {
  const error = await applyPatch({ ...sandbox, patch }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CamelError);
  expect((error as CamelError).message).toContain("Nothing was written");
  return error as CamelError;
}

test.each([0o755, 0o600, 0o444])("mode %o is kept by an update and by a move", async (mode) => {
  const own = await box({ "a.sh": "one\n", "b.sh": "one\n" });
  for (const name of ["a.sh", "b.sh"]) await chmod(join(own.root, name), mode);
  const moved = "*** Update File: b.sh\n*** Move to: c/b.sh\n@@\n-one\n+two\n";
  await applyPatch({ ...own, patch: envelope(`*** Update File: a.sh\n@@\n-one\n+two\n${moved}`) });
  for (const name of ["a.sh", "c/b.sh"]) expect((await stat(join(own.root, name))).mode & 0o777).toBe(mode);
});

test.skipIf(process.getuid?.() !== 0)(
  "a file that is somebody else's stays theirs: updated, moved, restored",
  async () => {
    const own = await box({ a: "one\n", b: "one\n", c: "one\n" });
    const theirs = async (name: string): Promise<string> => {
      const { uid, gid, mode } = await stat(join(own.root, name));
      return `${uid}:${gid} ${(mode & 0o7777).toString(8)}`;
    };
    for (const name of ["a", "b", "c"]) {
      await chown(join(own.root, name), 4321, 4322);
      await chmod(join(own.root, name), 0o4750);
    }
    const moved = "*** Update File: b\n*** Move to: d/b\n*** Delete File: c\n";
    const { checkpoint = "" } = await applyPatch({
      ...own,
      patch: envelope(`*** Update File: a\n@@\n-one\n+two\n${moved}`),
    });
    for (const name of ["a", "d/b"]) expect(await theirs(name)).toBe("4321:4322 4750");
    const record = await readRecord(own.home, checkpoint);
    if (record === undefined) throw new Error("no record");
    const by = { tool: "checkpoint", agent: "main", callId: "" };
    await restoreFiles(record, record.entries, { home: own.home, by, force: false });
    for (const name of ["a", "b", "c"]) expect(await theirs(name)).toBe("4321:4322 4750");
  },
);

test.each([
  ["a/src/main.ts", "src/main.ts"],
  ["src/mian.ts", "src/main.ts"],
  ["src/Main.ts", "src/main.ts"],
])("an update of %s, which is missing, names %s", async (wrong, right) => {
  const own = await box({ "src/main.ts": "one\n" });
  expect((await refusal(own, update(wrong))).next).toContain(`Did you mean ${right}?`);
});

test.skipIf(process.platform === "win32")("a path written with backslashes names folders", async () => {
  const own = await box({});
  await applyPatch({ ...own, patch: envelope("*** Add File: src\\lib\\new.ts\n+x\n") });
  expect(await readTree(own.root)).toEqual({ "src/lib/new.ts": "x\n" });
});

test("a git diff sets the mode it names", async () => {
  const own = await box({});
  const patch = "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n";
  await applyPatch({ ...own, patch });
  expect((await stat(join(own.root, "run"))).mode & 0o111).toBe(0o111);
});

test("a link out of the workspace is refused at every component, and so is a dangling one", async () => {
  const own = await box({ "a.txt": "one\n" });
  const outside = join(own.base, "outside");
  await mkdir(join(outside, "d"), { recursive: true });
  await writeFile(join(outside, "x.txt"), "one\n");
  await symlink(outside, join(own.root, "out"));
  await symlink(join(outside, "x.txt"), join(own.root, "x.txt"));
  await symlink("nowhere", join(own.root, "dangling"));
  const patches = [
    update("out/x.txt"),
    update("x.txt"),
    envelope("*** Add File: out/d/new.txt\n+x\n"),
    envelope("*** Add File: dangling\n+x\n"),
    envelope("*** Update File: a.txt\n*** Move to: out/a.txt\n"),
    envelope("*** Delete File: out/x.txt\n"),
    update(join(outside, "x.txt")),
    update("../outside/x.txt"),
  ];
  for (const patch of patches) expect((await refusal(own, patch)).code).toBe("path_outside_root");
  expect(await readTree(outside)).toEqual({ "x.txt": "one\n" });
});

test("a link that stays inside is followed by an update, which keeps it, but neither moved nor deleted", async () => {
  const own = await box({ "real.txt": "one\n" });
  await symlink("real.txt", join(own.root, "link.txt"));
  await applyPatch({ ...own, patch: update("link.txt") });
  expect((await lstat(join(own.root, "link.txt"))).isSymbolicLink()).toBe(true);
  expect(await readFile(join(own.root, "real.txt"), "utf8")).toBe("two\n");
  expect((await refusal(own, envelope("*** Delete File: link.txt\n"))).code).toBe("path_forbidden");
});

test("a file with a second hard link is refused", async () => {
  const own = await box({ "a.txt": "one\n" });
  await link(join(own.root, "a.txt"), join(own.base, "elsewhere.txt"));
  expect((await refusal(own, update("a.txt"))).message).toContain("2 hard links");
  expect(await readFile(join(own.base, "elsewhere.txt"), "utf8")).toBe("one\n");
});

test("an absolute path inside the workspace is accepted, also by way of a link to the workspace", async () => {
  const own = await box({ "a.txt": "one\n", "b.txt": "one\n" });
  await applyPatch({ ...own, patch: update(join(own.root, "a.txt")) });
  const alias = join(own.base, "alias");
  await symlink(own.root, alias);
  await applyPatch({ ...own, root: alias, patch: update(join(alias, "b.txt")) });
  expect(await readTree(own.root)).toEqual({ "a.txt": "two\n", "b.txt": "two\n" });
});

test("a path that ends in a slash names no file", async () => {
  const own = await box({});
  expect((await refusal(own, envelope("*** Add File: d/\n+x\n"))).code).toBe("not_a_file");
});

test("NUL bytes and other encodings are refused untouched, yet moved and deleted", async () => {
  const tree = { "nul.bin": "one\n\0", "latin.txt": "one\n\u00E9\n", "gone.bin": "\0" };
  const own = await box(tree);
  for (const name of ["nul.bin", "latin.txt"])
    expect((await refusal(own, update(name))).code).toBe("not_text");
  expect(await readTree(own.root)).toEqual(tree);
  const patch = envelope("*** Update File: nul.bin\n*** Move to: d.bin\n*** Delete File: gone.bin\n");
  await applyPatch({ ...own, patch });
  expect(await readTree(own.root)).toEqual({ "d.bin": "one\n\0", "latin.txt": "one\n\u00E9\n" });
});

test("half of a character is refused before anything is read", async () => {
  const own = await box({ "a.txt": "one\n" });
  expect((await refusal(own, update("a.txt").replace("two", "\uD83D"))).code).toBe("patch_invalid");
});

test("the checkpoint holds what was there before, byte for byte", async () => {
  const own = await box({ "a.txt": "one\r\n", "gone.bin": "\0\u00FF" });
  const { checkpoint } = await applyPatch({
    ...own,
    patch: envelope(
      "*** Update File: a.txt\n@@\n-one\n+two\n*** Delete File: gone.bin\n*** Add File: n\n+n\n",
    ),
  });
  const record = await readRecord(own.home, checkpoint ?? "");
  const before = await Promise.all(
    (record?.entries ?? []).map(async ({ path, before: old }) => [
      path.slice(own.root.length + 1),
      old && (await readBlob(own.home, old)).toString("latin1"),
    ]),
  );
  expect(Object.fromEntries(before)).toEqual({ "a.txt": "one\r\n", "gone.bin": "\0\u00FF", n: undefined });
});
