/**
 * apply_patch against its peers, in one run: `git apply` where git is there, and the real Codex binary where
 * CODEX_BIN names it (dispatched as `apply_patch`, as Codex itself does). Prints times and ratios; asserts nothing.
 */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { applyPatch } from "../../src/tools/apply-patch/apply.ts";
import { createDisk } from "../../src/tools/apply-patch/disk.ts";
import { parseDocument } from "../../src/tools/apply-patch/document.ts";
import { parsePatch } from "../../src/tools/apply-patch/parse.ts";
import { placeHunks } from "../../src/tools/apply-patch/place.ts";

interface Case {
  name: string;
  files: Record<string, string>;
  patch: string;
  /** The same change for git; absent where git has no like (fuzzy cases). */
  diff?: string;
  fails?: true;
}

async function benchPatch(print: (line: string) => void): Promise<void> {
  const base = await mkdtemp(join(tmpdir(), "camel-bench-"));
  try {
    const codex = await codexCommand(base);
    for (const one of cases()) {
      const pure = await median(5, () => Promise.resolve(planOnly(one)));
      const durable = await timed(one, base, (root, home) => ours(one, root, home, true));
      const fast = await timed(one, base, (root, home) => ours(one, root, home, false));
      const git =
        one.diff === undefined
          ? undefined
          : await timed(one, base, (root) => command("git", ["apply", "-"], root, one.diff ?? ""));
      const peer =
        codex === undefined
          ? undefined
          : await timed(one, base, (root) => command(codex, [one.patch], root, ""));
      const ratio = (other: number | undefined, name: string): string =>
        other === undefined
          ? `${name}: not run`
          : `${name} ${other.toFixed(1)} ms (ours, no fsync, is ${(fast / other).toFixed(2)}x)`;
      print(
        `${one.name}: parse+place ${pure.toFixed(1)} ms, in process ${fast.toFixed(1)} ms, with fsync ${durable.toFixed(1)} ms; ${ratio(git, "git apply")}; ${ratio(peer, "codex")}`,
      );
    }
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

function planOnly(one: Case): void {
  for (const op of parsePatch(one.patch).ops) {
    if (op.kind === "update") placeHunks(parseDocument(one.files[op.path] ?? ""), op.hunks);
  }
}

async function ours(one: Case, root: string, home: string, fsync: boolean): Promise<void> {
  await applyPatch({ root, home, patch: one.patch, disk: createDisk({ fsync }) }).catch((error: unknown) => {
    if (one.fails !== true) throw error;
  });
}

function command(program: string, args: string[], cwd: string, input: string): Promise<void> {
  spawnSync(program, args, { cwd, input, maxBuffer: 1 << 28 });
  return Promise.resolve();
}

/** A fresh tree each time, written before the clock starts. */
async function timed(
  one: Case,
  base: string,
  run: (root: string, home: string) => Promise<void>,
): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const folder = await mkdtemp(join(base, "run-"));
    const root = join(folder, "work");
    for (const [name, text] of Object.entries(one.files)) {
      await mkdir(dirname(join(root, name)), { recursive: true });
      await writeFile(join(root, name), text);
    }
    const start = performance.now();
    await run(root, join(folder, "home"));
    times.push(performance.now() - start);
    await rm(folder, { recursive: true, force: true });
  }
  return times.sort((a, b) => a - b)[2] ?? 0;
}

async function median(runs: number, run: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[runs >> 1] ?? 0;
}

/** The binary looks at the name it was called by. */
async function codexCommand(base: string): Promise<string | undefined> {
  const binary = process.env["CODEX_BIN"];
  if (binary === undefined) return undefined;
  const link = join(base, "apply_patch");
  await symlink(binary, link);
  return link;
}

function cases(): Case[] {
  const numbered = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => `line ${i} of the file, with some text`);
  const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");
  const big = numbered(25_000);
  const v4a = (body: string): string => `*** Begin Patch\n${body}*** End Patch\n`;

  const oneHunk = { at: 12_500 };
  const hunkLines = (lines: readonly string[], at: number): string =>
    ` ${lines[at - 1]}\n-${lines[at]}\n+changed ${at}\n ${lines[at + 1]}\n`;
  const range = (at: number): string => `@@ -${at},3 +${at},3 @@\n`;

  const many: Record<string, string> = {};
  let manyPatch = "";
  let manyDiff = "";
  for (let i = 0; i < 200; i++) {
    const lines = Array.from({ length: 40 }, (_, k) => `file ${i} line ${k}`);
    many[`d${i % 10}/f${i}.txt`] = text(lines);
    manyPatch += `*** Update File: d${i % 10}/f${i}.txt\n@@\n${hunkLines(lines, 20)}`;
    manyDiff += `--- a/d${i % 10}/f${i}.txt\n+++ b/d${i % 10}/f${i}.txt\n${range(20)}${hunkLines(lines, 20)}`;
  }

  const huge = numbered(100_000);
  let hunks = "";
  let hugeDiff = "";
  for (let i = 0; i < 5_000; i++) {
    const at = i * 20 + 10;
    hunks += `@@\n${hunkLines(huge, at)}`;
    hugeDiff += range(at) + hunkLines(huge, at);
  }
  const same = Array.from({ length: 100_000 }, (_, i) => (i % 50 === 0 ? `mark ${i}` : "    same();  "));
  const fuzzy = Array.from({ length: 2_000 }, (_, i) => `@@\n mark ${i * 50}\n-same();\n+other();\n`).join(
    "",
  );
  const missing = Array.from({ length: 200 }, () => " same();\n").join("") + "-absent();\n+x\n";
  return [
    {
      name: "one hunk in 1 MB",
      files: { "f.txt": text(big) },
      patch: v4a(`*** Update File: f.txt\n@@\n${hunkLines(big, oneHunk.at)}`),
      diff: `--- a/f.txt\n+++ b/f.txt\n${range(oneHunk.at)}${hunkLines(big, oneHunk.at)}`,
    },
    { name: "200 files", files: many, patch: v4a(manyPatch), diff: manyDiff },
    {
      name: "5,000 hunks in 100k lines",
      files: { "f.txt": text(huge) },
      patch: v4a(`*** Update File: f.txt\n${hunks}`),
      diff: `--- a/f.txt\n+++ b/f.txt\n${hugeDiff}`,
    },
    {
      name: "worst-case fuzzy",
      files: { "f.txt": text(same) },
      patch: v4a(`*** Update File: f.txt\n${fuzzy}`),
    },
    {
      name: "worst-case not found",
      files: { "f.txt": text(same) },
      patch: v4a(`*** Update File: f.txt\n@@\n${missing}`),
      fails: true,
    },
  ];
}

await benchPatch((line) => void process.stdout.write(`${line}\n`));
