/**
 * apply_patch against its peers, in one run: the real Codex binary (called by the name `apply_patch`, as Codex does
 * itself) and `git apply`. Ours is timed in process, with and without fsync, and as a command; the peers are
 * commands. Prints medians and ratios; asserts nothing.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { applyPatch } from "../../src/tools/apply-patch/apply.ts";
import { createDisk } from "../../src/stores/checkpoints/disk.ts";
import { patchCases, type PatchCase } from "./patch-cases.ts";

const CODEX = "0.169.0";
const RUNS = 5;

type Runner = (root: string, home: string) => Promise<boolean> | boolean;

async function main(print: (line: string) => void): Promise<void> {
  const base = await mkdtemp(join(tmpdir(), "camel-bench-"));
  try {
    const codex = await codexCommand(base);
    if (codex === undefined) print("codex: no binary for this platform");
    const cli = resolve("dist/cli.js");
    for (const one of patchCases()) {
      const time = (run: Runner): Promise<number | undefined> => median(one, base, run);
      const memory = await time((root, home) => inProcess(one, root, home, false));
      const durable = await time((root, home) => inProcess(one, root, home, true));
      const command = await time((root, home) =>
        commandRuns(process.execPath, [cli, "patch", "--home", home], root, one.patch),
      );
      print(one.name);
      print(`  in process, no fsync  ${shown(memory)}`);
      print(`  in process, fsync     ${shown(durable)}`);
      print(`  as a command          ${shown(command)}`);
      const { diff } = one;
      const peers: [string, Runner | undefined][] = [
        ["codex", codex === undefined ? undefined : (root) => commandRuns(codex, [], root, one.patch)],
        [
          "git apply",
          diff === undefined ? undefined : (root) => commandRuns("git", ["apply", "-"], root, diff),
        ],
      ];
      for (const [name, run] of peers) {
        if (run === undefined) continue;
        const peer = await time(run);
        const ratio = (ours: number | undefined): string =>
          ours === undefined || peer === undefined ? "-" : `${(ours / peer).toFixed(2)}x`;
        print(
          `  ${name.padEnd(21)} ${shown(peer)}; ours: ${ratio(memory)} without fsync, ${ratio(durable)} with, ${ratio(command)} as a command`,
        );
      }
    }
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

function shown(milliseconds: number | undefined): string {
  return milliseconds === undefined ? "fails" : `${milliseconds.toFixed(1)} ms`;
}

async function inProcess(one: PatchCase, root: string, home: string, fsync: boolean): Promise<boolean> {
  return applyPatch({ root, home, patch: one.patch, disk: createDisk({ fsync }) }).then(
    () => true,
    () => false,
  );
}

function commandRuns(program: string, args: string[], cwd: string, input: string): boolean {
  return spawnSync(program, args, { cwd, input, maxBuffer: 1 << 28 }).status === 0;
}

/** A fresh tree each time, written before the clock starts. Undefined: it doesn't end as the case says. */
async function median(one: PatchCase, base: string, run: Runner): Promise<number | undefined> {
  const times: number[] = [];
  // One more, which doesn't count: a server has warmed up after its first patch.
  for (let i = -1; i < RUNS; i++) {
    const folder = await mkdtemp(join(base, "run-"));
    const root = join(folder, "work");
    for (const [name, text] of Object.entries(one.files)) {
      await mkdir(dirname(join(root, name)), { recursive: true });
      await writeFile(join(root, name), text);
    }
    const start = performance.now();
    const applied = await run(root, join(folder, "home"));
    if (i >= 0) times.push(performance.now() - start);
    await rm(folder, { recursive: true, force: true });
    if (applied !== one.applies) return undefined;
  }
  return times.sort((a, b) => a - b)[RUNS >> 1];
}

/** The binary looks at the name it was called by. CODEX_BIN names another one. */
async function codexCommand(base: string): Promise<string | undefined> {
  const binary = process.env["CODEX_BIN"] ?? (await codexBinary());
  if (binary === undefined || !existsSync(binary)) return undefined;
  const link = join(base, "apply_patch");
  await symlink(binary, link);
  return link;
}

const TARGETS: Record<string, string> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};

async function codexBinary(): Promise<string | undefined> {
  const platform = `${process.platform}-${process.arch}`;
  const target = TARGETS[platform];
  if (target === undefined) return undefined;
  // npm runs scripts in the repository's folder. Not bundled: that file finds the cache by its own place.
  const cache = (await import(pathToFileURL(resolve("scripts/cache.mjs")).href)) as {
    installed(name: string, packages: Record<string, string>): Promise<string>;
  };
  const modules = await cache.installed("codex", { "@openai/codex": CODEX });
  return join(modules, `@openai/codex-${platform}`, "vendor", target, "bin", "codex");
}

await main((line) => void process.stdout.write(`${line}\n`));
