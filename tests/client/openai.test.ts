import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  connectCamel,
  toClaudeAgentConfig,
  toOpenAITools,
  type CamelClient,
  type OpenAITool,
  type OpenAIToolCall,
  type OpenAIToolMessage,
} from "../../src/client/index.ts";
import { strictParameters, withoutNulls } from "../../src/client/openai-schema.ts";
import { CLI, sandbox } from "../harness.ts";
import { upstream } from "../fixtures/upstream.ts";

type Message =
  | { role: "user"; content: string }
  | { role: "assistant"; content: string | null; tool_calls?: OpenAIToolCall[] }
  | OpenAIToolMessage;

/** A chat-completions endpoint with a model that makes mistakes and corrects them by what it is told. */
async function startModel(decide: (last: Message) => OpenAIToolCall["function"] | string): Promise<{
  url: string;
  requests: { messages: Message[]; tools: OpenAITool[] }[];
}> {
  const requests: { messages: Message[]; tools: OpenAITool[] }[] = [];
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      const request = JSON.parse(body) as (typeof requests)[number];
      requests.push(request);
      const decision = decide(request.messages.at(-1)!);
      const message =
        typeof decision === "string"
          ? { role: "assistant", content: decision }
          : {
              role: "assistant",
              content: null,
              tool_calls: [{ id: `call_${requests.length}`, type: "function", function: decision }],
            };
      res.setHeader("content-type", "application/json").end(JSON.stringify({ choices: [{ message }] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`, requests };
}

/** The whole loop an agent needs. */
async function runAgent(client: CamelClient, url: string, prompt: string): Promise<string> {
  const { tools, dispatch } = await toOpenAITools(client);
  const messages: Message[] = [{ role: "user", content: prompt }];
  for (let turn = 0; turn < 10; turn += 1) {
    const response = await fetch(url, { method: "POST", body: JSON.stringify({ messages, tools }) });
    const { choices } = (await response.json()) as {
      choices: { message: Message & { role: "assistant" } }[];
    };
    const { message } = choices[0]!;
    messages.push(message);
    if (message.tool_calls === undefined) return message.content ?? "";
    for (const call of message.tool_calls) messages.push(await dispatch(call));
  }
  throw new Error("the model never came to an end");
}

test("an agent loop: wrong calls are handed back to the model, which corrects them", async () => {
  const box = await sandbox({ "workspace/MEMORY.md": "# Memory\n\nTea, not coffee.\n" });
  const client = await connectCamel({
    command: process.execPath,
    args: [CLI, "--home", box.home, "--workspace", box.workspace],
  });
  onTestFinished(() => client.close());
  const call = (name: string, args: string): OpenAIToolCall["function"] => ({ name, arguments: args });
  const model = await startModel(({ role, content }) => {
    const heard = content ?? "";
    if (role === "user") return call("memory_gett", '{"filePath": "MEMORY.md"}');
    if (/unknown_tool[\s\S]*memory_get\b/.test(heard)) return call("memory_get", '{"filePath": "MEMORY.md"');
    if (/not JSON/.test(heard)) return call("memory_get", '["MEMORY.md"]');
    if (/not an object/.test(heard)) return call("memory_get", '{"path": "MEMORY.md"}');
    if (/invalid_input[\s\S]*Parameters: filePath/.test(heard))
      return call("memory_get", '{"filePath": "../secret"}');
    if (/path_outside_root/.test(heard)) return call("memory_get", '{"filePath": "MEMORY.md"}');
    return /Tea, not coffee/.test(heard) ? "They drink tea." : `I don't understand: ${heard}`;
  });
  expect(await runAgent(client, model.url, "What do they drink?")).toBe("They drink tea.");
  expect(model.requests).toHaveLength(7);
  const results = model.requests.at(-1)!.messages.filter((message) => message.role === "tool");
  expect(results.map((message) => message.tool_call_id)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `call_${n}`));
  for (const { type, function: tool } of model.requests[0]!.tools) {
    expect(type).toBe("function");
    expect(tool.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(tool.parameters).toMatchObject({ type: "object", properties: expect.anything() as object });
    expect(JSON.stringify(tool)).not.toContain("$schema");
  }
});

test("a server that dies is told to the model; cancelling isn't", async () => {
  const server = await upstream("2026");
  const client = await connectCamel(server.command);
  onTestFinished(() => client.close());
  const { dispatch } = await toOpenAITools(client);
  const call = (name: string, args = ""): OpenAIToolCall => ({
    id: "c",
    function: { name, arguments: args },
  });
  const lost = await dispatch(call("die"));
  expect(lost).toMatchObject({ role: "tool", tool_call_id: "c" });
  expect(lost.content).toMatch(/connection_lost[\s\S]*Next: .*before you repeat it/);
  expect((await dispatch(call("echo", '{"text": "ab", "times": null}'))).content).toBe("ab");
  const signal = AbortSignal.abort();
  await expect(dispatch(call("echo", '{"text": "ab"}'), { signal })).rejects.toMatchObject({
    code: "cancelled",
  });
});

