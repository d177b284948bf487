import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, CLIENTS, connect, sandbox, startCamel, type AnyClient } from "../harness.ts";

interface Answer {
  results: { file: string; startLine: number; endLine: number; snippet: string }[];
  note: string;
}

async function search(client: AnyClient, args: Record<string, unknown>): Promise<Answer & { text: string }> {
  const { content, structuredContent } = await client.callTool({ name: "memory_search", arguments: args });
  return { ...(structuredContent as Answer), text: content[0]?.text ?? "" };
}

const SHARED = {
  "team/memory/rules.md": "The zeppelin hangar opens at dawn.\n",
  "workspace/memory/own.md": "My own zeppelin is blue.\n",
};

describe.each(CLIENTS)("memory through %s", (kind) => {
  test("written, found, read, changed, forgotten", async () => {
    const box = await sandbox({ "workspace/MEMORY.md": "# Facts\n\nThe harbour opens at six.\n" });
    const client = await connect(kind, box);
    const run = (args: Record<string, unknown>): ReturnType<AnyClient["callTool"]> =>
      client.callTool({ name: "memory_write", arguments: args });
    await run({ file: "memory/boats.md", heading: "Names", text: "The red boat is called Albatross." });
    const found = await search(client, { query: "What is the red boat called?" });
    expect(found.results[0]).toMatchObject({ file: "memory/boats.md", startLine: 3, endLine: 3 });
    expect(found.text).toMatch(/^\[1\] memory\/boats\.md:3-3 \(score: [\d.]+\)\nThe red boat/);
    const { file, startLine, endLine } = found.results[0]!;
    const read = await client.callTool({
      name: "memory_get",
      arguments: { filePath: file, from: startLine, lines: endLine - startLine + 1 },
    });
    expect(read.content[0]?.text).toBe("3: The red boat is called Albatross.");
    await run({ action: "replace", file, oldText: "Albatross", text: "Pelican" });
    expect((await search(client, { query: "Pelican" })).results).toHaveLength(1);
    await run({ action: "forget", file, oldText: "The red boat is called Pelican." });
    expect((await search(client, { query: "Pelican" })).results).toEqual([]);
    expect((await search(client, { query: "harbour" })).results[0]?.file).toBe("MEMORY.md");
  });
});

test("maxResults, file, path, since and until narrow; quotes and minus count", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 9 }, (_, at) => [
      `workspace/memory/2025-0${at + 1}-10.md`,
      `Note ${at}: the tram was late and the tram driver sang.\n\nUnrelated words follow here.\n`,
    ]),
  );
  const box = await sandbox({
    ...files,
    "workspace/memory/topic/tram.md": "Late was the tram, sang nobody.\n",
  });
  const client = await connect("2.x modern stdio", box);
  const count = async (args: Record<string, unknown>): Promise<number> =>
    (await search(client, args)).results.length;
  expect(await count({ query: "tram" })).toBe(6);
  expect(await count({ query: "tram", maxResults: 10 })).toBe(10);
  expect(await count({ query: "tram", file: "2025-0[1-3]-*.md" })).toBe(3);
  expect(await count({ query: "tram", path: "memory/{topic,nothing}/**" })).toBe(1);
  expect(await count({ query: "tram", since: "2025-04-01", until: "2025-05-31" })).toBe(2);
  expect(await count({ query: '"the tram driver"', maxResults: 20 })).toBe(9);
  expect(await count({ query: "tram -driver", maxResults: 20 })).toBe(1);
  const missing = await search(client, { query: '"driver of the tram"' });
  expect(missing.note).toContain("stand nowhere as written");
});

