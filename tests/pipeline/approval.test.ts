import { chmod, readFile, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Camel } from "../../src/camel.ts";
import { coveringEntries, exactEntries } from "../../src/pipeline/allowlist.ts";
import type { Answer, Question, ToolResult } from "../../src/pipeline/call.ts";
import type { Facts } from "../../src/pipeline/policy.ts";
import {
  CLIENTS,
  type ConnectOptions,
  callOf,
  connect,
  runCli,
  sandbox,
  startCamel,
  startHttp,
  type Sandbox,
} from "../harness.ts";

const SMART = { "home/config.yaml": "# mine\napprovals:\n  mode: smart # careful\n" };
const add = (file: string): string => `*** Begin Patch\n*** Add File: ${file}\n+new\n*** End Patch`;

function patch(
  camel: Camel,
  file: string,
  answer?: (question: Question) => Answer | undefined,
  signal = new AbortController().signal,
): Promise<ToolResult> {
  return camel.dispatcher.call({
    ...callOf("apply_patch", { patch: add(file) }),
    signal,
    ...(answer === undefined ? {} : { ask: (question) => Promise.resolve(answer(question)) }),
  });
}

const written = (box: Sandbox, file: string): Promise<boolean> =>
  readFile(join(box.workspace, file)).then(
    () => true,
    () => false,
  );

describe.each(CLIENTS)("asked through %s", (kind) => {
  test("a yes lets the call through, a no with a note reaches the model, reading isn't asked about", async () => {
    const box = await sandbox({ ...SMART, "workspace/MEMORY.md": "x\n" });
    const asked: string[] = [];
    let answer: Awaited<ReturnType<NonNullable<ConnectOptions["onAsk"]>>> = {
      action: "accept",
      content: { approve: true },
    };
    const client = await connect(kind, box, {
      onAsk: ({ message }) => {
        asked.push(message);
        return Promise.resolve(answer);
      },
    });
    const read = await client.callTool({ name: "memory_get", arguments: { filePath: "MEMORY.md" } });
    expect(read.isError ?? false).toBe(false);
    expect(asked).toEqual([]);
    const yes = await client.callTool({ name: "apply_patch", arguments: { patch: add("a.txt") } });
    expect(yes.content[0]?.text).toContain("A a.txt");
    expect(asked[0]).toMatch(/apply_patch[\s\S]*a\.txt[\s\S]*approvals\.mode is smart/);
    answer = { action: "accept", content: { approve: false, note: "use b.txt" } };
    const no = await client.callTool({ name: "apply_patch", arguments: { patch: add("c.txt") } });
    expect(no.isError).toBe(true);
    expect(no.content[0]?.text).toMatch(/approval_denied[\s\S]*use b\.txt/);
    answer = { action: "cancel" };
    const gone = await client.callTool({ name: "apply_patch", arguments: { patch: add("c.txt") } });
    expect(gone.content[0]?.text).toMatch(/approval_required[\s\S]*camel-mcp approvals approve apr_/);
    expect(await written(box, "c.txt")).toBe(false);
    expect(asked.length).toBe(3);
  });
});

