import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { progressBar } from "../../src/commands/progress-bar.ts";
import { highlight } from "../../src/tools/memory/search/highlight.ts";
import { CLI, sandbox, type Sandbox } from "../harness.ts";

function run(
  box: Sandbox,
  args: string[],
  input = "",
): Promise<{ code: number | null; out: string; err: string }> {
  const where = ["--home", box.home, "--workspace", box.workspace];
  const child = spawn(process.execPath, [CLI, "memory", ...args, ...where]);
  let out = "";
  let err = "";
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => (err += text));
  child.stdin.end(input);
  return new Promise((resolve) => {
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

test("add, search, get, list, stats and reindex from the shell", async () => {
  const box = await sandbox({ "workspace/memory/tea.md": "one\nGreen tea at four.\nthree\n" });
  expect((await run(box, ["add", "Coffee is out of stock.", "--file", "memory/shop.md"])).out).toBe(
    "Added to memory/shop.md:1.\n",
  );
  expect(
    (await run(box, ["add", "-", "--file", "memory/shop.md", "--heading", "Later"], "Buy sugar.\n")).code,
  ).toBe(0);
  const secret = ["add", "password: hunter2hunter2", "--file", "memory/box.md"];
  expect(await run(box, secret)).toMatchObject({
    code: 1,
    err: expect.stringContaining("--allow-secrets") as string,
  });
  expect((await run(box, [...secret, "--allow-secrets"])).code).toBe(0);
  const found = await run(box, ["search", "sugar", "--json"]);
  expect(JSON.parse(found.out)).toMatchObject({ results: [{ file: "memory/shop.md", startLine: 5 }] });
  expect((await run(box, ["search", "tea"])).out).toMatch(/^\[1\] memory\/tea\.md:1-3 \(score/);
  expect((await run(box, ["get", "memory/tea.md:2-2"])).out).toBe("2: Green tea at four.\n");
  expect((await run(box, ["list", "t*.md"])).out).toBe("memory/tea.md\n");
  expect(JSON.parse((await run(box, ["stats", "--json"])).out)).toMatchObject({ files: 3, savedBytes: 0 });
  expect(JSON.parse((await run(box, ["reindex", "--json"])).out)).toMatchObject({
    files: 3,
    savedBytes: expect.any(Number) as number,
  });
});

test("policy holds for the shell too, and mistakes are told", async () => {
  const box = await sandbox({
    "workspace/memory/private/a.md": "walrus\n",
    "home/config.yaml": "autonomy: { level: readonly, forbiddenPaths: ['memory/private'] }\n",
  });
  expect((await run(box, ["add", "x"])).code).toBe(1);
  expect((await run(box, ["search", "walrus"])).out).not.toContain("[1]");
  expect((await run(box, ["list"])).out).toBe("There are no such memory files.\n");
  const usage = await run(box, ["serach", "x"]);
  expect(usage).toMatchObject({ code: 2, out: "" });
  expect(usage.err).toContain("search, get, add");
});

test("matches are painted in every form the index takes for the same word", () => {
  const paint = (word: string): string => `<${word}>`;
  expect(highlight("He bought bicycles for Zoë.", "did zoe buy a bicycle -boat", paint)).toBe(
    "He <bought> <bicycles> for <Zoë>.",
  );
  expect(highlight("我们去北京参观", "北京", paint)).toBe("我们去<北京>参观");
});

test("the progress bar draws on a terminal only", () => {
  const lines: string[] = [];
  const out = (isTTY: boolean) => ({ isTTY, write: (text: string) => lines.push(text) });
  const silent = progressBar(out(false));
  silent.show({ progress: 1, total: 2 });
  silent.clear();
  expect(lines).toEqual([]);
  const bar = progressBar(out(true));
  bar.show({ progress: 5, total: 10, message: "indexing memory" });
  bar.clear();
  bar.clear();
  expect(lines).toEqual(["\r\u001B[K[############------------] 5/10 indexing memory", "\r\u001B[K"]);
});