test("a tool made since runs under its name; arguments may come parsed, or not at all", async () => {
  const box = await sandbox();
  const client = await connectCamel({
    command: process.execPath,
    args: [CLI, "--home", box.home, "--workspace", box.workspace],
  });
  onTestFinished(() => client.close());
  const { dispatch } = await toOpenAITools(client);
  const call = (name: string, args: unknown): OpenAIToolCall => ({
    id: "c",
    function: { name, arguments: args as string },
  });
  const definition = {
    name: "double_it",
    description: "Doubles a number.",
    strategy: { type: "js", source: "return `twice is ${(input.n ?? 1) * 2}`" },
    input_schema: { type: "object", properties: { n: { type: "number" } } },
  };
  const made = await dispatch(call("tool_create", { action: "create", definition }));
  expect(made.content).toContain("double_it");
  expect((await dispatch(call("double_it", '{"n": 4}'))).content).toBe("twice is 8");
  expect((await dispatch(call("double_it", undefined))).content).toBe("twice is 2");
  expect((await dispatch(call("double_itt", "{}"))).content).toMatch(
    /unknown_tool[\s\S]*Did you mean "double_it"/,
  );
});

test("strict schemas: everything required, optional things nullable, nothing else allowed", async () => {
  const box = await sandbox();
  const client = await connectCamel({
    command: process.execPath,
    args: [CLI, "--home", box.home, "--workspace", box.workspace],
  });
  onTestFinished(() => client.close());
  const { tools } = await toOpenAITools(client, { strict: true });
  const strict = tools.filter((tool) => tool.function.strict === true);
  expect(strict.map((tool) => tool.function.name)).toEqual(
    expect.arrayContaining(["apply_patch", "memory_get", "memory_search"]),
  );
  for (const { function: tool } of strict) checkStrict(tool.parameters);
});

function checkStrict(schema: unknown): void {
  if (Array.isArray(schema)) return schema.forEach(checkStrict);
  if (typeof schema !== "object" || schema === null) return;
  const { type, properties, required, additionalProperties, ...rest } = schema as Record<string, unknown>;
  for (const keyword of ["default", "allOf", "oneOf", "$schema", "minLength"])
    expect(Object.keys(rest)).not.toContain(keyword);
  if (type === "object") {
    expect(additionalProperties).toBe(false);
    expect(required).toEqual(Object.keys(properties as object));
    Object.values(properties as object).forEach(checkStrict);
  }
  Object.values(rest).forEach(checkStrict);
}

test("what strict mode makes of a value is undone on the way back", () => {
  const schema = z.object({
    name: z.string(),
    note: z.string().nullable(),
    size: z.number().optional(),
    inner: z.object({ a: z.string().optional(), b: z.array(z.object({ c: z.number().optional() })) }),
  });
  const json = z.toJSONSchema(schema, { io: "input" });
  const input = fc.record(
    {
      name: fc.string(),
      note: fc.option(fc.string()),
      size: fc.integer(),
      inner: fc.record(
        { a: fc.string(), b: fc.array(fc.record({ c: fc.integer() }, { requiredKeys: [] })) },
        { requiredKeys: ["b"] },
      ),
    },
    { requiredKeys: ["name", "note", "inner"] },
  );
  fc.assert(
    fc.property(input, (value) => {
      expect(withoutNulls(fillWithNulls(value, strictParameters(json)), json)).toEqual(value);
    }),
  );
});

/** As a model in strict mode has to. */
function fillWithNulls(value: unknown, schema: unknown): unknown {
  const { properties, items, anyOf } = (schema ?? {}) as Record<string, unknown>;
  if (Array.isArray(value)) return value.map((item) => fillWithNulls(item, items ?? (anyOf as unknown[])[0]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(properties as object).map(([name, property]) => [
      name,
      fillWithNulls((value as Record<string, unknown>)[name] ?? null, property),
    ]),
  );
}

test("an object with free keys can't be strict, and stays as it is", () => {
  expect(
    strictParameters(z.toJSONSchema(z.object({ env: z.record(z.string(), z.string()) }))),
  ).toBeUndefined();
  expect(strictParameters(z.toJSONSchema(z.object({ any: z.unknown() })))).toBeUndefined();
});

test("the Claude Agent SDK's entry, for both kinds of servers", () => {
  expect(toClaudeAgentConfig({ command: "npx", args: ["-y", "camel-mcp"], agent: "ann" })).toEqual({
    type: "stdio",
    command: "npx",
    args: ["-y", "camel-mcp"],
    env: { CAMELAGI_AGENT: "ann" },
  });
  expect(toClaudeAgentConfig({ url: "http://127.0.0.1:7800/mcp", token: "t" })).toEqual({
    type: "http",
    url: "http://127.0.0.1:7800/mcp",
    headers: { Authorization: "Bearer t" },
  });
});
