/** Dying, failing and competing at every step of a commit: the tree is all old or all new after recovery. */
import { spawn } from "node:child_process";
import { renameSync, symlinkSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CamelError } from "../../src/shared/errors.ts";
import { applyPatch } from "../../src/tools/apply-patch/apply.ts";
import { recoverWrites } from "../../src/stores/checkpoints/write-files.ts";
import { createDisk, type Disk } from "../../src/stores/checkpoints/disk.ts";
import { createSandbox, readTree, type Sandbox, type Tree } from "./tree.ts";

const OLD: Tree = { "a.txt": "one\ntwo\n", "b.txt": "bee\n", "c/d.txt": "dee\n", "gone.txt": "bye\n" };
const PATCH = `*** Begin Patch
*** Update File: a.txt
@@
-two
+TWO
*** Update File: b.txt
*** Move to: moved/deep/b.txt
@@
-bee
+BEE
*** Add File: new/e.txt
+eee
*** Delete File: gone.txt
*** Update File: c/d.txt
@@
-dee
+DEE
*** End Patch
`;
const NEW: Tree = {
  "a.txt": "one\nTWO\n",
  "moved/deep/b.txt": "BEE\n",
  "new/e.txt": "eee\n",
  "c/d.txt": "DEE\n",
};

/** The first rename is the journal's, two are removals: after the fourth one file is new and others are old. */
const HALF_DONE = "rename:4";

const STEPS = ["writeNew", "copyNew", "link", "rename", "unlink", "mkdir", "rmdir", "syncDirectory"] as const;

/** Calls `before(n)` ahead of the nth step, counted from 1. */
function counting(before: (step: number, name: string) => void): Disk {
  const disk = createDisk({ fsync: false });
  let step = 0;
  const wrapped = { ...disk };
  for (const name of STEPS) {
    const original = disk[name] as (...args: unknown[]) => Promise<void>;
    (wrapped as Record<string, unknown>)[name] = (...args: unknown[]) => {
      before(++step, name);
      return original(...args);
    };
  }
  return wrapped;
}

let bundleFolder = "";
let child = "";

beforeAll(async () => {
  bundleFolder = await mkdtemp(join(tmpdir(), "camel-crash-"));
  const entry = join(bundleFolder, "entry.ts");
  await writeFile(
    entry,
    `import { applyPatch } from ${JSON.stringify(join(import.meta.dirname, "../../src/tools/apply-patch/apply.ts"))};
import { recoverWrites } from ${JSON.stringify(join(import.meta.dirname, "../../src/stores/checkpoints/write-files.ts"))};
import { createDisk } from ${JSON.stringify(join(import.meta.dirname, "../../src/stores/checkpoints/disk.ts"))};
import { readFileSync } from "node:fs";
const [root, home, patchFile, stopAt] = process.argv.slice(2);
setInterval(() => {}, 1000);
const disk = createDisk({ fsync: false });
const [stopName, stopCount] = stopAt.includes(":") ? stopAt.split(":") : [undefined, stopAt];
let step = 0;
const wrapped = {};
for (const name of Object.keys(disk)) wrapped[name] = async (...args) => {
  const result = await disk[name](...args);
  if ((stopName ?? name) === name && ++step === Number(stopCount)) { process.kill(process.pid, "SIGKILL"); await new Promise(() => {}); }
  return result;
};
const work = patchFile === "recover"
  ? recoverWrites(home, undefined, wrapped)
  : applyPatch({ root, home, patch: readFileSync(patchFile, "utf8"), disk: wrapped });
work.then(
  () => process.exit(0), (error) => { process.stderr.write(String(error.code) + " " + error.message); process.exit(1); });
`,
  );
  const bundle = await rolldown({ input: entry, platform: "node", cwd: join(import.meta.dirname, "../..") });
  child = join(bundleFolder, "child.mjs");
  await bundle.write({ file: child, format: "esm" });
});

afterAll(() => rm(bundleFolder, { recursive: true, force: true }));

