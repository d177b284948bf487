/** Dying, failing and competing while a restore writes: the tree is all of one state or all of the other. */
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CamelError } from "../../src/shared/errors.ts";
import { packsDirectory, readBlob } from "../../src/stores/checkpoints/blobs.ts";
import { createDisk, type Disk } from "../../src/stores/checkpoints/disk.ts";
import { listRecords, readRecord } from "../../src/stores/checkpoints/records.ts";
import { restoreFiles } from "../../src/stores/checkpoints/restore.ts";
import { recoverWrites } from "../../src/stores/checkpoints/write-files.ts";
import { applyPatch } from "../../src/tools/apply-patch/apply.ts";
import { createSandbox, readTree, type Sandbox, type Tree } from "../apply-patch/tree.ts";

const source = (path: string): string => JSON.stringify(join(import.meta.dirname, "../../src", path));
const disk = createDisk({ fsync: false });
const BY = { tool: "checkpoint", agent: "main", callId: "call_r" };

const OLD: Tree = { "a.txt": "one\n", "d/b.txt": "bee\n", "gone.txt": "bye\n" };
const NEW: Tree = { "a.txt": "two\n", "n/c.txt": "cee\n", "d/b.txt": "BEE\n" };
const PATCH = `*** Begin Patch
*** Update File: a.txt
@@
-one
+two
*** Update File: d/b.txt
@@
-bee
+BEE
*** Add File: n/c.txt
+cee
*** Delete File: gone.txt
*** End Patch
`;

let bundleFolder = "";
let child = "";

beforeAll(async () => {
  bundleFolder = await mkdtemp(join(tmpdir(), "camel-checkpoints-"));
  const entry = join(bundleFolder, "entry.ts");
  await writeFile(
    entry,
    `import { createDisk } from ${source("stores/checkpoints/disk.ts")};
import { readRecord } from ${source("stores/checkpoints/records.ts")};
import { restoreFiles } from ${source("stores/checkpoints/restore.ts")};
import { writeFiles } from ${source("stores/checkpoints/write-files.ts")};
import { readFile } from "node:fs/promises";
import { join } from "node:path";
const [work, home, first, second] = process.argv.slice(2);
const plain = createDisk({ fsync: false });
const by = { tool: "child", agent: "main", callId: "call_" + process.pid };
if (work === "restore") {
  const disk = {};
  let step = 0;
  for (const name of Object.keys(plain)) disk[name] = async (...args) => {
    const result = await plain[name](...args);
    if (++step === Number(second)) { process.kill(process.pid, "SIGKILL"); await new Promise(() => {}); }
    return result;
  };
  setInterval(() => {}, 1000);
  const record = await readRecord(home, first);
  await restoreFiles(record, record.entries, { home, by, disk, force: false });
  process.exit(0);
} else {
  const bounds = { maxAgeDays: 1, maxBytes: 400, maxCount: 8 };
  for (let i = 0; i < 30; i++) {
    await writeFiles({ home, root: first, by, disk: plain, bounds }, async ({ root, commit }) => {
      const path = join(root, "shared.txt");
      const old = await readFile(path);
      const bytes = Buffer.from(String(Number(old.toString()) + 1));
      await commit([{ path, before: { bytes: old, mode: 0o644 }, after: { bytes, mode: 0o644 } }]);
    });
  }
}
`,
  );
  const bundle = await rolldown({ input: entry, platform: "node", cwd: join(import.meta.dirname, "../..") });
  child = join(bundleFolder, "child.mjs");
  await bundle.write({ file: child, format: "esm" });
});

afterAll(() => rm(bundleFolder, { recursive: true, force: true }));

function runChild(...args: string[]): Promise<number | null> {
  return new Promise((resolve) => {
    spawn(process.execPath, [child, ...args], { stdio: ["ignore", "ignore", "inherit"] }).on(
      "close",
      resolve,
    );
  });
}

