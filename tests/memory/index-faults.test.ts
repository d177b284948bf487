import { spawn } from "node:child_process";
import { watch } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { buildInWorker } from "../../src/tools/memory/search/build-in-worker.ts";
import type { BuildMessage } from "../../src/tools/memory/search/build-blocks.ts";
import { MemoryIndex } from "../../src/tools/memory/search/memory-index.ts";
import { decodeSegment, loadSegments } from "../../src/tools/memory/search/persist.ts";
import { searchMemory } from "../../src/tools/memory/search/search.ts";
import { CLI } from "../harness.ts";
import { createPlace, type Place } from "./helpers.ts";

/** More files than a delta holds, so that the worker builds and the index is saved. */
const MANY = 120;

async function filled(count = MANY): Promise<Place> {
  const place = await createPlace();
  onTestFinished(() => place.remove());
  for (let at = 0; at < count; at += 1) {
    await place.write(
      `memory/${at % 7}/n${at}.md`,
      `# Note ${at}\n\nThe lighthouse keeper number w${at} paints.\n`,
    );
  }
  return place;
}

function open(place: Place): MemoryIndex {
  const index = new MemoryIndex(place.root, place.home);
  onTestFinished(async () => {
    index.close();
    // Before its folder is removed: what is being saved would be written into it again.
    await index.settled();
  });
  return index;
}

async function found(index: MemoryIndex, query: string, maxResults = 50): Promise<string[]> {
  const { hits } = await searchMemory([{ index, prefix: "" }], { query, maxResults });
  return hits.map(({ file }) => file).sort();
}

/** Every file with the word: the keyword count reads all the files the index calls alive. */
async function all(index: MemoryIndex, query: string): Promise<string[]> {
  const request = { query, maxResults: 10_000, ranking: "keyword" } as const;
  const { hits } = await searchMemory([{ index, prefix: "" }], request);
  return hits.map(({ file }) => file).sort();
}

function cli(
  args: string[],
  options: { shell?: string } = {},
): Promise<{ code: number | null; out: string; err: string }> {
  const argv = [process.execPath, CLI, ...args];
  const child =
    options.shell === undefined
      ? spawn(argv[0] ?? "", argv.slice(1))
      : spawn("sh", ["-c", `${options.shell} exec "$@"`, "sh", ...argv]);
  let out = "";
  let err = "";
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => (err += text));
  return new Promise((resolve) => {
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

test("a worker builds while other work of this thread goes on", async () => {
  const place = await filled(600);
  const index = open(place);
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const progress: number[] = [];
  await index.refresh({ progress: (done) => progress.push(done) });
  isDone = true;
  expect(turns).toBeGreaterThan(20);
  expect(progress).toEqual([250, 500, 600]);
  expect(await found(index, "w77")).toEqual(["memory/0/n77.md"]);
});

test("without a worker the same is built here", async () => {
  const place = await filled(70);
  const paths = Array.from({ length: 70 }, (_, at) => `memory/${at % 7}/n${at}.md`);
  const build = async (entry?: URL): Promise<unknown> => {
    const messages: BuildMessage[] = [];
    await buildInWorker({ root: place.root, paths }, (message) => messages.push(message), entry);
    return messages.map((message) =>
      message.kind === "block" ? decodeSegment(message.bytes)?.postings.length : message,
    );
  };
  expect(await build(new URL("file:///nowhere/worker.js"))).toEqual(await build());
});

test("a saved index is used by the next process and damaged at any byte it is built anew", async () => {
  const place = await filled();
  const index = open(place);
  await index.refresh();
  await index.settled();
  const whole = await readFile(index.savePath);
  expect((await loadSegments(index.savePath)).length).toBe(1);
  const damage = async (bytes: Buffer): Promise<void> => {
    await writeFile(index.savePath, bytes);
    expect(await loadSegments(index.savePath)).toEqual([]);
  };
  const step = Math.ceil(whole.length / 150);
  for (let at = 0; at < whole.length; at += at < 64 ? 1 : step) {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    await damage(bytes);
    if (at > 0) await damage(whole.subarray(0, at));
  }
  await damage(Buffer.concat([whole, Buffer.from("more")]));
  const again = open(place);
  expect(await found(again, "w33")).toEqual(["memory/5/n33.md"]);
  await again.settled();
  expect((await loadSegments(index.savePath)).length).toBe(1);
});

test("what changed while nobody watched is seen by the next process", async () => {
  const place = await filled();
  const first = open(place);
  await first.refresh();
  await first.settled();
  first.close();
  await writeFile(join(place.root, "memory/0/n0.md"), "Now about a tugboat.\n");
  await rm(join(place.root, "memory/1"), { recursive: true });
  await mkdir(join(place.root, "memory/new.md"));
  await writeFile(join(place.root, "memory/new.md/inner.md"), "A tugboat in a folder called new.md.\n");
  const second = open(place);
  expect(await found(second, "tugboat")).toEqual(["memory/0/n0.md", "memory/new.md/inner.md"]);
  expect(await found(second, "w1 w8 w15")).not.toContain("memory/1/n1.md");
});

test("a change of the same size in the same moment is seen", async () => {
  const place = await filled(3);
  const index = open(place);
  for (let at = 0; at < 30; at += 1) {
    const word = `word${String(at).padStart(3, "0")}`;
    await writeFile(join(place.root, "memory/0/n0.md"), `${word}\n`);
    if (at % 3 === 0) index.close();
    expect(await found(index, word)).toEqual(["memory/0/n0.md"]);
  }
});

test("files changed, deleted, truncated and replaced by folders while the index is built and after", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          file: fc.nat(MANY - 1),
          act: fc.constantFrom("change", "delete", "folder", "truncate", "move", "binary"),
        }),
        { minLength: 5, maxLength: 40 },
      ),
      async (acts) => {
        const place = await filled();
        const index = open(place);
        const building = index.refresh();
        for (const { file, act } of acts) {
          const path = join(place.root, `memory/${file % 7}/n${file}.md`);
          if (act === "delete") await rm(path, { recursive: true, force: true });
          else if (act === "folder") {
            await rm(path, { recursive: true, force: true });
            await mkdir(path);
            await writeFile(join(path, "inside.md"), `lighthouse inside ${file}\n`);
          } else if (act === "truncate") await truncate(path, 3).catch(() => {});
          else if (act === "move") await rename(path, `${path}.moved.md`).catch(() => {});
          else
            await writeFile(path, act === "binary" ? "lighthouse \0" : `lighthouse now ${file}\n`).catch(
              () => {},
            );
          if (file % 5 === 0) await found(index, "lighthouse");
        }
        await building;
        const fresh = new MemoryIndex(place.root, join(place.home, "other"));
        expect(await all(index, "lighthouse")).toEqual(await all(fresh, "lighthouse"));
        expect(index.fileCount).toBe(fresh.fileCount);
        expect(index.skipped).toEqual(fresh.skipped);
        fresh.close();
        await fresh.settled();
      },
    ),
    { numRuns: 8 },
  );
});

