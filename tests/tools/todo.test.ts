import { expect, test } from "vitest";
import { CLIENTS, call, connect, sandbox, startCamel } from "../harness.ts";

const FULL = { "home/config.yaml": "tools: { tier: full }\n" };

test("write, update and read a plan; a stale change is refused with the plan as it is", async () => {
  const camel = await startCamel(await sandbox(FULL));
  const todo = (args: object, over = {}) => call(camel, "manage_todo_list", args, over);
  expect((await todo({ action: "read" })).text).toContain("no plan yet");
  await todo({ action: "write", items: [{ title: "look" }, { title: "leap", id: "jump" }] });
  const done = await todo({
    action: "update",
    items: [{ id: "1", status: "completed" }],
    expectedVersion: 1,
  });
  expect(done.text).toBe("Version 2\n[x] 1: look\n[ ] jump: leap");
  const stale = await todo({ action: "write", items: [], expectedVersion: 1 });
  expect(stale.code).toBe("conflict");
  expect(stale.structured).toMatchObject({ error: { details: { version: 2 } } });
  expect((await todo({ action: "update", items: [{ id: "3" }] })).text).toMatch(/no item "3"[\s\S]*1, jump/);
  expect(
    (
      await todo({
        action: "write",
        items: [
          { title: "a", id: "x" },
          { title: "b", id: "x" },
        ],
      })
    ).code,
  ).toBe("invalid_input");
  expect((await todo({ action: "read" })).structured).toMatchObject({ version: 2 });
  expect((await todo({ action: "read" }, { sessionId: "other" })).structured).toMatchObject({ version: 0 });
});

test.each(CLIENTS)("the plan is kept between calls of %s", async (kind) => {
  const client = await connect(kind, await sandbox(FULL));
  await client.callTool({
    name: "manage_todo_list",
    arguments: { action: "write", items: [{ title: "look" }] },
  });
  const read = await client.callTool({ name: "manage_todo_list", arguments: { action: "read" } });
  expect(read.structuredContent).toEqual({
    version: 1,
    items: [{ id: "1", title: "look", status: "not-started" }],
  });
});