async function patched(): Promise<Sandbox & { id: string }> {
  const sandbox = await createSandbox(OLD);
  const { checkpoint = "" } = await applyPatch({ ...sandbox, patch: PATCH, disk });
  return { ...sandbox, id: checkpoint };
}

/** After recovery: one whole state, nothing of ours beside the files, and every checkpoint can be restored. */
async function settled(sandbox: Sandbox): Promise<"old" | "new"> {
  await recoverWrites(sandbox.home, undefined, disk);
  const tree = await readTree(sandbox.root);
  const state = isDeepStrictEqual(tree, OLD) ? "old" : "new";
  expect(tree).toEqual(state === "old" ? OLD : NEW);
  for (const { entries } of await listRecords(sandbox.home, () => true, 10))
    for (const { before } of entries) if (before !== undefined) await readBlob(sandbox.home, before);
  return state;
}

test("killed after every single step of a restore", { timeout: 60_000 }, async () => {
  const seen = new Set<string>();
  for (let stopAt = 1; ; stopAt++) {
    const sandbox = await patched();
    try {
      const code = await runChild("restore", sandbox.home, sandbox.id, String(stopAt));
      const state = await settled(sandbox);
      seen.add(state);
      // Whatever happened, the way back is still there.
      const record = await readRecord(sandbox.home, sandbox.id);
      if (record === undefined) throw new Error("the checkpoint is gone");
      if (state === "new") {
        await restoreFiles(record, record.entries, { home: sandbox.home, by: BY, disk, force: false });
        expect(await settled(sandbox)).toBe("old");
      }
      if (code === 0) break;
      expect(code).toBeNull();
    } finally {
      await sandbox.remove();
    }
  }
  expect([...seen].sort()).toEqual(["new", "old"]);
});

test("a full disk at every single step of a restore: nothing written, nothing left over", async () => {
  for (let failAt = 1; ; failAt++) {
    const sandbox = await patched();
    try {
      let step = 0;
      const failing = Object.fromEntries(
        Object.entries(disk).map(([name, run]) => [
          name,
          (...args: unknown[]) =>
            ++step === failAt
              ? Promise.reject(
                  Object.assign(new Error("ENOSPC: injected"), { code: "ENOSPC", syscall: "write" }),
                )
              : (run as (...all: unknown[]) => Promise<void>)(...args),
        ]),
      ) as unknown as Disk;
      const packs = await readdir(packsDirectory(sandbox.home));
      const record = await readRecord(sandbox.home, sandbox.id);
      const result = await restoreFiles(record!, record!.entries, {
        home: sandbox.home,
        by: BY,
        disk: failing,
        force: false,
      }).catch((error: unknown) => error);
      const state = await settled(sandbox);
      if (result instanceof CamelError) {
        expect(result).toMatchObject({
          code: "io_error",
          message: expect.stringContaining("Nothing was written") as string,
        });
        expect(state).toBe("new");
        expect(await readdir(packsDirectory(sandbox.home))).toEqual(packs);
      } else expect(state).toBe("old");
      if (step < failAt) break;
    } finally {
      await sandbox.remove();
    }
  }
});

test("two processes write and prune at once: no change is lost, and what is kept is whole", async () => {
  const sandbox = await createSandbox({ "shared.txt": "0" });
  try {
    expect(await Promise.all(["", ""].map(() => runChild("count", sandbox.home, sandbox.root)))).toEqual([
      0, 0,
    ]);
    expect(await readTree(sandbox.root)).toEqual({ "shared.txt": "60" });
    const records = await listRecords(sandbox.home, () => true, 100);
    expect(records.length).toBeGreaterThan(0);
    expect(records.length).toBeLessThanOrEqual(8);
    // A chain: each one's old state is the next older one's new state.
    for (const [i, record] of records.entries()) {
      const [entry] = record.entries;
      await readBlob(sandbox.home, entry!.before!);
      const older = records[i + 1]?.entries[0];
      if (older !== undefined) expect(older.after?.sha256).toBe(entry?.before?.sha256);
    }
  } finally {
    await sandbox.remove();
  }
});
