import { execFileSync } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CLI, runCli, sandbox, type Sandbox } from "../harness.ts";

const PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n*** End Patch\n";

const box = (): Promise<Sandbox> =>
  sandbox({
    "workspace/a.txt": "one\ntwo\n",
    "workspace/p.patch": PATCH,
    "workspace/bad.patch": "nothing\n",
  });
const content = (own: Sandbox): Promise<string> => readFile(join(own.workspace, "a.txt"), "utf8");

test.each([[["patch"]], [["patch", "-"]]])("%j reads standard input", async (args) => {
  const own = await box();
  const { code, stdout, stderr } = await runCli(args, own, { stdin: PATCH });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("M a.txt (+1 -1) lines 2");
  expect(stdout).not.toContain("\u001B");
  expect(await content(own)).toBe("one\nTWO\n");
});

test("a file, in the current folder; --dry-run writes nothing", async () => {
  const own = await box();
  const dry = await runCli(["patch", "p.patch", "--dry-run"], own);
  expect(dry.code).toBe(0);
  expect(dry.stdout).toContain("Dry run");
  expect(await content(own)).toBe("one\ntwo\n");
  expect((await runCli(["patch", "p.patch"], own)).code).toBe(0);
  expect(await content(own)).toBe("one\nTWO\n");
});

test("applied twice: exit 1, the reason on stderr, nothing on stdout", async () => {
  const own = await box();
  await runCli(["patch", "p.patch"], own);
  const { code, stdout, stderr } = await runCli(["patch", "p.patch"], own);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("already applied");
});

test("--json prints the data, of a failure too", async () => {
  const own = await box();
  const good = await runCli(["patch", "p.patch", "--json"], own);
  expect(JSON.parse(good.stdout)).toMatchObject({ applied: true, files: [{ status: "M", path: "a.txt" }] });
  const bad = await runCli(["patch", "bad.patch", "--json"], own);
  expect(bad.code).toBe(1);
  expect(JSON.parse(bad.stdout)).toMatchObject({ error: { code: "patch_invalid" } });
});

test("no patch is a usage error; a missing file and other bytes than UTF-8 are errors", async () => {
  const own = await box();
  expect((await runCli(["patch"], own, { stdin: " \n" })).code).toBe(2);
  expect((await runCli(["patch", "none.patch"], own)).code).toBe(1);
  await own.write("workspace/latin.patch", Buffer.from(PATCH.replace("TWO", "caf\u00E9"), "latin1"));
  const { code, stderr } = await runCli(["patch", "latin.patch"], own);
  expect(code).toBe(1);
  expect(stderr).toContain("not UTF-8");
  expect(await content(own)).toBe("one\ntwo\n");
});

test("a large patch tells its progress on stderr", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 120 }, (_, i) => [`workspace/f${i}.txt`, "old\n"] as const),
  );
  const own = await sandbox(files);
  const sections = Array.from({ length: 120 }, (_, i) => `*** Update File: f${i}.txt\n@@\n-old\n+new\n`);
  const { code, stderr } = await runCli(["patch"], own, {
    stdin: `*** Begin Patch\n${sections.join("")}*** End Patch\n`,
  });
  expect(code).toBe(0);
  expect(stderr).toContain("100/120 files");
});

test("two at once: both are applied, one after the other", async () => {
  const own = await sandbox({ "workspace/a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n" });
  const patches = Array.from(
    { length: 4 },
    (_, i) => `*** Begin Patch\n*** Update File: a.txt\n@@\n-${2 * i + 1}\n+x${i}\n*** End Patch\n`,
  );
  const results = await Promise.all(patches.map((stdin) => runCli(["patch"], own, { stdin })));
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(await content(own)).toBe("x0\n2\nx1\n4\nx2\n6\nx3\n8\n");
  expect(await readdir(own.workspace)).toEqual(["a.txt"]);
});

const hasScript = process.platform === "linux" && canRun("script", ["--version"]);

test.skipIf(!hasScript)("colours on a terminal, unless NO_COLOR", async () => {
  const run = (own: Sandbox, env: Record<string, string>): string =>
    execFileSync("script", ["-qec", `'${process.execPath}' '${CLI}' patch p.patch`, "/dev/null"], {
      cwd: own.workspace,
      env: {
        PATH: process.env["PATH"],
        HOME: own.home,
        CAMELAGI_HOME: own.home,
        TERM: "xterm-256color",
        ...env,
      },
      encoding: "utf8",
    });
  expect(run(await box(), {})).toContain("\u001B[32m+TWO\u001B[0m");
  expect(run(await box(), { NO_COLOR: "1" })).not.toContain("\u001B[");
});

function canRun(program: string, args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
