import { existsSync } from "node:fs";
import { chmod, readFile, readdir } from "node:fs/promises";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Camel } from "../../src/camel.ts";
import { coveringEntries, exactEntries } from "../../src/pipeline/allowlist.ts";
import type { Answer, Question, ToolResult } from "../../src/pipeline/call.ts";
import type { Facts } from "../../src/pipeline/policy.ts";
import type { Logger } from "../../src/shared/log.ts";
import { createFakeClock } from "../fake-clock.ts";
import {
  atTerminal,
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

/** fetch sets Host and Origin itself. */
function fetchAs(address: string, method: string, host: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const headers = { host, ...(method === "POST" ? { origin: `https://${host}` } : {}) };
    const sent = request(address, { method, headers }, (res) => {
      text(res).then((body) => {
        const status = res.statusCode ?? 0;
        resolve(new Response(body === "" ? null : body, { status }));
      }, reject);
    });
    sent.on("error", reject).end();
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
    // The person's shell knows neither the host's PATH nor its environment.
    expect(closed.text).toContain(
      `npx camel-mcp approvals approve ${request?.id} --home ${JSON.stringify(box.home)}`,
    );
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
    expect(asked).toContain(
      " wants to call apply_patch: write a.txt\npatch:\n  | *** Begin Patch\n  | *** Add File: a.txt\n",
    );
    expect(asked).toContain("  | +x\\u{1b}[2Jy\n  | +\\u{202e}z\n");
    await patch(camel, `${"long/".repeat(800)}b.txt`, ({ message }) => ((asked = message), undefined));
    expect(asked).toMatch(/… \(\d+ characters\)/);
  });

  test("what is run stands in the first three lines, which is what some hosts show", async () => {
    let asked = "";
    const camel = await startCamel(await sandbox(SMART));
    const definition = {
      name: "lister",
      description: "Lists a folder.",
      strategy: { type: "shell", command: "ls -la" },
      input_schema: { type: "object", properties: {} },
    };
    await camel.dispatcher.call({
      ...callOf("tool_create", { action: "create", definition }),
      ask: ({ message }) => ((asked = message), Promise.resolve({ action: "decline" })),
    });
    expect(asked.split("\n").slice(0, 3)).toContain("Runs: ls -la");
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
    // At once, not when the file is next looked at.
    expect(fresh.config().settings.approvals.allowlist).toEqual([entry]);
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

  test("the first answer stands, also while it is being used", async () => {
    const box = await sandbox(SMART);
    const [camel, other] = [await startCamel(box), await startCamel(box)];
    for (let round = 0; round < 20; round++) {
      const id = idIn(await patch(camel, `${round}.txt`));
      expect(await camel.approvals.decide(id, { decision: "allow", by: "cli" })).toBe(true);
      const [used, ...second] = await Promise.all([
        camel.approvals.take(id),
        ...[camel, other].map((one) => one.approvals.decide(id, { decision: "deny", by: "link" })),
      ]);
      expect([used?.decision, ...second]).toEqual(["allow", false, false]);
    }
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
    expect((await runCli(["approvals", "list"], box)).stdout).toContain(
      `${id}  0 min ago  main (test)  apply_patch: write a.txt\n`,
    );
    expect((await runCli(["approvals", "show", id], box)).stdout).toContain("a.txt");
    const refused = await runCli(["approvals", "approve", id], box, { stdin: "y\n" });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("Only a person at a terminal");
  });

  test.skipIf(!existsSync("/usr/bin/script"))(
    "at a terminal a person chooses for how long, or says why not",
    async () => {
      const box = await sandbox(SMART);
      const camel = await startCamel(box);
      const decide = async (action: string, file: string, typed: string): Promise<string> => {
        const id = idIn(await patch(camel, file));
        // The beginning of an id will do.
        const { stdout } = await atTerminal(["approvals", action, id.slice(0, 14)], box, typed);
        return stdout;
      };
      expect(await decide("approve", "a.txt", "n\n")).toContain("Nothing was decided");
      expect((await patch(camel, "a.txt")).code).toBe("approval_required");
      expect(await decide("deny", "a.txt", "y\nrather b.txt\n")).toContain("Denied");
      expect((await patch(camel, "a.txt")).text).toMatch(/approval_denied[\s\S]*rather b\.txt/);
      const shown = await decide("approve", "b.txt", "s\n");
      expect(shown).toContain('until the host closes: "apply_patch"');
      expect(shown).toContain(`adds "apply_patch:${join(box.workspace, "b.txt")}" to approvals.allowlist`);
      expect((await patch(camel, "b.txt")).isError).toBeUndefined();
      expect((await patch(camel, "c.txt")).isError).toBeUndefined();
      const later = await startCamel(box);
      expect((await patch(later, "d.txt")).code).toBe("approval_required");
      expect(
        await atTerminal(["approvals", "approve", idIn(await patch(later, "d.txt"))], box, "a\n"),
      ).toMatchObject({
        code: 0,
      });
      expect((await patch(later, "d.txt")).isError).toBeUndefined();
      expect(await readFile(join(box.home, "config.yaml"), "utf8")).toContain(
        `    - apply_patch:${join(box.workspace, "d.txt")}\n`,
      );
    },
  );

  test.skipIf(!existsSync("/usr/bin/script"))(
    "a terminal alone is not enough where a PIN is set",
    async () => {
      const box = await sandbox(SMART);
      const camel = await startCamel(box);
      expect((await atTerminal(["approvals", "pin"], box, "12\n")).stdout).toContain("at least 4");
      expect((await atTerminal(["approvals", "pin"], box, "4711\n4711\n")).stdout).toContain(
        "The PIN is set",
      );
      const id = idIn(await patch(camel, "a.txt"));
      const wrong = await atTerminal(["approvals", "approve", id], box, "y\n0000\n");
      expect(wrong).toMatchObject({ code: 1 });
      expect(wrong.stdout).toContain("Wrong PIN");
      expect((await patch(camel, "a.txt")).code).toBe("approval_required");
      const right = await atTerminal(["approvals", "approve", id], box, "y\n4711\n");
      expect(right.stdout).toContain("Approved");
      expect(right.stdout).not.toContain("4711");
      expect((await patch(camel, "a.txt")).isError).toBeUndefined();
    },
  );
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
          // Behind a proxy the reader of the link knows the server by another name.
          forward: { webhook: `http://127.0.0.1:${port}/`, replyUrl: "https://camel.example.com" },
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
    const { approve: link, deny } = await links;
    expect(link).toMatch(/^https:\/\/camel\.example\.com\/approvals\/apr_/);
    /** As a browser behind the proxy sends it. */
    const visit = (address: string, method: string, host = "camel.example.com"): Promise<Response> =>
      fetchAs(address.replace("https://camel.example.com", url), method, host);
    const approve = link;
    const forged = approve.replace("decision=allow", "decision=deny");
    expect((await visit(forged, "POST")).status).toBe(404);
    const shown = await visit(approve, "GET");
    expect(await shown.text()).toContain("apply_patch");
    // Chat programs look at links by themselves.
    expect((await visit(approve, "HEAD")).status).toBe(405);
    expect((await visit(approve, "POST", "evil.example")).status).toBe(403);
    expect((await camel.approvals.list()).length).toBe(1);
    expect((await visit(approve, "POST")).status).toBe(200);
    expect((await visit(deny, "POST")).status).not.toBe(200);
    expect((await pending).isError).toBeUndefined();
  });
});

