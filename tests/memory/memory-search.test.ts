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
  test("answers in numbered passages with a line range, and the same structured", async () => {
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
    const { text } = await place.call(tool, { query: '-boat -"the pier"' });
    expect(text).toBe("The query only leaves words out. Add words to look for.");
    expect(await found({ query: "boat", file: "memory/work/**" })).toEqual(["memory/work/notes.md"]);
    expect(await found({ query: "boat", file: "2026-*.md", since: "2026-02-01" })).toEqual([
      "memory/2026-02-05.md",
    ]);
  });

  test("a phrase of common words is found among thousands that hold them apart, and can be left out", async () => {
    for (let at = 0; at < 40; at += 1) {
      const lines = Array.from(
        { length: 40 },
        (_, line) => `The plan of group ${line}: new plan, old group.`,
      );
      await place.write(`memory/${at}.md`, `${lines.join("\n\n")}\n`);
    }
    await place.write(
      "memory/zz.md",
      `It was about the group plan of somebody, ${"and so on ".repeat(9)}.\n`,
    );
    const tool = createMemorySearchTool();
    const { structured } = await place.call(tool, { query: '"group plan"' });
    expect(files(structured)).toEqual(["memory/zz.md"]);
    const others = await place.call(tool, { query: 'somebody -"plan somebody elsewhere" group plan' });
    expect(files(others.structured)[0]).toBe("memory/zz.md");
    const without = await place.call(tool, { query: 'somebody -"about somebody"', maxResults: 50 });
    expect(files(without.structured)).toEqual([]);
  });

  test.each([
    ["March 9", "memory/diary.md:9"],
    ["9 March 2026", "memory/diary.md:9"],
    ["2026-03-10", "memory/diary.md:13"],
    ["April 2026", "memory/diary.md:19"],
    ["3/12/26", "memory/chat.md:2"],
    ["12 March", "memory/chat.md:2"],
  ])("a date in the text, in numbers, is what %j means", async (date, wanted) => {
    await place.write(
      "memory/diary.md",
      "# Diary\n\n## 2026-03-08\n\nA walk in the park.\n\n## 2026/03/09\n\nA walk to the harbour.\n\n### 10.3.2026\n\nA walk in the rain.\n\n## Later\n\n## 2026年4月2日\n\nA walk at night.\n",
    );
    await place.write(
      "memory/chat.md",
      "[11/03/2026, 9:15] Ann: a walk was nice\n[12/03/2026, 9:15] Ann: a walk was long\n[13/03/2026, 9:15] Ann: a walk was short\n",
    );
    const { structured } = await place.call(createMemorySearchTool(), { query: `a walk on ${date}` });
    const [file, line] = wanted.split(":");
    const [first] = (structured?.results ?? []) as { file: string; startLine: number; endLine: number }[];
    expect(first).toMatchObject({ file });
    expect(first && first.startLine <= Number(line) && Number(line) <= first.endLine).toBe(true);
  });

  test("finds words in scripts without spaces, without diacritics and in other forms", async () => {
    await place.write("memory/zh.md", "我们决定星期五去北京参观博物馆。\n");
    await place.write("memory/fr.md", "Le café préféré de Zoë est fermé.\n");
    await place.write("memory/en.md", "She bought two bicycles and went home.\n");
    const tool = createMemorySearchTool();
    expect(files((await place.call(tool, { query: "博物馆在哪里" })).structured)).toEqual(["memory/zh.md"]);
    expect(files((await place.call(tool, { query: "zoe prefere" })).structured)).toEqual(["memory/fr.md"]);
    expect(files((await place.call(tool, { query: "buy bicycle" })).structured)).toEqual(["memory/en.md"]);
    await place.write("memory/phone.md", "That’s Anna’s umbrella.\n");
    await place.write("memory/it.md", "Il direttore dell'Accademia arriva domani.\n");
    await place.write("memory/tr.md", "Toplantı Ankara'da, Ali'nin ofisinde.\n");
    await place.write("memory/ja.md", "ｶﾞﾗｽの花瓶を買った。\n");
    await place.write("memory/ar.md", "وصلنا إلى المكتبة بالسيارة.\n");
    await place.write("memory/en2.md", "Her education was paid for.\n");
    for (const [query, file] of [
      ["Anna", "phone"],
      ["what's that umbrella", "phone"],
      ["accademia", "it"],
      ["Ali", "tr"],
      ["ガラス", "ja"],
      ["سيارة", "ar"],
      ["educaton", "en2"],
    ]) {
      const { structured } = await place.call(tool, { query });
      expect.soft([query, files(structured)]).toEqual([query, [`memory/${file}.md`]]);
    }
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

  test("the keyword ranking counts words", async () => {
    const place = await createPlace({ ranking: "keyword" });
    await place.write("MEMORY.md", "tea tea tea\n\ntea and milk\n");
    const { structured } = await place.call(createMemorySearchTool(), { query: "Tea milk" });
    await place.remove();
    expect(structured?.results).toMatchObject([
      { score: 3, startLine: 1 },
      { score: 2, startLine: 3 },
    ]);
  });

  test.each([
    [{ query: " " }, "Say what to look for, in a few words."],
    [{ query: "a".repeat(2001) }, "Say what to look for in at most 2000."],
    [{ query: "a", maxResults: 51 }, "Use a whole number from 1 to 50."],
    [{ query: "a", since: "soon" }, "Write it as YYYY-MM-DD."],
    [{ query: "a", until: "2026-02-31" }, "Write it as YYYY-MM-DD."],
    [
      { query: "a", since: "2026-02-02", until: "2026-02-01" },
      "Swap them: since is the first day, until the last.",
    ],
  ])("refuses %j with the next step", async (input, next) => {
    const refused = place.call(createMemorySearchTool(), input);
    await expect(refused).rejects.toMatchObject({ code: "invalid_input", next });
  });

  test("an empty parameter is none, and a query of nothing but long unknown words ends", async () => {
    await place.write("MEMORY.md", "A walk to the harbour.\n");
    const tool = createMemorySearchTool();
    const found = await place.call(tool, { query: "harbour", file: "", path: "", since: "" });
    expect(files(found.structured)).toEqual(["MEMORY.md"]);
    expect(files((await place.call(tool, { query: "x".repeat(2000) })).structured)).toEqual([]);
  });
});
