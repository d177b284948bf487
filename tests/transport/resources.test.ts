import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/shared/clock.ts";
import { createFileTokens } from "../../src/stores/tokens.ts";
import { CLIENTS, connect, sandbox, startHttp, type AnyClient } from "../harness.ts";

/** Follows a resource; `heard` settles at the first change, `count` says how many there were. */
async function follow(client: AnyClient, uri: string) {
  const state = { count: 0, heard: Promise.resolve(), stop: () => Promise.resolve<unknown>(undefined) };
  let hear = (): void => {};
  state.heard = new Promise<void>((resolve) => (hear = resolve));
  state.stop = await client.follow(uri, () => {
    state.count += 1;
    hear();
  });
  return state;
}

describe.each(CLIENTS)("%s", (kind) => {
  test("hears that a memory file was changed, and reads the new text", async () => {
    const box = await sandbox({ "workspace/MEMORY.md": "tea\n" });
    const client = await connect(kind, box);
    const following = await follow(client, "memory:///MEMORY.md");
    await box.write("workspace/MEMORY.md", "coffee\n");
    await following.heard;
    expect((await client.readResource("memory:///MEMORY.md")).contents[0]?.text).toBe("coffee");
  });

  test("hears of a change made by a tool, which replaces the file", async () => {
    const box = await sandbox({ "workspace/memory/a.md": "tea\n" });
    const client = await connect(kind, box);
    const following = await follow(client, "memory:///memory/a.md");
    const written = await client.callTool({
      name: "memory_write",
      arguments: { text: "coffee", file: "memory/a.md" },
    });
    expect(written.isError ?? false).toBe(false);
    await following.heard;
  });

  test("hears of a file that is made later, in a folder that is made later", async () => {
    const box = await sandbox();
    const client = await connect(kind, box);
    const following = await follow(client, "memory:///memory/2026/plan.md");
    await box.write("workspace/memory/2026/plan.md", "made\n");
    await following.heard;
  });

  test("hears nothing after it has stopped", async () => {
    const box = await sandbox({ "workspace/memory/a.md": "a\n", "workspace/memory/b.md": "b\n" });
    const client = await connect(kind, box);
    const stopped = await follow(client, "memory:///memory/a.md");
    await stopped.stop();
    const other = await follow(client, "memory:///memory/b.md");
    await box.write("workspace/memory/a.md", "aa\n");
    await box.write("workspace/memory/b.md", "bb\n");
    await other.heard;
    expect(stopped.count).toBe(0);
  });

  test("neither follows nor hears the name of what it may not read", async () => {
    const box = await sandbox({
      "workspace/other.md": "no\n",
      "workspace/memory/private/a.md": "no\n",
      "home/config.yaml": "autonomy:\n  forbiddenPaths: ['**/memory/private/**']\n",
    });
    const client = await connect(kind, box);
    await expect(client.follow("memory:///other.md", () => {})).rejects.toThrow();
    await expect(client.follow("memory:///memory/private/a.md", () => {})).rejects.toThrow();
    expect(JSON.stringify(await client.listResources())).not.toContain("memory/private");
    const missing = await client.callTool({ name: "memory_get", arguments: { filePath: "memory/no.md" } });
    expect(missing.content[0]?.text).toContain("not_found");
    expect(JSON.stringify(missing)).not.toContain("memory/private");
  });
});

test("one agent doesn't hear of another's memory of the same name", async () => {
  const box = await sandbox({ "home/agents/a/MEMORY.md": "a\n", "home/agents/b/MEMORY.md": "b\n" });
  const tokens = createFileTokens({ path: join(box.home, "tokens.json"), clock: systemClock });
  const { url } = await startHttp(box);
  const followAs = async (agent: string) => {
    const { secret: token } = await tokens.create(agent);
    return follow(await connect("2.x modern http", box, { url, token }), "memory:///MEMORY.md");
  };
  const [a, b] = [await followAs("a"), await followAs("b")];
  await writeFile(join(box.home, "agents/a/MEMORY.md"), "changed\n");
  await a.heard;
  await writeFile(join(box.home, "agents/b/MEMORY.md"), "changed\n");
  await b.heard;
  expect([a.count, b.count]).toEqual([1, 1]);
});
