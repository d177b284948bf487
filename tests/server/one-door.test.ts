import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runAgent } from "../../src/agent.ts";
import { callTool } from "../../src/call-tool.ts";
import { builtinTools } from "../../src/tools/index.ts";
import { calls, chatServer, says, type ChatRequest } from "../runners/chat-server.ts";
import { CLIENTS, call, connect, runCli, sandbox, startCamel, type Sandbox } from "../harness.ts";

/**
 * Every way by which anything is executed. Each is given a policy that denies memory_get its file and must be refused by it
 * and leave an audit line, which proves that it went through the dispatcher and the whole pipeline.
 * A new path (a job, a composite step, a sandboxed host call) is added here.
 */
const POLICY = { rules: [{ tool: "memory_get", path: "MEMORY.md", decision: "deny" }] };
const DENIED = { "workspace/MEMORY.md": "secret\n", "home/config.yaml": JSON.stringify(POLICY) };
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
  "a composite's step": (box) =>
    madeTool(box, {
      type: "composite",
      steps: [{ tool_name: "memory_get", input_override: ARGS }],
    }),
  "a sandboxed script's host call": (box) =>
    madeTool(box, {
      type: "js",
      source: `export default async function (input, tools) {
        const got = await tools.call("memory_get", ${JSON.stringify(ARGS)});
        return JSON.stringify(got);
      }`,
      tools: ["memory_get"],
    }),
  "an agent's tool call": async (box) => {
    const model = await chatServer([
      calls({ name: "memory_get", args: JSON.stringify(ARGS) }),
      says("I was refused."),
    ]);
    const camel = await startCamel(box);
    await runAgent({ camel, message: "What do you remember?", model: "m", baseUrl: model.baseUrl });
    await camel.close();
    return lastToolMessage(model.requests);
  },
  "a job's run": async (box) => {
    const model = await chatServer([
      calls({ name: "memory_get", args: JSON.stringify(ARGS) }),
      says("I was refused."),
    ]);
    await box.write(
      "home/config.yaml",
      JSON.stringify({
        ...POLICY,
        runner: { use: "openai", openai: { model: "m", baseUrl: model.baseUrl, apiKey: "k" } },
      }),
    );
    const camel = await startCamel(box);
    const job = { action: "add", schedule: "0 9 * * *", prompt: "What do you remember?" };
    const added = await call(camel, "cron", job);
    const id = /job_[0-9a-z]+/.exec(added.text)?.[0];
    await call(camel, "cron", { action: "run", id });
    await expect.poll(() => model.requests.length, { timeout: 15_000 }).toBe(2);
    await camel.close();
    return lastToolMessage(model.requests);
  },
  "a program's call": async (box) => (await callTool(await startCamel(box), "memory_get", ARGS)).text,
  "camel-mcp memory get": async (box) => (await runCli(["memory", "get", "MEMORY.md"], box)).stderr,
  "following a resource": async (box) => {
    const client = await connect("2.x legacy http", box);
    return String(await client.follow("memory:///MEMORY.md", () => {}).catch((one: unknown) => one));
  },
  "camel-mcp call": async (box) => (await runCli(["call", "memory_get", JSON.stringify(ARGS)], box)).stdout,
};

/** A tool that an agent made while it was allowed, run now that what it calls is denied. */
async function madeTool(box: Sandbox, strategy: object): Promise<string> {
  const configFile = await box.write("free.yaml", "{}\n");
  const free = await startCamel(box, { configFile });
  const definition = {
    name: "peek",
    description: "Looks into the memory.",
    input_schema: { type: "object", properties: {} },
    strategy,
  };
  const made = await call(free, "tool_create", { action: "create", definition });
  expect(made.isError, made.text).toBeUndefined();
  await free.close();
  const camel = await startCamel(box);
  const direct = await call(camel, "peek", {});
  const viaRun = await call(camel, "tool_create", { action: "run", name: "peek", input: {} });
  await camel.close();
  expect(viaRun.text).toContain("denied_by_policy");
  return direct.text;
}

function lastToolMessage(requests: readonly ChatRequest[]): string {
  return requests.at(-1)?.messages.findLast(({ role }) => role === "tool")?.content ?? "";
}

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