describe("answers", () => {
  test.each<Answer>([
    { action: "accept" },
    { action: "accept", content: {} },
    { action: "accept", content: { approve: "true" } },
    { action: "accept", content: { approve: 1 } },
    { action: "decline", content: { approve: true } },
  ])("%j is not a yes", async (answer) => {
    const box = await sandbox(SMART);
    const result = await patch(await startCamel(box), "a.txt", () => answer);
    expect(result.code).toBe("approval_denied");
    expect(await written(box, "a.txt")).toBe(false);
  });

  test("a question closed without an answer stays open for a person; no fallback answers it", async () => {
    const box = await sandbox({
      "home/config.yaml": "approvals: { mode: smart, fallback: allow, timeoutSeconds: 1 }\n",
    });
    const camel = await startCamel(box);
    const closed = await patch(camel, "a.txt", () => ({ action: "cancel", content: { approve: true } }));
    expect(closed.code).toBe("approval_required");
    expect(await written(box, "a.txt")).toBe(false);
    const [request] = await camel.approvals.list();
    expect(closed.text).toContain(`camel-mcp approvals approve ${request?.id}`);
    await camel.approvals.decide(request?.id ?? "", { decision: "allow", by: "test" });
    expect((await patch(camel, "a.txt", () => ({ action: "cancel" }))).isError).toBeUndefined();
    expect(await written(box, "a.txt")).toBe(true);
  });

  test("a bare decline may come from a host with nobody there: the answer says how to go on then", async () => {
    const result = await patch(await startCamel(await sandbox(SMART)), "a.txt", () => ({
      action: "decline",
    }));
    expect(result.code).toBe("approval_denied");
    expect(result.text).toMatch(/approvals\.allowlist[\s\S]*approvals\.elicitation: off/);
  });

  test("the question shows files and lines as a person reads them, and nothing in them passes for its own", async () => {
    let asked = "";
    const camel = await startCamel(await sandbox(SMART));
    await camel.dispatcher.call({
      ...callOf("apply_patch", { patch: add("a.txt").replace("+new", "+x\u001B[2Jy\n+\u202Ez") }),
      ask: ({ message }) => ((asked = message), Promise.resolve({ action: "decline" })),
    });
    expect(asked).toContain("\nwrite a.txt\npatch: \n  | *** Begin Patch\n  | *** Add File: a.txt\n");
    expect(asked).toContain("  | +x\\u{1b}[2Jy\n  | +\\u{202e}z\n");
    await patch(camel, `${"long/".repeat(800)}b.txt`, ({ message }) => ((asked = message), undefined));
    expect(asked).toMatch(/… \(\d+ characters\)/);
  });

  test("session holds for the session only; always writes the shown entry and keeps comments", async () => {
    const box = await sandbox(SMART);
    const camel = await startCamel(box);
    let asked = 0;
    let shown = "";
    const remember = (how: string) => (question: Question) => {
      asked += 1;
      shown = question.message;
      return { action: "accept" as const, content: { approve: true, remember: how } };
    };
    await patch(camel, "a.txt", remember("session"));
    expect((await patch(camel, "b.txt", remember("once"))).isError).toBeUndefined();
    expect(asked).toBe(1);
    const other = { ...callOf("apply_patch", { patch: add("c.txt") }, { sessionId: "other" }) };
    expect((await camel.dispatcher.call(other)).code).toBe("approval_required");

    const fresh = await startCamel(box);
    await patch(fresh, "src/d.txt", remember("always"));
    const entry = `apply_patch:${join(box.workspace, "src/d.txt")}`;
    expect(shown).toContain(JSON.stringify(entry));
    const config = await readFile(join(box.home, "config.yaml"), "utf8");
    expect(config).toContain("# mine");
    expect(config).toContain("mode: smart # careful");
    const later = await startCamel(box);
    expect(later.config().settings.approvals.allowlist).toEqual([entry]);
    await later.dispatcher.call(
      callOf("apply_patch", { patch: "*** Begin Patch\n*** Delete File: src/d.txt\n*** End Patch" }),
    );
    expect(await written(box, "src/d.txt")).toBe(false);
    expect((await patch(later, "src/e.txt")).code).toBe("approval_required");
  });

  test("cancelled while it waits, nothing is left and nothing happens", async () => {
    const box = await sandbox({
      "home/config.yaml": "approvals: { mode: always, fallback: allow, timeoutSeconds: 1000 }\n",
    });
    const camel = await startCamel(box);
    const controller = new AbortController();
    camel.on("approval_request", () => controller.abort());
    expect((await patch(camel, "a.txt", undefined, controller.signal)).code).toBe("cancelled");
    expect(await readdir(join(box.home, "approvals")).catch(() => [])).toEqual([]);
    expect(await written(box, "a.txt")).toBe(false);
  });
});

