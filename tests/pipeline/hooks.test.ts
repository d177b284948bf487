import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Logger } from "../../src/shared/log.ts";
import { CLIENTS, call, callOf, connect, isRunning, sandbox, startCamel } from "../harness.ts";

const ENABLED = { "home/config.yaml": "hooks: { enabled: true }\n", "workspace/MEMORY.md": "hello\n" };
const GET = { filePath: "MEMORY.md" };

describe("hooks", () => {
  test("run in name order around a call, with the facts in the environment and the event on stdin", async () => {
    const box = await sandbox(ENABLED);
    const log = join(box.home, "log");
    await box.write(
      "home/hooks/before_tool.b.sh",
      `echo "b $CAMELAGI_HOOK_TOOL $CAMELAGI_HOOK_TOOL_ARGS $CAMELAGI_HOOK_SESSION" >> ${log}\n`,
    );
    await box.write("home/hooks/before_tool.a.sh", `echo "a $(cat)" >> ${log}\n`);
    await box.write(
      "home/hooks/after_tool.z.js",
      `require("fs").appendFileSync(${JSON.stringify(log)}, "z " + process.env.CAMELAGI_HOOK_TOOL_RESULT + "\\n");`,
    );
    await box.write("home/hooks/before_tool.notes.txt", "not a hook");
    const camel = await startCamel(box);
    expect((await call(camel, "memory_get", GET)).text).toBe("1: hello");
    const [first = "", second, third] = (await readFile(log, "utf8")).split("\n");
    expect(JSON.parse(first.slice(2))).toMatchObject({ tool: "memory_get", args: GET, point: "before_tool" });
    expect(second).toBe(`b memory_get ${JSON.stringify(GET)} ses_test`);
    expect(third).toBe("z 1: hello");
  });

  test.each(CLIENTS)("exit 2 blocks with the hook's words, through %s", async (kind) => {
    const box = await sandbox(ENABLED);
    await box.write("home/hooks/before_tool.no.sh", "echo 'memory is closed today' >&2; exit 2\n");
    const client = await connect(kind, box);
    const result = await client.callTool({ name: "memory_get", arguments: GET });
    expect(result.isError).toBe(true);
    expect(result.content[0]?.text).toMatch(/blocked_by_hook[\s\S]*memory is closed today/);
  });

  test("failures are logged and not fatal; off unless enabled", async () => {
    const said: string[] = [];
    const log: Logger = { error: () => {}, warn: (text) => said.push(text), info: () => {}, debug: () => {} };
    const box = await sandbox(ENABLED);
    await box.write("home/hooks/before_tool.bad.sh", "echo broken >&2; exit 1\n");
    await box.write("home/hooks/before_tool.worse.js", "throw new Error('worse')\n");
    await box.write("home/hooks/after_tool.two.sh", "exit 2\n");
    const camel = await startCamel(box, { log });
    expect((await call(camel, "memory_get", GET)).text).toBe("1: hello");
    expect(said.join("\n")).toMatch(/before_tool\.bad\.sh: exit 1 broken[\s\S]*before_tool\.worse\.js/);

    const off = await sandbox({ "workspace/MEMORY.md": "hello\n" });
    await off.write("home/hooks/before_tool.no.sh", "exit 2\n");
    expect((await call(await startCamel(off), "memory_get", GET)).text).toBe("1: hello");
  });

  test("arguments too long for the environment still arrive on stdin", async () => {
    const box = await sandbox(ENABLED);
    const size = join(box.home, "size");
    await box.write(
      "home/hooks/before_tool.size.sh",
      `echo "$(wc -c) \${CAMELAGI_HOOK_TOOL_ARGS:-none}" > ${size}\n`,
    );
    await call(await startCamel(box), "memory_get", { ...GET, pad: "x".repeat(300_000) });
    const [bytes, variable] = (await readFile(size, "utf8")).trim().split(" ");
    expect(Number(bytes)).toBeGreaterThan(300_000);
    expect(variable).toBe("none");
  });

  test("a hook over its time is killed with all it started, and so is one whose caller left", async () => {
    const box = await sandbox({
      ...ENABLED,
      "home/config.yaml": "hooks: { enabled: true, timeoutSeconds: 0.2 }\n",
    });
    const pid = join(box.home, "pid");
    const hook = await box.write("home/hooks/before_tool.slow.sh", `sleep 1000 & echo $! > ${pid}; wait\n`);
    await chmod(hook, 0o755);
    const camel = await startCamel(box);
    expect((await call(camel, "memory_get", GET)).text).toBe("1: hello");
    const child = Number(await readFile(pid, "utf8"));
    await expect.poll(() => isRunning(child)).toBe(false);
    const controller = new AbortController();
    const pending = camel.dispatcher.call({ ...callOf("memory_get", GET), signal: controller.signal });
    controller.abort();
    expect((await pending).code).toBe("cancelled");
  });
});