describe("who may see what", () => {
  test("each agent has its own memory", async () => {
    const box = await sandbox({
      "workspace/memory/a.md": "The main agent knows a walrus.\n",
      "home/agents/scout/memory/b.md": "The scout saw a walrus too.\n",
    });
    const camel = await startCamel(box);
    const files = async (agentId: string): Promise<unknown> =>
      (await call(camel, "memory_search", { query: "walrus" }, { agentId })).structured?.["results"];
    expect(await files("main")).toMatchObject([{ file: "memory/a.md" }]);
    expect(await files("scout")).toMatchObject([{ file: "memory/b.md" }]);
    expect(await files("other")).toEqual([]);
  });

  test("shared memories are granted by agent, read-only, and memory_get follows their hits", async () => {
    const box = await sandbox(SHARED);
    await box.write(
      "home/config.yaml",
      `memory: { shared: [{ name: team, root: "${join(box.home, "../team")}", agents: ["main", "dev-*"] }] }\n`,
    );
    const camel = await startCamel(box);
    const files = async (agentId: string): Promise<string[]> => {
      const { structured } = await call(camel, "memory_search", { query: "zeppelin" }, { agentId });
      return (structured as unknown as Answer).results.map(({ file }) => file).sort();
    };
    expect(await files("main")).toEqual(["memory/own.md", "shared/team/memory/rules.md"]);
    expect(await files("dev-1")).toEqual(["shared/team/memory/rules.md"]);
    expect(await files("guest")).toEqual([]);
    const filePath = "shared/team/memory/rules.md";
    const read = await call(camel, "memory_get", { filePath });
    expect(read.text).toBe("1: The zeppelin hangar opens at dawn.");
    expect(read.structured?.["filePath"]).toBe(filePath);
    expect(await call(camel, "memory_get", { filePath }, { agentId: "guest" })).toMatchObject({
      code: "not_found",
    });
    for (const path of ["shared/team/../../home/config.yaml", "shared/team/memory/../../home/config.yaml"]) {
      expect((await call(camel, "memory_get", { filePath: path })).isError).toBe(true);
    }
    expect(await call(camel, "memory_write", { file: filePath, text: "no" })).toMatchObject({
      code: "path_outside_root",
    });
  });

  test("a workspace's config can't add a shared memory", async () => {
    const box = await sandbox(SHARED);
    await box.write(
      "workspace/.camelagi/config.yaml",
      `memory: { shared: [{ name: team, root: "${join(box.home, "../team")}" }] }\n`,
    );
    const camel = await startCamel(box);
    expect(camel.config().warnings.join()).toContain("memory is ignored");
    const { text } = await call(camel, "memory_search", { query: "zeppelin" });
    expect(text).toContain("memory/own.md");
    expect(text).not.toContain("hangar");
  });

  test.each([
    ["a forbidden path", "autonomy: { forbiddenPaths: ['memory/private'] }"],
    ["a sensitive file", "autonomy: { sensitiveFiles: ['**/private/**'] }"],
    ["a deny rule of memory_get", "rules: [{ tool: memory_get, path: 'memory/private/**', decision: deny }]"],
    ["an ask rule of memory_get", "rules: [{ tool: memory_get, path: 'memory/private/**', decision: ask }]"],
    ["a deny rule of every tool", "rules: [{ tool: '*', path: '**/private/**', decision: deny }]"],
    [
      "a scope's rule",
      "scopes: [{ match: { agent: main }, rules: [{ tool: 'memory_*', path: '**/private/**', decision: deny }] }]",
    ],
  ])("lines that %s keeps from memory_get are not shown", async (_name, config) => {
    const box = await sandbox({
      "workspace/memory/open.md": "The walrus is public.\n",
      "workspace/memory/private/diary.md": "The walrus walrus walrus is a secret.\n",
      "home/config.yaml": `${config}\n`,
    });
    for (const ranking of ["passages", "keyword"]) {
      await writeFile(join(box.home, "config.yaml"), `${config}\nmemory: { ranking: ${ranking} }\n`);
      const camel = await startCamel(box);
      const { text, structured } = await call(camel, "memory_search", { query: "walrus", maxResults: 1 });
      expect(text).toContain("public");
      expect(JSON.stringify([text, structured])).not.toContain("secret");
    }
  });

  test("denying memory_get by name doesn't blind memory_search", async () => {
    const box = await sandbox({
      "workspace/memory/open.md": "The walrus is public.\n",
      "home/config.yaml": "tools: { allow: [memory_search] }\n",
    });
    const { text } = await call(await startCamel(box), "memory_search", { query: "walrus" });
    expect(text).toContain("public");
  });

  test("links, hidden, huge, binary and case variants", async () => {
    const box = await sandbox({
      "outside/secret.md": "walrus outside\n",
      "workspace/MEMORY.md": "walrus main\n",
      "workspace/memory.md": "walrus variant\n",
      "workspace/memory/.hidden.md": "walrus hidden\n",
      "workspace/memory/huge.md": "walrus ".repeat(700_000),
      "workspace/memory/bad.md": Uint8Array.of(0x77, 0xff, 0xfe),
      "workspace/README.md": "walrus readme\n",
    });
    await symlink(join(box.home, "../outside"), join(box.workspace, "memory/linked"));
    await symlink(join(box.home, "../outside/secret.md"), join(box.workspace, "memory/link.md"));
    const camel = await startCamel(box);
    const { structured } = await call(camel, "memory_search", { query: "walrus" });
    expect(structured).toMatchObject({
      results: [{ file: "MEMORY.md" }],
      files: 1,
      note: "Not searched: 2 symbolic links, 1 hidden, 1 larger than 4 MB, 1 not UTF-8 text.",
    });
    await rm(join(box.workspace, "MEMORY.md"));
    const after = await call(camel, "memory_search", { query: "walrus" });
    expect(after.structured).toMatchObject({ results: [{ file: "memory.md" }] });
  });
});