test("a folder deleted and made again under its name is watched again", async () => {
  const place = await filled(10);
  const index = open(place);
  await found(index, "lighthouse");
  for (let round = 0; round < 3; round += 1) {
    await rm(join(place.root, "memory/2"), { recursive: true });
    await place.write("memory/2/again.md", `A submarine in round ${round}.\n`);
    expect(await found(index, "submarine")).toEqual(["memory/2/again.md"]);
    await place.write("memory/2/again.md", `A zeppelin in round ${round}.\n`);
    expect(await found(index, "zeppelin")).toEqual(["memory/2/again.md"]);
    expect(await found(index, "submarine")).toEqual([]);
  }
});

test("many changes make blocks of their own, and too many blocks are merged", async () => {
  const place = await filled();
  const index = open(place);
  await index.refresh();
  for (let round = 0; round < 20; round += 1) {
    for (let at = 0; at < 70; at += 1)
      await place.write(`memory/${at % 7}/n${at}.md`, `round${round} of w${at}\n`);
    expect(await found(index, `round${round}`)).toHaveLength(50);
    expect(await found(index, "w119")).toEqual(["memory/0/n119.md"]);
  }
  expect(index.fileCount).toBe(MANY);
  expect(index.segments.length).toBeLessThan(20);
});

test("three processes build at once; none waits, all find, one whole index is left", async () => {
  const place = await filled();
  const args = [
    "memory",
    "search",
    "lighthouse w42",
    "--json",
    "--home",
    place.home,
    "--memory-root",
    place.root,
  ];
  const runs = await Promise.all([cli(args), cli(args), cli(args)]);
  for (const { code, out } of runs) {
    expect(code).toBe(0);
    expect((JSON.parse(out) as { results: { file: string }[] }).results[0]?.file).toBe("memory/0/n42.md");
  }
  const names = await readdir(join(place.home, "index"));
  expect(names).toHaveLength(1);
  expect(await loadSegments(join(place.home, "index", names[0] ?? ""))).toHaveLength(1);
});

test("a disk that takes nothing more costs the saved index, not the answer", async () => {
  const place = await filled();
  const run = await cli(
    ["memory", "search", "lighthouse w42", "--json", "--home", place.home, "--memory-root", place.root],
    // A write past the limit fails as on a full disk, part of it written.
    { shell: "trap '' XFSZ; ulimit -f 2;" },
  );
  expect(run.err).toContain("memory index not saved");
  expect((JSON.parse(run.out) as { results: { file: string }[] }).results[0]?.file).toBe("memory/0/n42.md");
  expect(await readdir(join(place.home, "index"))).toEqual([]);
});

test("kill -9 while the index is saved leaves the old one or none, and its rest is cleared away", async () => {
  const place = await filled(400);
  const folder = join(place.home, "index");
  await mkdir(folder, { recursive: true });
  const args = ["memory", "reindex", "--home", place.home, "--memory-root", place.root];
  for (let round = 0; round < 4; round += 1) {
    const child = spawn(process.execPath, [CLI, ...args], { stdio: "ignore" });
    const ended = new Promise((resolve) => child.on("close", resolve));
    // The temporary file appears when the saving begins.
    const watcher = watch(folder, (_kind, name) => {
      if (name?.endsWith(".tmp") === true) child.kill("SIGKILL");
    });
    await ended;
    watcher.close();
    for (const name of (await readdir(folder)).filter((one) => one.endsWith(".idx")))
      expect(await loadSegments(join(folder, name))).toHaveLength(1);
    expect(await found(open(place), "w42")).toEqual(["memory/0/n42.md"]);
  }
  for (const name of await readdir(folder)) await utimes(join(folder, name), 1, 1);
  expect((await cli(args)).code).toBe(0);
  const left = await readdir(folder);
  expect(left).toHaveLength(1);
  expect(await loadSegments(join(folder, left[0] ?? ""))).toHaveLength(1);
});
