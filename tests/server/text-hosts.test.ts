import { expect, test } from "vitest";
import { CLIENTS, connect, sandbox } from "../harness.ts";

const LONG = 'a line with "quotes" in it\n'.repeat(1_000);

test.each(CLIENTS)("a host whose model is better off with the text gets it alone: %s", async (kind) => {
  const box = await sandbox({ "workspace/MEMORY.md": LONG });
  const client = await connect(kind, box, { name: "@cline/core" });
  const { tools } = await client.listTools();
  expect(tools.filter((tool) => "outputSchema" in tool)).toEqual([]);
  // Cline drops the middle of what is longer than 8,000 characters as JSON.
  const cut = await client.callTool({ name: "memory_get", arguments: { filePath: "MEMORY.md" } });
  expect(JSON.stringify(cut).length).toBeLessThan(8_000);
  const [, id, offset] = /"id":"(res_\w+)","offset":(\d+)/.exec(cut.content[0]?.text ?? "") ?? [];
  const rest = await client.callTool({
    name: "get_tool_response",
    arguments: { id, offset: Number(offset) },
  });
  expect(JSON.stringify(rest).length).toBeLessThan(8_000);
  expect(rest).not.toHaveProperty("structuredContent");
  expect(rest.content[0]?.text).toContain('with "quotes"');
  const failed = await client.callTool({ name: "memory_get", arguments: { filePath: "memory/no.md" } });
  expect(failed).toMatchObject({ isError: true });
  expect(failed.content[0]?.text).toContain("not_found");
});

test.each(["claude-code", "codex-mcp-client", "gemini-cli-mcp-client"])(
  "the model in %s reads numbered lines, and what to do about a refusal, once",
  async (name) => {
    const client = await connect("2.x legacy http", await sandbox({ "workspace/MEMORY.md": "one\ntwo\n" }), {
      name,
    });
    const read = await client.callTool({ name: "memory_get", arguments: { filePath: "MEMORY.md" } });
    expect(read).toEqual({ content: [{ type: "text", text: "1: one\n2: two" }] });
    const refused = await client.callTool({ name: "memory_get", arguments: { filePath: ".env" } });
    expect(refused).toEqual({
      content: [{ type: "text", text: expect.stringMatching(/^Error \(.*\nNext: /s) as string }],
      isError: true,
    });
  },
);

test("other hosts get both", async () => {
  const client = await connect("2.x legacy http", await sandbox({ "workspace/MEMORY.md": "x\n" }));
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === "memory_get")).toHaveProperty("outputSchema");
  const read = await client.callTool({ name: "memory_get", arguments: { filePath: "MEMORY.md" } });
  expect(read.structuredContent).toMatchObject({ content: "x" });
});
