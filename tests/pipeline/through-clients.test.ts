import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect, isRunning, sandbox, type AnyClient, type ClientKind, type Sandbox } from "../harness.ts";

/** Limits and insight as a host gets them: from a config file, by a real server process, in both protocol eras. */
const ERAS: ClientKind[] = ["2.x legacy stdio", "2.x modern stdio"];

const script = (name: string, bash: string): object => ({ name, description: "A test.", handler: { bash } });

const CONFIG = {
  tools: { tier: "full" },
  urlAccess: { allowLoopback: true },
  clientTools: [
    script("often", "echo ran"),
    script("few", "echo ran"),
    script("slow", "echo $$ > slow.pid; exec sleep 60"),
    script("broken", "echo no >&2; exit 1"),
  ],
  limits: {
    tools: [
      { tool: "often", rateLimit: { calls: 2, perSeconds: 3_600 } },
      { tool: "few", maxExecutionsPerRun: 3 },
      { tool: "slow", timeoutSeconds: 0.5 },
      { tool: "broken", circuitBreaker: { threshold: 2 } },
      { tool: "memory_get", cache: true },
      { tool: "fetch_it", retry: { maxRetries: 2, backoffMs: 1 } },
    ],
  },
};

const boxWith = (): Promise<Sandbox> =>
  sandbox({ "home/config.yaml": JSON.stringify(CONFIG), "workspace/MEMORY.md": "first\n" });

async function ask(client: AnyClient, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  return content[0]?.text ?? "";
}

describe.each(ERAS)("through %s", (kind) => {
  test("rateLimit and maxExecutionsPerRun are exact for calls that come at once", async () => {
    const client = await connect(kind, await boxWith());
    for (const [tool, most, code] of [
      ["often", 2, "rate_limited"],
      ["few", 3, "limit_reached"],
    ] as const) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(client, tool)));
      expect(answers.filter((text) => text === "ran\n")).toHaveLength(most);
      expect(answers.filter((text) => text.includes(`(${code})`))).toHaveLength(8 - most);
    }
  });

  test("timeout ends the call and the program, the breaker refuses a tool that keeps failing", async () => {
    const box = await boxWith();
    const client = await connect(kind, box);
    expect(await ask(client, "slow")).toContain("(timeout)");
    const pid = Number(await readFile(join(box.workspace, "slow.pid"), "utf8"));
    await expect.poll(() => isRunning(pid)).toBe(false);
    const answers = [await ask(client, "broken"), await ask(client, "broken"), await ask(client, "broken")];
    expect(answers.map((text) => /\((\w+)\)/.exec(text)?.[1])).toEqual([
      "tool_failed",
      "tool_failed",
      "circuit_open",
    ]);
  });

  test("cache gives the same answer to the same question", async () => {
    const box = await boxWith();
    const client = await connect(kind, box);
    expect(await ask(client, "memory_get", { filePath: "MEMORY.md" })).toContain("first");
    await writeFile(join(box.workspace, "MEMORY.md"), "second\n");
    expect(await ask(client, "memory_get", { filePath: "MEMORY.md" })).toContain("first");
    expect(await ask(client, "memory_get", { filePath: "MEMORY.md", from: 1 })).toContain("second");
  });

  test("retry tries again what may work the second time", async () => {
    let asked = 0;
    const server = createServer((_req, res) => {
      asked += 1;
      res.writeHead(asked < 3 ? 503 : 200, { "Content-Type": "text/plain" }).end(`answer ${asked}`);
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const client = await connect(kind, await boxWith(), {
      onAsk: () => Promise.resolve({ action: "accept", content: { approve: true } }),
    });
    const definition = {
      name: "fetch_it",
      description: "A test.",
      strategy: { type: "http", method: "GET", url },
    };
    expect(await ask(client, "tool_create", { action: "create", definition })).toContain(
      'Made the tool "fetch_it"',
    );
    expect(await ask(client, "fetch_it")).toBe("answer 3");
  });

  test("insights_report tells of uses, failures and the tool that is missing", async () => {
    const client = await connect(kind, await boxWith());
    for (let turn = 0; turn < 3; turn += 1) {
      await ask(client, "memory_get", { filePath: "MEMORY.md" });
      await ask(client, "memory_get", { filePath: "memory/nowhere.md" });
      await client.callTool({ name: "convert_pdf", arguments: { file: `${turn}.pdf` } }).catch(() => {});
    }
    expect(await ask(client, "insights_report", { focus: "tools" })).toContain(
      "memory_get: 6 calls, 50 % succeeded",
    );
    expect(await ask(client, "insights_report", { focus: "failures" })).toContain("3 x memory_get");
    expect(await ask(client, "insights_report", { focus: "gaps" })).toMatch(
      /"convert_pdf" was called 3 times/,
    );
  });
});
