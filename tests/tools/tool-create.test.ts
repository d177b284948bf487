import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { CLI, CLIENTS, connect, sandbox } from "../harness.ts";

const definition = {
  name: "say_it",
  description: "Says the text.",
  strategy: { type: "shell", command_template: "echo {{input}}" },
};

/** A promise that a callback fulfils. */
function signal(): { fired: Promise<void>; fire: () => void } {
  let fire = (): void => {};
  const fired = new Promise<void>((resolve) => (fire = resolve));
  return { fired, fire: () => fire() };
}

describe("tool_create through real clients", () => {
  test.each(CLIENTS)("%s: a new tool is listed, announced and usable both ways", async (kind) => {
    const box = await sandbox();
    const changed = signal();
    const client = await connect(kind, box, { onToolsChanged: changed.fire });
    const made = await client.callTool({ name: "tool_create", arguments: { action: "create", definition } });
    expect(made.isError, JSON.stringify(made.content)).toBeFalsy();
    expect(made.structuredContent).toMatchObject({
      action: "create",
      name: "say_it",
      version: 1,
      summary: made.content[0]?.text,
    });
    await changed.fired;
    const { tools } = await client.listTools();
    expect(tools.find((tool) => tool.name === "say_it")).toMatchObject({
      description: "Says the text.",
      inputSchema: { type: "object", properties: { input: { type: "string" } }, required: ["input"] },
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    });
    const direct = await client.callTool({ name: "say_it", arguments: { input: "hello; world" } });
    expect(direct.content[0]?.text).toBe("hello; world\n");
    const run = await client.callTool({
      name: "tool_create",
      arguments: { action: "run", name: "say_it", input: { input: "again" } },
    });
    expect(run.content[0]?.text).toBe("again\n");
    const wrong = await client.callTool({
      name: "tool_create",
      arguments: { action: "run", name: "say_it", input: {} },
    });
    expect(wrong).toMatchObject({ isError: true, structuredContent: { error: { code: "invalid_input" } } });
  });

  test("another process hears of it, sees it and may use it; after a delete it is gone there too", async () => {
    const box = await sandbox();
    const changes = [signal(), signal()];
    let heard = 0;
    const [maker, other] = await Promise.all([
      connect("1.x stdio", box),
      connect("2.x modern stdio", box, { onToolsChanged: () => changes[heard++]?.fire() }),
    ]);
    await other.listTools();
    await maker.callTool({ name: "tool_create", arguments: { action: "create", definition } });
    await changes[0]?.fired;
    expect((await other.listTools()).tools.map((tool) => tool.name)).toContain("say_it");
    expect((await other.callTool({ name: "say_it", arguments: { input: "x" } })).content[0]?.text).toBe(
      "x\n",
    );
    await maker.callTool({ name: "tool_create", arguments: { action: "delete", name: "say_it" } });
    await changes[1]?.fired;
    expect((await other.listTools()).tools.map((tool) => tool.name)).not.toContain("say_it");
    // And a host that starts later has what was kept.
    await maker.callTool({ name: "tool_create", arguments: { action: "create", definition } });
    const later = await connect("2.x legacy stdio", box);
    expect((await later.callTool({ name: "say_it", arguments: { input: "later" } })).content[0]?.text).toBe(
      "later\n",
    );
  });

  test.each(["1.x stdio", "2.x modern http"] as const)(
    "%s: the person at the host is shown the card, once",
    async (kind) => {
      const box = await sandbox({ "workspace/a.txt": "b\na\n" });
      const asked: string[] = [];
      const client = await connect(kind, box, {
        onAsk: ({ message }) => {
          asked.push(message);
          return Promise.resolve({ action: "accept", content: { approve: true } });
        },
      });
      const sorter = {
        ...definition,
        name: "sort_it",
        strategy: { type: "shell", command_template: "sort {{input}}" },
      };
      const made = await client.callTool({
        name: "tool_create",
        arguments: { action: "create", definition: sorter },
      });
      expect(made.isError, JSON.stringify(made.content)).toBeFalsy();
      for (let at = 0; at < 2; at += 1)
        expect(
          (await client.callTool({ name: "sort_it", arguments: { input: "a.txt" } })).content[0]?.text,
        ).toBe("a\nb\n");
      expect(asked).toHaveLength(1);
      expect(asked[0]).toContain("Runs: sort {{input}}");
    },
  );

  test("from the command line: call, tools, policy", async () => {
    const box = await sandbox({ "workspace/.env": "x", "outside.txt": "x" });
    const run = async (...args: string[]): Promise<string> => {
      const { stdout } = await promisify(execFile)(process.execPath, [
        CLI,
        ...args,
        "--home",
        box.home,
        "--workspace",
        box.workspace,
      ]);
      return stdout;
    };
    expect(await run("call", "tool_create", JSON.stringify({ action: "create", definition }))).toContain(
      "Made the tool",
    );
    expect(await run("tools", "list")).toContain("say_it");
    expect(await run("call", "say_it", '{"input":"x"}')).toBe("x\n\n");
    expect(await run("policy", "command", "ls && pwd")).toContain("allow");
    await expect(run("policy", "command", "ls; rm x")).rejects.toMatchObject({
      code: 3,
      stdout: expect.stringContaining("ask") as string,
    });
    for (const [line, code] of [
      ["cat /etc/passwd", 4],
      ["cat .env", 4],
      ["cat ./sub/../.env", 4],
      ["ls && cat ~/.ssh/id_rsa", 4],
      ["cat ../outside.txt", 3],
    ] as const)
      await expect(run("policy", "command", line), line).rejects.toMatchObject({ code });
    expect(await run("policy", "command", "cat notes.txt | cat")).toContain("allow");
    expect(await run("policy", "url", "https://8.8.8.8/")).toContain("allow");
    for (const url of ["http://169.254.169.254/", "http://0x7f.1/", "ftp://8.8.8.8/", "no url"])
      await expect(run("policy", "url", url), url).rejects.toMatchObject({ code: 4 });
    expect(await run("key", "rotate")).toContain("Sealed");
    expect(await run("call", "say_it", '{"input":"y"}')).toBe("y\n\n");
  });
});