describe("without anybody to ask", () => {
  const idIn = (result: ToolResult): string => /apr_[0-9a-f]{32}/.exec(result.text)?.[0] ?? "";

  test("the call is refused with an id; approved elsewhere, the same call works exactly once", async () => {
    const box = await sandbox(SMART);
    const first = await patch(await startCamel(box), "a.txt");
    expect(first.code).toBe("approval_required");
    // Two other processes on the same home: one decides, another one runs the call again.
    const person = await startCamel(box);
    expect((await person.approvals.list()).map((one) => one.id)).toEqual([idIn(first)]);
    expect(await person.approvals.decide(idIn(first), { decision: "allow", by: "cli" })).toBe(true);
    expect(await person.approvals.decide(idIn(first), { decision: "deny", by: "cli" })).toBe(false);
    const [server, second] = [await startCamel(box), await startCamel(box)];
    expect((await patch(server, "b.txt")).code).toBe("approval_required");
    const results = await Promise.all([patch(server, "a.txt"), patch(second, "a.txt")]);
    expect(results.filter((one) => one.isError !== true).length).toBe(1);
    expect((await patch(server, "a.txt")).code).toBe("approval_required");
  });

  test("a denial with a note reaches the model", async () => {
    const camel = await startCamel(await sandbox(SMART));
    const id = idIn(await patch(camel, "a.txt"));
    await camel.approvals.decide(id, { decision: "deny", by: "cli", note: "not on a Friday" });
    expect((await patch(camel, "a.txt")).text).toMatch(/approval_denied[\s\S]*not on a Friday/);
  });

  test("a decision that came too late, or a damaged one, approves nothing", async () => {
    const box = await sandbox(SMART);
    let now = 1_000_000;
    const clock = {
      now: () => now,
      monotonic: () => now,
      setTimeout: (run: () => void) => (setImmediate(run), { cancel: () => {} }),
    };
    const camel = await startCamel(box, { clock });
    const id = idIn(await patch(camel, "a.txt"));
    await camel.approvals.decide(id, { decision: "allow", by: "cli" });
    now += 16 * 60_000;
    expect((await patch(camel, "a.txt")).code).toBe("approval_required");
    await box.write(`home/approvals/${id}.decision.json`, '{"decision":"allow"}');
    expect((await patch(camel, "a.txt")).code).toBe("approval_required");
  });

  test("fallback allow waits its time and then lets through", async () => {
    const box = await sandbox({
      "home/config.yaml": "approvals: { mode: smart, fallback: allow, timeoutSeconds: 0.3 }\n",
    });
    expect((await patch(await startCamel(box), "a.txt")).isError).toBeUndefined();
    expect(await written(box, "a.txt")).toBe(true);
  });

  test("the shell can list, but not decide without a terminal", async () => {
    const box = await sandbox(SMART);
    const id = idIn(await patch(await startCamel(box), "a.txt"));
    expect((await runCli(["approvals", "list"], box)).stdout).toContain(id);
    expect((await runCli(["approvals", "show", id], box)).stdout).toContain("a.txt");
    const refused = await runCli(["approvals", "approve", id], box, { stdin: "y\n" });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("Only a person at a terminal");
  });
});