test("every request has one end: a decision made later, a denial and a cancelled call too", async () => {
  const box = await sandbox(SMART);
  const camel = await startCamel(box);
  const seen: string[] = [];
  camel.on("approval_request", (event) => seen.push(`asked ${event.agentId}`));
  camel.on("approval_resolved", (event) => seen.push(`${event.decision} by ${event.by}`));
  const decide = async (decision: "allow" | "deny"): Promise<void> => {
    await patch(camel, "a.txt");
    const [request] = await camel.approvals.list();
    await camel.approvals.decide(request?.id ?? "", { decision, by: "cli" });
    await patch(camel, "a.txt");
  };
  await decide("deny");
  await decide("allow");
  await patch(camel, "b.txt", () => ({ action: "accept", content: { approve: false } }));
  const controller = new AbortController();
  const stop = camel.on("approval_request", () => controller.abort());
  await patch(camel, "c.txt", undefined, controller.signal);
  stop();
  expect(seen).toEqual([
    "asked main",
    "deny by cli",
    "asked main",
    "allow-once by cli",
    "asked main",
    "deny by host",
    "asked main",
    "cancelled by caller",
  ]);
});

test("what is answered in the host waits for nobody else, and a rule that can't be written stops no call", async () => {
  const said: string[] = [];
  const log: Logger = { error: () => {}, warn: (line) => said.push(line), info: () => {}, debug: () => {} };
  const box = await sandbox(SMART);
  const camel = await startCamel(box, { log });
  await patch(camel, "a.txt", () => ({ action: "cancel" }));
  expect((await camel.approvals.list()).length).toBe(1);
  await patch(camel, "a.txt", () => ({ action: "accept", content: { approve: true } }));
  expect(await camel.approvals.list()).toEqual([]);
  await box.write("home/config.yaml", "approvals: { mode: smart\n");
  const result = await patch(camel, "b.txt", () => ({
    action: "accept",
    content: { approve: true, remember: "always" },
  }));
  expect(result.isError).toBeUndefined();
  expect(said.join("\n")).toContain("approvals.allowlist was not changed");
});

test("a person who doesn't answer has his time once, then the fallback decides", async () => {
  const box = await sandbox({
    "home/config.yaml": "approvals: { mode: smart, fallback: allow, timeoutSeconds: 60 }\n",
  });
  const clock = createFakeClock();
  const camel = await startCamel(box, { clock });
  const pending = camel.dispatcher.call({
    ...callOf("apply_patch", { patch: add("a.txt") }),
    ask: (_question, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("withdrawn")));
        clock.advance(60_000);
      }),
  });
  expect((await pending).isError).toBeUndefined();
});

test("a session's leave is no other client's", async () => {
  const camel = await startCamel(await sandbox(SMART));
  await patch(camel, "a.txt", () => ({ action: "accept", content: { approve: true, remember: "session" } }));
  expect((await patch(camel, "b.txt")).isError).toBeUndefined();
  // Over HTTP the newest protocol has no sessions: all clients of a token share one id.
  for (const over of [{ client: "another" }, { agentId: "alice" }])
    expect((await camel.dispatcher.call(callOf("apply_patch", { patch: add("c.txt") }, over))).code).toBe(
      "approval_required",
    );
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
    // As people write YAML.
    expect(coveringEntries(["Edit: src/*"], facts({ ...edit, paths: paths("src/a.ts") }))).toBeDefined();
    // Another spelling is another file.
    for (const name of ["Src/a.ts", "src\u2215a.ts", "ѕrc/a.ts"])
      expect(coveringEntries(["Edit:src/*"], facts({ ...edit, paths: paths(name) }))).toBeUndefined();
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
