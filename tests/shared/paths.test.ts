import fc from "fast-check";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve, sep } from "node:path";
import { describe, expect, test } from "vitest";
import { containedPath, isInside, isWindowsAlias, openInside } from "../../src/shared/paths.ts";
import { sandbox } from "../harness.ts";

const step = fc.constantFrom("a", "b", "..", ".", "", "link-out", "link-in", "ab", "...", "~", "dangling");

describe("paths", () => {
  test("isInside goes by components", () => {
    expect(isInside("/a/b", "/a/bc")).toBe(false);
    expect(isInside("/a/b", "/a/b")).toBe(true);
    expect(isInside("/a/b", "/a/b/..c")).toBe(true);
    expect(isInside("/a/b", "/a")).toBe(false);
  });

  test("names that Windows reads as others", () => {
    const aliases = [".env.", ".env ", "a/.env...", ".env::$DATA", "b:c", "C:\\x\\.env. ", ".git./config"];
    const plain = [".env", "../a/./b", "C:\\x\\.env", "a.b/c d", "...x", ""];
    expect(aliases.filter((path) => !isWindowsAlias(path))).toEqual([]);
    expect(plain.filter(isWindowsAlias)).toEqual([]);
  });

  test("whatever is asked for, what is returned is really inside, or it is an error", async () => {
    const outer = await realpath(await mkdtemp(join(tmpdir(), "camel-paths-")));
    const root = join(outer, "root");
    await mkdir(join(root, "a", "b"), { recursive: true });
    await mkdir(join(outer, "root-sibling"));
    await writeFile(join(outer, "secret"), "s");
    await symlink(outer, join(root, "link-out"));
    await symlink(join(root, "a"), join(root, "link-in"));
    await symlink(join(outer, "nowhere"), join(root, "dangling"));
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.boolean(), async (steps, absolute) => {
          const requested = absolute ? `${root}/${steps.join("/")}` : steps.join("/");
          const result = await containedPath(root, requested, {
            rootName: "root",
            allowAbsolute: true,
          }).catch(() => undefined);
          if (result === undefined) return;
          expect(isInside(root, result)).toBe(true);
          // The slow, obvious check: the real path of every existing prefix stays inside.
          const parts = result.split(sep);
          for (let length = root.split(sep).length; length <= parts.length; length++) {
            const real = await realpath(parts.slice(0, length).join(sep)).catch(() => undefined);
            if (real !== undefined) expect(isInside(root, real)).toBe(true);
          }
        }),
        { numRuns: 300 },
      );
    } finally {
      await rm(outer, { recursive: true });
    }
  });

  test("refuses what leads out, by any road", async () => {
    const box = await sandbox({ "workspace/in.txt": "x", "home/secret": "s" });
    await symlink(box.home, resolve(box.workspace, "out"));
    for (const requested of [
      "..",
      "../home/secret",
      "out/secret",
      "out",
      "a/../../home/secret",
      "/etc/passwd",
      "in.txt\0.md",
    ]) {
      await expect(
        containedPath(box.workspace, requested, { rootName: "the workspace", allowAbsolute: true }),
        requested,
      ).rejects.toThrow();
    }
    expect(await containedPath(box.workspace, "new/deep/file", { rootName: "the workspace" })).toBe(
      join(box.workspace, "new/deep/file"),
    );
  });

  test("an absolute path may come through a link above the root", async () => {
    const { workspace: outer } = await sandbox();
    await mkdir(join(outer, "real", "root"), { recursive: true });
    await symlink(join(outer, "real"), join(outer, "link"));
    const root = join(outer, "real", "root");
    const ask = (path: string): Promise<string> =>
      containedPath(root, path, { rootName: "root", allowAbsolute: true });
    expect(await ask(join(outer, "link", "root", "new", "file"))).toBe(join(root, "new", "file"));
    await expect(ask(join(outer, "link", "other"))).rejects.toThrow("outside root");
    await expect(ask("../../link/root/file")).rejects.toThrow("outside root");
  });

  test("openInside refuses a link put in the file's place, a folder and a FIFO", async () => {
    const box = await sandbox({ "home/secret": "s" });
    await symlink(join(box.home, "secret"), join(box.workspace, "f"));
    await expect(openInside(box.workspace, join(box.workspace, "f"))).rejects.toThrow();
    await mkdir(join(box.workspace, "d"));
    await expect(openInside(box.workspace, join(box.workspace, "d"))).rejects.toMatchObject({
      code: "not_a_file",
    });
  });
});
