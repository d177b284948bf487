import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBlob } from "../../src/stores/checkpoints/blobs.ts";
import { readRecord } from "../../src/stores/checkpoints/records.ts";
import { createMemorySearchTool } from "../../src/tools/memory/memory-search.ts";
import { memoryWrite } from "../../src/tools/memory/memory-write.ts";
import { createPlace, type Place } from "./helpers.ts";

let place: Place;
beforeEach(async () => {
  place = await createPlace();
});
afterEach(() => place.remove());

const read = (path: string): Promise<string> => readFile(join(place.root, path), "utf8");

describe("memory_write", () => {
  test("appends to today's file, and search finds it at once", async () => {
    const search = createMemorySearchTool();
    await place.call(search, { query: "orchid" });
    const { structured } = await place.call(memoryWrite, {
      text: "The orchid needs water on Sundays.",
    });
    expect(structured).toEqual({ action: "append", file: "memory/2026-03-09.md", line: 1 });
    expect((await place.call(search, { query: "orchid" })).text).toContain("memory/2026-03-09.md:1-1");
  });

  test("puts a note at the end of its section and makes a missing heading", async () => {
    await place.write("MEMORY.md", "# Home\n\nold\n\n# Work\n\nnine to five\n");
    await place.call(memoryWrite, { file: "MEMORY.md", heading: "home", text: "new" });
    await place.call(memoryWrite, { file: "MEMORY.md", heading: "Pets", text: "a cat" });
    expect(await read("MEMORY.md")).toBe(
      "# Home\n\nold\n\nnew\n\n# Work\n\nnine to five\n\n## Pets\n\na cat\n",
    );
  });

  test("replaces and forgets exact text, and keeps the old file", async () => {
    await place.write("memory/a.md", "one\ntwo\nthree\n");
    const tool = memoryWrite;
    const { structured } = await place.call(tool, {
      action: "replace",
      file: "memory/a.md",
      oldText: "two",
      text: "2",
    });
    const record = await readRecord(place.home, String(structured?.["checkpoint"]));
    const [entry] = record?.entries ?? [];
    expect((await readBlob(place.home, entry!.before!)).toString()).toBe("one\ntwo\nthree\n");
    await place.call(tool, { action: "forget", file: "memory/a.md", oldText: "2" });
    expect(await read("memory/a.md")).toBe("one\nthree\n");
    await place.write("memory/p.md", "one\n\ntwo\n\n## End\n");
    await place.call(tool, { action: "forget", file: "memory/p.md", oldText: "two" });
    expect(await read("memory/p.md")).toBe("one\n\n## End\n");
    await expect(
      place.call(tool, { action: "forget", file: "memory/a.md", oldText: "e" }),
    ).rejects.toMatchObject({
      code: "conflict",
    });
  });

  test("doesn't write through a link to what is not memory", async () => {
    await place.write("Makefile", "all:\n");
    await symlink("../Makefile", join(place.root, "memory", "notes.md"));
    await symlink("..", join(place.root, "memory", "up"));
    for (const file of ["memory/notes.md", "memory/up/other.md"])
      await expect(place.call(memoryWrite, { file, text: "evil: ; evil" }), file).rejects.toThrow(
        /not memory/,
      );
    expect(await read("Makefile")).toBe("all:\n");
  });

  test("loses none of many notes written at once", async () => {
    const tool = memoryWrite;
    await Promise.all(Array.from({ length: 60 }, (_, at) => place.call(tool, { text: `note ${at} end` })));
    const text = await read("memory/2026-03-09.md");
    for (let at = 0; at < 60; at += 1) expect(text).toContain(`note ${at} end\n`);
  });

  test("keeps CRLF line ends, whatever it is sent", async () => {
    await place.write("memory/a.md", "# One\r\n\r\nfirst\r\n\r\n# Two\r\n\r\nlast");
    await place.call(memoryWrite, { file: "memory/a.md", heading: "One", text: "new\nlines" });
    await place.call(memoryWrite, { file: "memory/a.md", text: "end" });
    await place.call(memoryWrite, {
      file: "memory/a.md",
      action: "replace",
      oldText: "new\nlines",
      text: "x\ny",
    });
    await place.call(memoryWrite, { file: "memory/a.md", action: "forget", oldText: "first\n" });
    expect(await read("memory/a.md")).toBe("# One\r\n\r\n\r\nx\r\ny\r\n\r\n# Two\r\n\r\nlast\r\n\r\nend\r\n");
  });

  test("a heading in code is none, one of several lines is refused, marks are dropped", async () => {
    await place.write("memory/a.md", "```\n# Log\n```\n\n## Log ##\n\nold\n\n## Next\n");
    await place.call(memoryWrite, { file: "memory/a.md", heading: "## log", text: "new" });
    expect(await read("memory/a.md")).toBe("```\n# Log\n```\n\n## Log ##\n\nold\n\nnew\n\n## Next\n");
    await expect(place.call(memoryWrite, { heading: "a\n# b", text: "x" })).rejects.toMatchObject({
      code: "invalid_input",
    });
  });

  test("writes to the memory.md that is there, and never to bytes that aren't text", async () => {
    await place.write("memory.md", "old\n");
    await place.call(memoryWrite, { file: "MEMORY.md", text: "new" });
    expect(await read("memory.md")).toBe("old\n\nnew\n");
    await place.write("memory/bad.md", Uint8Array.of(0x61, 0xff));
    await expect(place.call(memoryWrite, { file: "memory/bad.md", text: "x" })).rejects.toMatchObject({
      code: "not_text",
    });
    await expect(
      place.call(memoryWrite, { action: "forget", file: "memory/none.md", oldText: "x" }),
    ).rejects.toMatchObject({ code: "not_found" });
  });

  test.each([
    "password: correct-horse-battery",
    `glpat-${"a1".repeat(10)}`,
    `npm_${"a1".repeat(18)}`,
    `AIza${"a1".repeat(17)}b`,
    `sk_live_${"a1".repeat(12)}`,
    `hf_${"a1".repeat(12)}`,
    `Authorization: Bearer ${"a1".repeat(12)}`,
  ])("refuses what looks like a credential: %s", async (text) => {
    await expect(place.call(memoryWrite, { text })).rejects.toMatchObject({ code: "denied_by_policy" });
  });

  test("a bearer of good news and a house key are no credentials", async () => {
    await place.call(memoryWrite, { text: "The bearer of good news left the key: under the mat.", file: "" });
    expect(await read("memory/2026-03-09.md")).toContain("good news");
  });

  test.each([
    [{ text: "a\0b" }, "Send it without."],
    [{ action: "forget" }, "Send the exact text as oldText; memory_get shows it."],
  ])("refuses %j with the next step", async (input, next) => {
    await expect(place.call(memoryWrite, input)).rejects.toMatchObject({ code: "invalid_input", next });
  });

  test("refuses paths outside memory", async () => {
    for (const file of ["../x.md", "memory/../../x.md", "notes.md", "memory/.hidden.md", "memory/x.txt"]) {
      await expect(place.call(memoryWrite, { file, text: "x" })).rejects.toMatchObject({
        code: "path_outside_root",
      });
    }
  });
});
