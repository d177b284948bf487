import { describe, expect, test } from "vitest";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { appears, slowTools } from "../fixtures/slow-tools.mjs";
import {
  CLIENTS,
  connect,
  sandbox,
  startHttp,
  type AnyClient,
  type ClientKind,
  type Sandbox,
} from "../harness.ts";

const SLOW_SERVER = fileURLToPath(new URL("../fixtures/slow-server.mjs", import.meta.url));

/** A client of a server with slow tools, over the kind's own transport. */
async function connectSlow(kind: ClientKind, box: Sandbox, marker: string): Promise<AnyClient> {
  if (kind.endsWith("stdio"))
    return connect(kind, box, { script: [SLOW_SERVER, box.home, box.workspace, marker] });
  return connect(kind, box, { url: (await startHttp(box, { tools: slowTools(marker) })).url });
}

describe.each(CLIENTS)("%s", (kind) => {
  test("lists and calls", async () => {
    const box = await sandbox({ "workspace/MEMORY.md": "# Memory\n\nTea, not coffee.\n" });
    const client = await connect(kind, box);
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain("memory_get");
    const result = await client.callTool({ name: "memory_get", arguments: { filePath: "MEMORY.md" } });
    expect(result.isError ?? false).toBe(false);
    expect(result.content).toEqual([{ type: "text", text: "1: # Memory\n2:\n3: Tea, not coffee." }]);
    expect(result.structuredContent).toMatchObject({ filePath: "MEMORY.md", totalLines: 3 });
  });

  test("a refusal is a result with text and structure, each complete", async () => {
    const client = await connect(kind, await sandbox());
    // Listed first: clients then check results against the output schemas they saw, errors too in 1.x.
    const { tools } = await client.listTools();
    for (const { name } of tools) {
      const refused = await client.callTool({ name, arguments: { action: 1, patch: 1, query: 1, id: 1 } });
      expect(refused.isError, name).toBe(true);
    }
    const result = await client.callTool({ name: "memory_get", arguments: { filePath: "../secret" } });
    expect(result.isError).toBe(true);
    expect(result.content[0]?.text).toMatch(/path_outside_root[\s\S]*Next: /);
    expect(result.structuredContent).toMatchObject({
      error: { code: "path_outside_root", retryable: false },
    });
  });

  test("an unknown tool is a result that names the nearest one", async () => {
    const client = await connect(kind, await sandbox());
    const result = await client.callTool({ name: "memory_gt", arguments: {} });
    expect(result.isError).toBe(true);
    expect(result.content[0]?.text).toContain('Did you mean "memory_get"?');
  });

  test("lists and reads memory as resources, under the same rules", async () => {
    const box = await sandbox({
      "workspace/MEMORY.md": "root\n",
      "workspace/memory/a b.md": "spaced\n",
      "workspace/other.md": "no\n",
    });
    const client = await connect(kind, box);
    const { resources } = await client.listResources();
    const uris = resources.map((resource) => resource.uri).filter((uri) => uri.startsWith("memory:"));
    expect(uris).toEqual(["memory:///MEMORY.md", "memory:///memory/a%20b.md"]);
    const { contents } = await client.readResource("memory:///memory/a%20b.md");
    expect(contents[0]?.text).toBe("spaced");
    await expect(client.readResource("memory:///other.md")).rejects.toThrow(/not a memory file/);
  });

  test("hears of changed tools when the config changes, and the change holds", async () => {
    const box = await sandbox();
    let changed = (): void => {};
    const heard = new Promise<void>((resolve) => (changed = resolve));
    const client = await connect(kind, box, { onToolsChanged: changed });
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain("get_tool_response");
    await box.write("home/config.yaml", "tools:\n  deny: [get_tool_response]\n");
    await heard;
    expect((await client.listTools()).tools.map((tool) => tool.name)).not.toContain("get_tool_response");
    const refused = await client.callTool({ name: "get_tool_response", arguments: { id: "x" } });
    expect(refused.content[0]?.text).toContain("denied_by_policy");
  });

  test("progress arrives, then the result", async () => {
    const box = await sandbox();
    const marker = join(box.home, "marker");
    const client = await connectSlow(kind, box, marker);
    const seen: number[] = [];
    const result = await client.callTool(
      { name: "steps" },
      // The tool waits for this: a 1.x client drops progress that comes in one chunk with the result.
      {
        onprogress: ({ progress }) => {
          if (seen.push(progress) === 3) writeFileSync(`${marker}.steps`, "go");
        },
      },
    );
    expect(result.content[0]?.text).toBe("done");
    expect(seen).toEqual([1, 2, 3]);
  });

  test("cancelling reaches the tool's signal", async () => {
    const box = await sandbox();
    const marker = join(box.home, "marker");
    const client = await connectSlow(kind, box, marker);
    const controller = new AbortController();
    const pending = client.callTool(
      { name: "wait" },
      { signal: controller.signal, onprogress: () => controller.abort() },
    );
    await expect(pending).rejects.toThrow();
    await appears(marker);
  });
});