describe("forwarding", () => {
  test.each([
    ["0", undefined],
    ["1", "approval_denied"],
    ["7", "approval_required"],
  ])("the command's exit %s decides", async (exit, code) => {
    const box = await sandbox();
    const script = await box.write(
      "home/ask.mjs",
      `let text = ""; process.stdin.on("data", (c) => (text += c)).on("end", () => process.exit(JSON.parse(text).tool === "apply_patch" ? ${exit} : 9));`,
    );
    await box.write(
      "home/config.yaml",
      JSON.stringify({
        approvals: {
          mode: "smart",
          timeoutSeconds: exit === "7" ? 0.5 : 20,
          forward: { command: [process.execPath, script] },
        },
      }),
    );
    expect((await patch(await startCamel(box), "a.txt")).code).toBe(code);
  });

  test.each([
    ["0", undefined],
    ["1", "approval_denied"],
  ])("the documented example decides with the dialog's exit %s", async (exit, code) => {
    const page = await readFile(new URL("../../docs/policy.md", import.meta.url), "utf8");
    const [, example = ""] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
    const box = await sandbox();
    const script = await box.write("home/ask-me.mjs", example);
    for (const program of ["zenity", "osascript"]) {
      const dialog = await box.write(`bin/${program}`, `#!/bin/sh\nexit ${exit}\n`);
      await chmod(dialog, 0o755);
    }
    const wrapper = await box.write(
      "home/ask.sh",
      `PATH=${join(box.home, "../bin")}:$PATH exec ${process.execPath} ${script}\n`,
    );
    await box.write(
      "home/config.yaml",
      JSON.stringify({ approvals: { mode: "smart", forward: { command: ["/bin/sh", wrapper] } } }),
    );
    expect((await patch(await startCamel(box), "a.txt")).code).toBe(code);
  });

  test("a webhook gets signed links; opening one decides nothing, its button does, a forged one nothing", async () => {
    const box = await sandbox();
    const { url, camel } = await startHttp(box);
    let told = (_links: { approve: string; deny: string }): void => {};
    const links = new Promise<{ approve: string; deny: string }>((resolve) => (told = resolve));
    const hook = createServer((req, res) => {
      let text = "";
      req.on("data", (chunk: Buffer) => (text += chunk.toString()));
      req.on("end", () => {
        res.end();
        told((JSON.parse(text) as { links: { approve: string; deny: string } }).links);
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void hook.close());
    const { port } = hook.address() as { port: number };
    await box.write(
      "home/config.yaml",
      JSON.stringify({
        approvals: {
          mode: "smart",
          timeoutSeconds: 30,
          forward: { webhook: `http://127.0.0.1:${port}/`, replyUrl: url },
        },
      }),
    );
    await expect
      .poll(async () => {
        await camel.refresh();
        return camel.config().settings.approvals.mode;
      })
      .toBe("smart");
    const pending = patch(camel, "a.txt");
    const { approve, deny } = await links;
    const forged = approve.replace("decision=allow", "decision=deny");
    expect((await fetch(forged, { method: "POST" })).status).toBe(404);
    const shown = await fetch(approve);
    expect(await shown.text()).toContain("apply_patch");
    expect((await camel.approvals.list()).length).toBe(1);
    expect((await fetch(approve, { method: "POST" })).status).toBe(200);
    expect((await fetch(deny, { method: "POST" })).status).not.toBe(200);
    expect((await pending).isError).toBeUndefined();
  });
});

test("requests and their end are in the audit log and reach listeners", async () => {
  const box = await sandbox(SMART);
  const camel = await startCamel(box);
  const seen: string[] = [];
  camel.on("approval_request", (event) => seen.push(`${event.type} ${event.toolName}`));
  camel.on("approval_resolved", (event) => seen.push(`${event.type} ${event.decision}`));
  camel.on("tool_call", (event) => seen.push(`${event.type} ${event.name}`));
  camel.on("tool_result", (event) => seen.push(`${event.type} ${event.isError}`));
  await patch(camel, "a.txt", () => ({ action: "accept", content: { approve: true } }));
  expect(seen).toEqual([
    "tool_call apply_patch",
    "approval_request apply_patch",
    "approval_resolved allow-once",
    "tool_result false",
  ]);
  await camel.close();
  const log = await readFile(join(box.home, "audit", "audit.jsonl"), "utf8");
  expect(log).toContain("approval_request");
  expect(log).toContain("allow-once");
});

describe("the allowlist is judged on facts", () => {
  const facts = (over: Partial<Facts>): Facts => ({
    tool: "Bash",
    effect: "exec",
    paths: [],
    commands: [],
    urls: [],
    needsApproval: false,
    ...over,
  });

  test("every path, command and address must be covered", () => {
    const paths = (...names: string[]): Facts["paths"] =>
      names.map((name) => ({ spellings: [name], access: "write" as const }));
    expect(coveringEntries(["Bash:git *"], facts({ commands: ["git status"] }))).toBeDefined();
    expect(coveringEntries(["Bash:git *"], facts({ commands: ["git status", "rm -rf x"] }))).toBeUndefined();
    expect(coveringEntries(["Bash:git *"], facts({ commands: ["gitk"] }))).toBeUndefined();
    expect(coveringEntries(["Bash:git *"], facts({}))).toBeUndefined();
    const edit = { tool: "Edit", effect: "write" as const };
    expect(coveringEntries(["Edit:src/*"], facts({ ...edit, paths: paths("src/a.ts") }))).toBeDefined();
    expect(
      coveringEntries(["Edit:src/*"], facts({ ...edit, paths: paths("src/a.ts", "b.ts") })),
    ).toBeUndefined();
    expect(
      coveringEntries(["Edit:src/*", "Edit:b.ts"], facts({ ...edit, paths: paths("src/a.ts", "b.ts") })),
    ).toEqual(["Edit:src/*", "Edit:b.ts"]);
    expect(coveringEntries(["Edit"], facts({ ...edit, paths: paths("anything") }))).toEqual(["Edit"]);
  });

  test("what always writes covers the very call, and no call with one thing more", () => {
    const name = fc.stringMatching(/^[a-z/. *?{}()-]{1,12}$/);
    fc.assert(
      fc.property(
        fc.array(name, { maxLength: 3 }),
        fc.array(name, { maxLength: 3 }),
        name,
        (files, commands, more) => {
          const about = facts({
            paths: files.map((file) => ({ spellings: [file], access: "write" })),
            commands,
          });
          const entries = exactEntries(about);
          if (entries === undefined) return;
          expect(coveringEntries(entries, about)).toBeDefined();
          if (files.length + commands.length === 0 || commands.includes(more)) return;
          expect(coveringEntries(entries, { ...about, commands: [...commands, more] })).toBeUndefined();
        },
      ),
    );
  });

  test.each([
    "sh -c x",
    "/usr/bin/env rm",
    "python3 a.py",
    "sudo ls",
    "npx x",
    "find . -delete",
    "node x.js",
  ])("always is never offered for %s", (command) => {
    expect(exactEntries(facts({ commands: [command] }))).toBeUndefined();
  });
});
