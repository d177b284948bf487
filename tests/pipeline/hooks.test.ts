import { chmod, readFile, symlink } from "node:fs/promises";
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

  test("the documented example blocks patches, and only while it should", async () => {
    const page = await readFile(new URL("../../docs/policy.md", import.meta.url), "utf8");
    const script = /before_tool\.freeze\.sh[^]*?```sh\n([^]*?)```/.exec(page)?.[1] ?? "";
    const box = await sandbox(ENABLED);
    await box.write("home/hooks/before_tool.freeze.sh", script.replace("~", box.home));
    const camel = await startCamel(box);
    const patch = (name: string): ReturnType<typeof call> =>
      call(camel, "apply_patch", { patch: `*** Begin Patch\n*** Add File: ${name}\n+x\n*** End Patch` });
    expect((await patch("a.txt")).isError).toBeUndefined();
    await box.write("home/.release-freeze", "");
    const blocked = await patch("b.txt");
    expect(blocked).toMatchObject({ isError: true, code: "blocked_by_hook" });
    expect(blocked.text).toContain("apply it tomorrow");
    expect((await call(camel, "memory_get", GET)).isError).toBeUndefined();
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

  test("its first line says what runs it; all it says is heard, whoever else holds its stderr", async () => {
    const box = await sandbox(ENABLED);
    await box.write(
      "home/hooks/before_tool.bash.sh",
      "#!/usr/bin/env bash\nsetsid sleep 5 &\n[[ $CAMELAGI_HOOK_TOOL == memory_* ]] && echo 'not while it rains' >&2\nexit 2\n",
    );
    const camel = await startCamel(box);
    const results = await Promise.all(Array.from({ length: 12 }, () => call(camel, "memory_get", GET)));
    for (const { text } of results) expect(text).toContain("not while it rains");
  });

  test("a script that everybody may write isn't run, and a link to one neither", async () => {
    const said: string[] = [];
    const log: Logger = { error: () => {}, warn: (text) => said.push(text), info: () => {}, debug: () => {} };
    const box = await sandbox(ENABLED);
    await chmod(await box.write("home/open.sh", "exit 2\n"), 0o777);
    await chmod(await box.write("home/hooks/before_tool.a.sh", "exit 2\n"), 0o666);
    await symlink("../open.sh", join(box.home, "hooks/before_tool.b.sh"));
    const camel = await startCamel(box, { log });
    expect((await call(camel, "memory_get", GET)).text).toBe("1: hello");
    expect(said.filter((line) => line.includes("everybody may write")).length).toBe(2);
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
