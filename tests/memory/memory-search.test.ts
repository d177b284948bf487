import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createMemorySearchTool } from "../../src/tools/memory/memory-search.ts";
import { createPlace, type Place } from "./helpers.ts";

let place: Place;
beforeEach(async () => {
  place = await createPlace();
});
afterEach(() => place.remove());

const files = (structured: Record<string, unknown> | undefined): string[] =>
  ((structured?.results ?? []) as { file: string }[]).map(({ file }) => file);

describe("memory_search", () => {
  test("answers in the seed's format with a line range, and the same structured", async () => {
    await place.write("memory/2026-03-09.md", "# Monday\n\nWe chose the blue tiles for the kitchen.\n");
    const { text, structured } = await place.call(createMemorySearchTool(), { query: "kitchen tiles" });
    expect(text).toMatch(
      /^\[1\] memory\/2026-03-09\.md:3-3 \(score: [\d.]+\)\nWe chose the blue tiles for the kitchen\./,
    );
    expect(structured?.results).toMatchObject([
      { file: "memory/2026-03-09.md", startLine: 3, endLine: 3, heading: "Monday" },
    ]);
  });

  test("sees a file added, changed and deleted a moment ago", async () => {
    const tool = createMemorySearchTool();
    await place.write("memory/a.md", "The cat is called Minka.\n");
    expect(files((await place.call(tool, { query: "Minka" })).structured)).toEqual(["memory/a.md"]);
    await place.write("memory/deep/b.md", "Minka likes the warm windowsill.\n");
    expect(files((await place.call(tool, { query: "windowsill" })).structured)).toEqual(["memory/deep/b.md"]);
    await place.write("memory/a.md", "The dog is called Bruno now.\n");
    expect(files((await place.call(tool, { query: "Bruno" })).structured)).toEqual(["memory/a.md"]);
    expect(files((await place.call(tool, { query: "Minka" })).structured)).toEqual(["memory/deep/b.md"]);
    await rm(join(place.root, "memory/deep"), { recursive: true });
    expect(files((await place.call(tool, { query: "Minka" })).structured)).toEqual([]);
  });

  test("phrases, excluded words, globs and dates narrow the answer", async () => {
    await place.write("memory/2026-01-05.md", "The red boat sank near the pier.\n");
    await place.write("memory/2026-02-05.md", "The boat is red and the pier is new.\n");
    await place.write("memory/work/notes.md", "A red boat for the office party.\n");
    const tool = createMemorySearchTool();
    const found = async (input: Record<string, unknown>): Promise<string[]> =>
      files((await place.call(tool, input)).structured).sort();
    expect(await found({ query: '"red boat"' })).toEqual(["memory/2026-01-05.md", "memory/work/notes.md"]);
    expect(await found({ query: "boat -party" })).toEqual(["memory/2026-01-05.md", "memory/2026-02-05.md"]);
    expect(await found({ query: "boat", file: "memory/work/**" })).toEqual(["memory/work/notes.md"]);
    expect(await found({ query: "boat", file: "2026-*.md", since: "2026-02-01" })).toEqual([
      "memory/2026-02-05.md",
    ]);
  });

  test("finds words in scripts without spaces, without diacritics and in other forms", async () => {
    await place.write("memory/zh.md", "我们决定星期五去北京参观博物馆。\n");
    await place.write("memory/fr.md", "Le café préféré de Zoë est fermé.\n");
    await place.write("memory/en.md", "She bought two bicycles and went home.\n");
    const tool = createMemorySearchTool();
    expect(files((await place.call(tool, { query: "博物馆在哪里" })).structured)).toEqual(["memory/zh.md"]);
    expect(files((await place.call(tool, { query: "zoe prefere" })).structured)).toEqual(["memory/fr.md"]);
    expect(files((await place.call(tool, { query: "buy bicycle" })).structured)).toEqual(["memory/en.md"]);
  });

  test("skips links, binary and broken text with a count", async () => {
    await writeFile(join(place.root, "outside.txt"), "secret harbour");
    await symlink(join(place.root, "outside.txt"), join(place.root, "memory/link.md"));
    await place.write("memory/bad.md", new Uint8Array([0x68, 0xff, 0xfe]));
    await place.write("memory/ok.md", "harbour notes for the summer\n");
    const { structured } = await place.call(createMemorySearchTool(), { query: "harbour" });
    expect(files(structured)).toEqual(["memory/ok.md"]);
    expect(structured?.note).toBe("Not searched: 1 symbolic links, 1 not UTF-8 text.");
  });

  test("the seed's own ranking counts keywords", async () => {
    const place = await createPlace({ ranking: "keyword" });
    await place.write("MEMORY.md", "tea tea tea\n\ntea and milk\n");
    const { structured } = await place.call(createMemorySearchTool(), { query: "Tea milk" });
    await place.remove();
    expect(structured?.results).toMatchObject([
      { score: 3, startLine: 1 },
      { score: 2, startLine: 3 },
    ]);
  });

  test("refuses an empty query and a bad date with the next step", async () => {
    await expect(place.call(createMemorySearchTool(), { query: " " })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(place.call(createMemorySearchTool(), { query: "a", since: "soon" })).rejects.toMatchObject({
      next: "Write it as YYYY-MM-DD.",
    });
  });
});
