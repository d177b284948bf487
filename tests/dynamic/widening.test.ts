import { existsSync } from "node:fs";
import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Camel } from "../../src/camel.ts";
import type { Ask } from "../../src/pipeline/call.ts";
import { call, callOf, sandbox, startCamel } from "../harness.ts";

const env = { PATH: process.env["PATH"], A_TOKEN: "of-the-server", A_PLACE: "of-the-server" };

const send = (camel: Camel, action: string, definition: object, ask?: Ask) =>
  camel.dispatcher.call({
    ...callOf("tool_create", { action, definition }),
    ...(ask === undefined ? {} : { ask }),
  });

const yes: Ask = () => Promise.resolve({ action: "accept", content: { approve: true } });

const shellTool = (strategy: object, rest: object = {}) => ({
  name: "a_tool",
  description: "A test.",
  strategy: { type: "shell", ...strategy },
  ...rest,
});

const asks = { isError: true, code: "approval_required" };

describe("a tool that nobody was asked about", () => {
  test("doesn't take options that policy would ask about", async () => {
    const box = await sandbox({
      "home/config.yaml": "shell: { allowedCommands: [find] }\n",
      "workspace/kept.txt": "kept",
    });
    const camel = await startCamel(box, { env });
    const made = await send(
      camel,
      "create",
      shellTool(
        { command_template: "find {{where}} {{what}}", dash_values: ["what"] },
        { sandbox: "off", envelope: { paths: { read: ["."], write: [] } } },
      ),
    );
    expect(made.isError, made.text).toBeUndefined();
    expect((await call(camel, "a_tool", { where: ".", what: "-print" })).text).toContain("kept.txt");
    expect(await call(camel, "a_tool", { where: ".", what: "-delete" })).toMatchObject(asks);
    expect(existsSync(join(box.workspace, "kept.txt"))).toBe(true);
  });

  test("doesn't run what is denied only with these values", async () => {
    const box = await sandbox({ "home/config.yaml": 'shell: { deniedCommands: ["echo loud *"] }\n' });
    const camel = await startCamel(box, { env });
    await send(camel, "create", shellTool({ command_template: "echo {{how}} {{what}}" }), yes);
    expect((await call(camel, "a_tool", { how: "softly", what: "x" })).isError).toBeUndefined();
    expect(await call(camel, "a_tool", { how: "loud", what: "x" })).toMatchObject({
      isError: true,
      code: "denied_by_policy",
    });
  });

  test("doesn't get a variable of the server's environment", async () => {
    const box = await sandbox();
    const camel = await startCamel(box, { env });
    expect(
      await send(camel, "create", shellTool({ command_template: "echo hi", inherit_env: ["A_TOKEN"] })),
    ).toMatchObject(asks);
  });
});

describe("a new version asks when it", () => {
  const start = async (first: object): Promise<Camel> => {
    const box = await sandbox({ "workspace/sub/x": "", "home/config.yaml": "" });
    const camel = await startCamel(box, { env });
    const made = await send(camel, "create", first, yes);
    expect(made.isError, made.text).toBeUndefined();
    return camel;
  };

  test("lets a value begin with a dash", async () => {
    const camel = await start(shellTool({ command_template: "sort {{file}}" }));
    expect(
      await send(camel, "update", shellTool({ command_template: "sort {{file}}", dash_values: ["file"] })),
    ).toMatchObject(asks);
  });

  test("runs in another folder", async () => {
    const camel = await start(shellTool({ command_template: "sh run.sh" }));
    expect(
      await send(camel, "update", shellTool({ command_template: "sh run.sh", cwd: "sub" })),
    ).toMatchObject(asks);
  });

  test("gives a variable another value, or the server's", async () => {
    const camel = await start(shellTool({ command_template: "sort x", env: { A_PLACE: "mine" } }));
    expect(
      await send(camel, "update", shellTool({ command_template: "sort x", env: { A_PLACE: "other" } })),
    ).toMatchObject(asks);
    expect(
      await send(camel, "update", shellTool({ command_template: "sort x", inherit_env: ["A_PLACE"] })),
    ).toMatchObject(asks);
  });

  test("sends a secret to a host that was approved without it", async () => {
    const http = (host: string, headers = {}) => ({
      name: "a_tool",
      description: "A test.",
      strategy: { type: "http", url: `https://${host}/`, headers },
    });
    const secret = { "x-api-key": "secret://key" };
    const camel = await start(http("a.example.com", secret));
    expect((await send(camel, "update", http("b.example.com"), yes)).isError).toBeUndefined();
    expect(await send(camel, "update", http("b.example.com", secret))).toMatchObject(asks);
    // What was approved as a whole still is.
    expect((await send(camel, "update", http("a.example.com", secret))).isError).toBeUndefined();
  });
});

test("a granted folder that became a link to elsewhere isn't granted any more", async () => {
  const box = await sandbox({ "workspace/build/x": "", "elsewhere/x": "" });
  const camel = await startCamel(box, { env });
  const made = await send(
    camel,
    "create",
    shellTool(
      { command_template: "touch build/made" },
      {
        envelope: { paths: { read: ["."], write: ["build"] } },
      },
    ),
    yes,
  );
  expect(made.isError, made.text).toBeUndefined();
  expect((await call(camel, "a_tool", {})).isError).toBeUndefined();
  await rm(join(box.workspace, "build"), { recursive: true });
  await mkdir(join(box.home, "..", "elsewhere"), { recursive: true });
  await symlink(join(box.home, "..", "elsewhere"), join(box.workspace, "build"));
  expect(await call(camel, "a_tool", {})).toMatchObject(asks);
  expect(existsSync(join(box.home, "..", "elsewhere", "made"))).toBe(false);
});
