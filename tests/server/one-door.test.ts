import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { builtinTools } from "../../src/tools/index.ts";
import { CLIENTS, call, connect, runCli, sandbox, startCamel, type Sandbox } from "../harness.ts";

/**
 * Every way by which anything is executed. Each is given a policy that denies memory_get and must be refused by it
 * and leave an audit line, which proves that it went through the dispatcher and the whole pipeline.
 * A new path (a job, a composite step, a sandboxed host call) is added here.
 */
const DENIED = { "workspace/MEMORY.md": "secret\n", "home/config.yaml": "tools: { deny: [memory_get] }\n" };
const ARGS = { filePath: "MEMORY.md" };

type Path = (box: Sandbox) => Promise<string>;

const PATHS: Record<string, Path> = {
  ...Object.fromEntries(
    CLIENTS.flatMap((kind): [string, Path][] => [
      [
        `tools/call by ${kind}`,
        async (box) => {
          const client = await connect(kind, box);
          const result = await client.callTool({ name: "memory_get", arguments: ARGS });
          await client.close();
          return result.content[0]?.text ?? "";
        },
      ],
      [
        `resources/read by ${kind}`,
        async (box) => {
          const client = await connect(kind, box);
          const error: unknown = await client
            .readResource("memory:///MEMORY.md")
            .catch((one: unknown) => one);
          await client.close();
          return String(error);
        },
      ],
    ]),
  ),
  "the library": async (box) => (await call(await startCamel(box), "memory_get", ARGS)).text,
  "a tool that calls another": async (box) => {
    const camel = await startCamel(box, {
      tools: [
        {
          ...(builtinTools[0] as (typeof builtinTools)[number]),
          name: "outer",
          touches: () => ({}),
          execute: async (_input, context) => (await context.callTool("memory_get", ARGS)).text,
        },
      ],
    });
    const result = await call(camel, "outer", { patch: "" });
    await camel.close();
    return result.text;
  },
  "camel-mcp call": async (box) => (await runCli(["call", "memory_get", JSON.stringify(ARGS)], box)).stdout,
};

describe("every path passes the pipeline", () => {
  test.each(Object.entries(PATHS))("%s", async (_name, run) => {
    const box = await sandbox(DENIED);
    const answer = await run(box);
    expect(answer).toContain("denied_by_policy");
    expect(answer).not.toContain("secret");
    await expect
      .poll(() => readFile(join(box.home, "audit", "audit.jsonl"), "utf8").catch(() => ""))
      .toContain('"tool":"memory_get"');
  });
});