function runChild(
  sandbox: Sandbox,
  patchFile: string,
  stopAt: number | string,
): Promise<{ code: number | null; stderr: string }> {
  return new Promise((resolve) => {
    const run = spawn(process.execPath, [child, sandbox.root, sandbox.home, patchFile, String(stopAt)], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    run.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    run.on("close", (code) => resolve({ code, stderr }));
  });
}

async function oldOrNew(sandbox: Sandbox): Promise<"old" | "new"> {
  await recoverWrites(sandbox.home, undefined, createDisk({ fsync: false }));
  const tree = await readTree(sandbox.root);
  const state = isDeepStrictEqual(tree, OLD) ? "old" : "new";
  expect(tree).toEqual(state === "old" ? OLD : NEW);
  if (state === "old")
    expect((await readdir(sandbox.root)).sort()).toEqual(["a.txt", "b.txt", "c", "gone.txt"]);
  expect(await readdir(join(sandbox.home, "checkpoints/open")).catch(() => [])).toEqual([]);
  return state;
}

test("killed after every single step", { timeout: 60_000 }, async () => {
  const seen = new Set<string>();
  for (let stopAt = 1; ; stopAt++) {
    const sandbox = await createSandbox(OLD);
    try {
      const patchFile = join(sandbox.base, "patch.txt");
      await writeFile(patchFile, PATCH);
      const { code } = await runChild(sandbox, patchFile, stopAt);
      seen.add(await oldOrNew(sandbox));
      if (code === 0) break;
      expect(code).toBeNull();
    } finally {
      await sandbox.remove();
    }
  }
  expect([...seen].sort()).toEqual(["new", "old"]);
});

test("killed in the middle, and again at every step of the recovery", { timeout: 60_000 }, async () => {
  for (let stopAt = 1; ; stopAt++) {
    const sandbox = await createSandbox(OLD);
    try {
      const patchFile = join(sandbox.base, "patch.txt");
      await writeFile(patchFile, PATCH);
      await runChild(sandbox, patchFile, HALF_DONE);
      const { code } = await runChild(sandbox, "recover", stopAt);
      expect(await oldOrNew(sandbox)).toBe("old");
      if (code === 0) break;
    } finally {
      await sandbox.remove();
    }
  }
});

test("a disk that stays full from any step on leaves all old or all new", async () => {
  for (let fullFrom = 1; ; fullFrom++) {
    const sandbox = await createSandbox(OLD);
    try {
      let failed = false;
      const full = counting((step, name) => {
        if (step < fullFrom || !["writeNew", "copyNew", "link", "mkdir"].includes(name)) return;
        failed = true;
        throw Object.assign(new Error("ENOSPC: injected"), { code: "ENOSPC", syscall: "write" });
      });
      const result = await applyPatch({ ...sandbox, patch: PATCH, disk: full }).catch(
        (error: unknown) => error,
      );
      expect(await oldOrNew(sandbox)).toBe(result instanceof CamelError ? "old" : "new");
      if (!failed) break;
    } finally {
      await sandbox.remove();
    }
  }
});

test("a workspace that can't be written to at all leaves nothing to undo", async () => {
  const sandbox = await createSandbox(OLD);
  try {
    const disk = createDisk({ fsync: false });
    const readOnly = { ...disk };
    for (const name of ["writeNew", "copyNew", "link", "unlink", "mkdir"] as const) {
      const original = disk[name] as (path: string, ...rest: unknown[]) => Promise<void>;
      (readOnly as Record<string, unknown>)[name] = (path: string, ...rest: unknown[]) => {
        if (!path.startsWith(sandbox.root)) return original(path, ...rest);
        return Promise.reject(
          Object.assign(new Error("EROFS: injected"), { code: "EROFS", syscall: "open" }),
        );
      };
    }
    await expect(applyPatch({ ...sandbox, patch: PATCH, disk: readOnly })).rejects.toThrow(
      "Nothing was written. EROFS",
    );
    expect(await readdir(join(sandbox.home, "checkpoints", "open"))).toEqual([]);
  } finally {
    await sandbox.remove();
  }
});

test.each(["ENOSPC", "EACCES"])("%s at every single step", async (code) => {
  for (let failAt = 1; ; failAt++) {
    const sandbox = await createSandbox(OLD);
    try {
      let failed = false;
      const disk = counting((step) => {
        if (step !== failAt) return;
        failed = true;
        throw Object.assign(new Error(`${code}: injected`), { code, syscall: "write" });
      });
      const result = await applyPatch({ ...sandbox, patch: PATCH, disk }).catch((error: unknown) => error);
      const state = await oldOrNew(sandbox);
      if (result instanceof CamelError) {
        expect(result.next).toBeTruthy();
        expect(state).toBe("old");
      } else expect(state).toBe("new");
      if (!failed) break;
    } finally {
      await sandbox.remove();
    }
  }
});

test("random kills of a 300-file patch", { timeout: 600_000 }, async () => {
  const tree: Tree = {};
  const after: Tree = {};
  let patch = "*** Begin Patch\n";
  for (let i = 0; i < 300; i++) {
    tree[`d${i % 7}/f${i}.txt`] = `x\nold ${i}\n`;
    after[`d${i % 7}/f${i}.txt`] = `x\nnew ${i}\n`;
    patch += `*** Update File: d${i % 7}/f${i}.txt\n@@\n-old ${i}\n+new ${i}\n`;
  }
  patch += "*** End Patch\n";
  const rounds = Number(process.env["CAMEL_KILLS"] ?? 6);
  for (let round = 0; round < rounds; round++) {
    const sandbox = await createSandbox(tree);
    try {
      const patchFile = join(sandbox.base, "patch.txt");
      await writeFile(patchFile, patch);
      // About 1,200 steps in all; the kill lands somewhere among them, a different place each round.
      await runChild(sandbox, patchFile, 1 + ((round * 7919) % 1210));
      await recoverWrites(sandbox.home, undefined, createDisk({ fsync: false }));
      const found = await readTree(sandbox.root);
      expect(found).toEqual(found["d0/f0.txt"] === tree["d0/f0.txt"] ? tree : after);
    } finally {
      await sandbox.remove();
    }
  }
});

test("two processes on the same file: one applies, the other is refused, nothing interleaves", async () => {
  const sandbox = await createSandbox(OLD);
  try {
    const files = ["1", "2"].map((name) => join(sandbox.base, name));
    await writeFile(
      files[0] ?? "",
      "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n-two\n+first\n*** End Patch\n",
    );
    await writeFile(
      files[1] ?? "",
      "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n-two\n+second\n*** End Patch\n",
    );
    const results = await Promise.all(files.map((file) => runChild(sandbox, file, 0)));
    expect(results.map(({ code }) => code ?? -1).sort((a, b) => a - b)).toEqual([0, 1]);
    const winner = results[0]?.code === 0 ? "first\n" : "second\n";
    expect(await readTree(sandbox.root)).toEqual({ ...OLD, "a.txt": winner });
  } finally {
    await sandbox.remove();
  }
});

test("an edit made while the patch is being staged is refused and kept", async () => {
  const sandbox = await createSandbox(OLD);
  try {
    const disk = createDisk({ fsync: false });
    let edited = false;
    const link: Disk["link"] = async (from, to) => {
      await disk.link(from, to);
      if (edited) return;
      edited = true;
      await writeFile(join(sandbox.root, "c/d.txt"), "mine\n");
    };
    const error = await applyPatch({ ...sandbox, patch: PATCH, disk: { ...disk, link } }).catch(
      (thrown: unknown) => thrown,
    );
    expect((error as CamelError).code).toBe("conflict");
    expect(await readTree(sandbox.root)).toEqual({ ...OLD, "c/d.txt": "mine\n" });
  } finally {
    await sandbox.remove();
  }
});

test("an edit that slips in between the last comparison and the rename is kept", async () => {
  for (const how of ["in place", "by another file", "deleted"] as const) {
    const sandbox = await createSandbox(OLD);
    try {
      const disk = createDisk({ fsync: false });
      const path = join(sandbox.root, "c/d.txt");
      let edited = false;
      // The removals come first: by then everything has been compared.
      const rename: Disk["rename"] = async (from, to) => {
        if (!edited && from.endsWith("gone.txt")) {
          edited = true;
          if (how === "in place") await writeFile(path, "mine\n");
          else {
            await rm(path);
            if (how === "by another file") await writeFile(path, "mine\n");
          }
        }
        await disk.rename(from, to);
      };
      const error = await applyPatch({ ...sandbox, patch: PATCH, disk: { ...disk, rename } }).catch(
        (thrown: unknown) => thrown,
      );
      expect((error as CamelError).code).toBe("conflict");
      const { "c/d.txt": _removed, ...rest } = OLD;
      expect(await readTree(sandbox.root)).toEqual(
        how === "deleted" ? OLD : { ...rest, "c/d.txt": "mine\n" },
      );
    } finally {
      await sandbox.remove();
    }
  }
});

test("a folder that becomes a link to another at any step: nothing is changed there", async () => {
  const outside: Tree = { "d.txt": "dee\n", "gone.txt": "bye\n" };
  const patch = `${PATCH.split("*** Delete")[0] ?? ""}*** Delete File: c/gone.txt
*** Update File: c/d.txt
@@
-dee
+DEE
*** End Patch
`;
  for (let swapAt = 1; ; swapAt++) {
    const sandbox = await createSandbox({ ...OLD, "c/gone.txt": "bye\n" });
    const elsewhere = await createSandbox(outside);
    try {
      let swapped = false;
      const disk = counting((step) => {
        if (step !== swapAt) return;
        swapped = true;
        renameSync(join(sandbox.root, "c"), join(sandbox.root, "real"));
        symlinkSync(elsewhere.root, join(sandbox.root, "c"));
      });
      await applyPatch({ ...sandbox, patch, disk }).catch((error: unknown) => error);
      expect(await readTree(elsewhere.root)).toEqual(outside);
      if (!swapped) break;
    } finally {
      await sandbox.remove();
      await elsewhere.remove();
    }
  }
});

test("a file that somebody made meanwhile under a new file's name is kept, even with the same content", async () => {
  const sandbox = await createSandbox(OLD);
  try {
    const disk = createDisk({ fsync: false });
    const link: Disk["link"] = async (from, to) => {
      if (to.endsWith("e.txt")) await writeFile(to, "eee\n");
      await disk.link(from, to);
    };
    const error = await applyPatch({ ...sandbox, patch: PATCH, disk: { ...disk, link } }).catch(
      (thrown: unknown) => thrown,
    );
    expect((error as CamelError).code).toBe("conflict");
    expect(await readTree(sandbox.root)).toEqual({ ...OLD, "new/e.txt": "eee\n" });
  } finally {
    await sandbox.remove();
  }
});

test("an unfinished patch in another workspace that can't be undone doesn't stop this one", async () => {
  const sandbox = await createSandbox(OLD);
  const other = await createSandbox(OLD);
  try {
    const patchFile = join(other.base, "patch.txt");
    await writeFile(patchFile, PATCH);
    await runChild({ ...other, home: sandbox.home }, patchFile, HALF_DONE);
    const disk = createDisk({ fsync: false });
    const refusing: Disk = {
      ...disk,
      rename: (from, to) =>
        to.startsWith(other.root)
          ? Promise.reject(
              Object.assign(new Error("EACCES: injected"), { code: "EACCES", syscall: "rename" }),
            )
          : disk.rename(from, to),
    };
    const { recovered } = await applyPatch({ ...sandbox, patch: PATCH, disk: refusing });
    expect(recovered.join()).toContain("can't be undone yet");
    expect(await readTree(sandbox.root)).toEqual(NEW);
    await recoverWrites(sandbox.home, undefined, disk);
    expect(await readTree(other.root)).toEqual(OLD);
  } finally {
    await sandbox.remove();
    await other.remove();
  }
});
