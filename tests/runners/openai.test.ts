import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { runAgent, type AgentOptions } from "../../src/agent.ts";
import type { AgentEvent } from "../../src/runners/agent-loop.ts";
import { runAgentLoop, type AgentModel } from "../../src/runners/agent-loop.ts";
import { resolveApiKey } from "../../src/runners/api-key.ts";
import { runnerSchema } from "../../src/config/cron-schema.ts";
import { systemClock, type Clock } from "../../src/shared/clock.ts";
import { call, sandbox, startCamel } from "../harness.ts";
import {
  calls,
  chatServer,
  close,
  cutsOff,
  open,
  refuses,
  says,
  send,
  stalls,
  type Reply,
} from "./chat-server.ts";

/** Waits a hundredth of what it is told, so that no test waits for a retry. */
const fastClock: Clock = {
  ...systemClock,
  setTimeout: (callback, milliseconds) => systemClock.setTimeout(callback, milliseconds / 100),
};

function modelAt(baseUrl: string, over: Record<string, unknown> = {}): AgentModel {
  const { openai } = runnerSchema.parse({ openai: { model: "m", baseUrl, apiKey: "k", ...over } });
  if (openai === undefined) throw new Error("no model");
  return openai;
}

async function loop(replies: readonly Reply[], over: Record<string, unknown> = {}, signal?: AbortSignal) {
  const server = await chatServer(replies);
  const events: AgentEvent[] = [];
  const used: [string, unknown][] = [];
  const result = runAgentLoop({
    prompt: "What is it?",
    model: modelAt(server.baseUrl, over),
    apiKey: "k",
    tools: [{ name: "look", description: "Looks.", parameters: { type: "object", properties: {} } }],
    callTool: (name, args) => {
      used.push([name, args]);
      return Promise.resolve({ text: `seen ${JSON.stringify(args)}` });
    },
    signal: signal ?? new AbortController().signal,
    clock: fastClock,
    onEvent: (event) => events.push(event),
  });
  return { ...server, events, used, result };
}

describe("an answer", () => {
  it("is streamed, counted and told as events", async () => {
    const { result, events, requests, headers } = await loop([says("Gr", "üß ", "dich")], {
      pricePerMillion: { input: 10, output: 50 },
    });
    expect(await result).toMatchObject({
      response: "Grüß dich",
      newMessages: [
        { role: "user", content: "What is it?" },
        { role: "assistant", content: "Grüß dich" },
      ],
      usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 40, costUsd: 0.002 },
    });
    expect(requests[0]).toMatchObject({ model: "m", stream: true, stream_options: { include_usage: true } });
    expect(headers[0]?.authorization).toBe("Bearer k");
    expect(events.map((event) => event.type)).toEqual([
      "init",
      "stream_text",
      "stream_text",
      "stream_text",
      "usage",
      "chunk",
    ]);
  });

  it("of an endpoint that doesn't stream is taken whole", async () => {
    const { result } = await loop([
      (res) => {
        res.writeHead(200, { "content-type": "application/json" });
        res.end(
          JSON.stringify({ choices: [{ message: { content: "all at once" }, finish_reason: "stop" }] }),
        );
      },
    ]);
    expect((await result).response).toBe("all at once");
  });

  it("may be preceded by thinking", async () => {
    const { result, events, requests } = await loop(
      [
        (res) => {
          open(res);
          send(res, { reasoning_content: "let me see" });
          send(res, { content: "42" });
          send(res, {}, "stop");
          close(res);
        },
      ],
      { thinking: "adaptive", effort: "max" },
    );
    await result;
    expect(events).toEqual(
      expect.arrayContaining([
        { type: "thinking", state: "start" },
        { type: "thinking_delta", text: "let me see" },
        { type: "thinking", state: "end" },
      ]),
    );
    expect(requests[0]?.["reasoning_effort"]).toBe("high");
  });
});

describe("tools", () => {
  it("are called with arguments that came in bits, and their results go back", async () => {
    const { result, used, requests, events } = await loop([
      calls({ name: "look", args: '{"at":"the sky","n":1}' }, { name: "look", args: "{}" }),
      says("blue"),
    ]);
    expect((await result).response).toBe("blue");
    expect(used).toEqual([
      ["look", { at: "the sky", n: 1 }],
      ["look", {}],
    ]);
    expect(requests[1]?.messages.slice(1).map((message) => [message.role, message.content])).toEqual([
      ["assistant", null],
      ["tool", 'seen {"at":"the sky","n":1}'],
      ["tool", "seen {}"],
    ]);
    expect(events.filter((event) => event.type === "tool_call")).toHaveLength(2);
    expect(events.filter((event) => event.type === "tool_result")).toHaveLength(2);
  });

  it("that don't exist, or whose arguments are broken, are answered and not run", async () => {
    const { result, used, requests } = await loop([
      calls({ name: "look", args: '{"at": ' }, { name: "rm_rf", args: "{}" }),
      says("sorry"),
    ]);
    await result;
    expect(used).toEqual([]);
    const answers = requests[1]?.messages
      .filter((message) => message.role === "tool")
      .map((one) => one.content);
    expect(answers?.[0]).toMatch(/not a JSON object/);
    expect(answers?.[1]).toMatch(/no tool "rm_rf"/);
  });

  it("the run may not use are not offered and not run", async () => {
    const { result, used, requests } = await loop([calls({ name: "look", args: "{}" }), says("ok")], {
      tools: { allow: [], deny: ["lo*"] },
    });
    await result;
    expect(requests[0]?.tools).toBeUndefined();
    expect(used).toEqual([]);
  });

  it("end after maxTurns, with one last question without tools", async () => {
    const again = calls({ name: "look", args: "{}" });
    const { result, requests, used } = await loop([again, again, says("that was all")], { maxTurns: 2 });
    expect((await result).response).toBe("that was all");
    expect(used).toHaveLength(2);
    expect(requests[1]?.tools).toHaveLength(1);
    expect(requests[2]?.tools).toBeUndefined();
  });
});

describe("an endpoint with ways of its own", () => {
  const finish = (res: ServerResponse): void => send(res, {}, "stop");
  it.each<[string, Reply]>([
    [
      "neither says [DONE] nor closes",
      (res) => {
        open(res);
        send(res, { content: "all of it" });
        finish(res);
      },
    ],
    [
      "breaks off after the last piece",
      async (res) => {
        open(res);
        send(res, { content: "all of it" });
        finish(res);
        await setImmediate();
        res.destroy();
      },
    ],
    [
      "ends lines with CRLF and cuts characters in two",
      async (res) => {
        open(res);
        const bytes = Buffer.from(
          'data: {"choices":[{"delta":{"content":"all öf it"},"finish_reason":"stop"}]}\r\n\r\ndata: [DONE]\r\n\r\n',
        );
        const middle = bytes.indexOf("ö") + 1;
        for (const part of [bytes.subarray(0, middle), bytes.subarray(middle, -3), bytes.subarray(-3)]) {
          res.write(part);
          await setImmediate();
        }
        res.end();
      },
    ],
    [
      "sends text in parts",
      (res) => {
        open(res);
        send(res, {
          content: [
            { type: "text", text: "all of " },
            { type: "text", text: "it" },
          ],
        });
        finish(res);
        close(res);
      },
    ],
    [
      "puts it into a refusal",
      (res) => {
        open(res);
        send(res, { content: null, refusal: "all of" });
        send(res, { refusal: " it" });
        finish(res);
        close(res);
      },
    ],
  ])("that %s has answered all the same, and is paid once", async (_, reply) => {
    const { result, requests } = await loop([reply]);
    expect((await result).response).toMatch(/^all [oö]f it$/);
    expect(requests).toHaveLength(1);
  });

  it.each<[string, (send: (calls: object[]) => void) => void]>([
    [
      "the same index for each call",
      (tell) => {
        tell([{ index: 0, id: "a", function: { name: "look", arguments: '{"at":1}' } }]);
        tell([{ index: 0, id: "b", function: { name: "look", arguments: '{"at":2}' } }]);
      },
    ],
    [
      "no index at all",
      (tell) =>
        tell([
          { id: "a", function: { name: "look", arguments: '{"at":1}' } },
          { id: "b", function: { name: "look", arguments: '{"at":2}' } },
        ]),
    ],
    [
      "the name with every bit, and empty ids",
      (tell) => {
        for (const index of [0, 1]) {
          tell([{ index, id: "ab"[index], function: { name: "look", arguments: '{"at":' } }]);
          tell([{ index, id: "", function: { name: "look", arguments: `${index + 1}}` } }]);
        }
      },
    ],
  ])("calls of which come with %s are told apart", async (_, reply) => {
    const { result, used, requests } = await loop([
      (res) => {
        open(res);
        reply((tool_calls) => send(res, { tool_calls }));
        send(res, {}, "tool_calls");
        close(res);
      },
      says("done"),
    ]);
    expect((await result).response).toBe("done");
    expect(used).toEqual([
      ["look", { at: 1 }],
      ["look", { at: 2 }],
    ]);
    expect(requests[1]?.messages.slice(-2).map((message) => message.tool_call_id)).toEqual(["a", "b"]);
  });
});

describe("an endpoint in trouble", () => {
  it.each<[string, Reply]>([
    ["is busy", refuses(429, "slow down", { "retry-after": "1" })],
    ["is busy until a date", refuses(429, "slow down", { "retry-after": new Date(0).toUTCString() })],
    ["fails", refuses(503, "overloaded")],
    ["says 200 and means an error", refuses(200, "no such model")],
    [
      "answers without an answer",
      (res) => {
        open(res);
        res.end('data: {"choices":[]}\n\ndata: [DONE]\n\n');
      },
    ],
    ["cuts the stream off", cutsOff],
    ["stalls", stalls],
    [
      "sends an error in the stream",
      (res) => {
        open(res);
        res.end('data: {"error":{"message":"server exploded"}}\n\n');
      },
    ],
    [
      "sends something that is not JSON",
      (res) => {
        open(res);
        res.end("data: {oops\n\n");
      },
    ],
  ])("that %s is asked again", async (_, trouble) => {
    const { result, requests } = await loop([trouble, says("there you are")], { stallSeconds: 20 });
    expect((await result).response).toBe("there you are");
    expect(requests).toHaveLength(2);
  });

  it("is given up after a few tries, with its own words", async () => {
    const { result, requests } = await loop([refuses(500, "no disk")]);
    await expect(result).rejects.toThrow(/no answer in 4 tries: 500 no disk/);
    expect(requests).toHaveLength(4);
  });

  it("that refuses is believed at once", async () => {
    const { result, requests } = await loop([refuses(401, "Incorrect API key")]);
    await expect(result).rejects.toThrow(/refuses: 401 Incorrect API key/);
    expect(requests).toHaveLength(1);
  });

  it.each(["content_filter", "length"])(
    "that ends an empty answer with %s has given none",
    async (ending) => {
      const { result, requests } = await loop([
        (res) => {
          open(res);
          send(res, {}, ending);
          close(res);
        },
      ]);
      await expect(result).rejects.toThrow(ending);
      expect(requests).toHaveLength(1);
    },
  );

  it("can be left at any time", async () => {
    const abort = new AbortController();
    const server = await loop([stalls], { stallSeconds: 10_000 }, abort.signal);
    await expect.poll(() => server.events.some((event) => event.type === "stream_text")).toBe(true);
    abort.abort(new Error("enough"));
    await expect(server.result).rejects.toThrow("enough");
  });
});

describe("runAgent", () => {
  const run = async (replies: readonly Reply[], over: Partial<AgentOptions> = {}, config = "") => {
    const box = await sandbox({
      "home/config.yaml": config,
      "workspace/MEMORY.md": "# Memory\n\nThe sky is green.\n",
      "workspace/memory/private.md": "secret",
    });
    const camel = await startCamel(box);
    const server = await chatServer(replies);
    return {
      ...server,
      result: runAgent({ camel, message: "sky?", model: "m", baseUrl: server.baseUrl, ...over }),
    };
  };

  it("uses this package's own tools, through policy", async () => {
    const { result, requests } = await run(
      [
        calls(
          { name: "memory_get", args: '{"filePath":"MEMORY.md"}' },
          { name: "memory_get", args: '{"filePath":"memory/private.md"}' },
        ),
        says("green"),
      ],
      {},
      'rules: [{ tool: "memory_*", path: "memory/private.md", decision: deny }]',
    );
    expect((await result).response).toBe("green");
    const answers = requests[1]?.messages
      .filter((message) => message.role === "tool")
      .map((one) => one.content);
    expect(answers?.[0]).toContain("The sky is green.");
    expect(answers?.[1]).toMatch(/denied_by_policy|Policy refuses/);
    expect(requests[0]?.tools?.map((tool) => tool.function.name)).toEqual(
      expect.arrayContaining(["memory_search", "memory_get", "apply_patch", "cron"]),
    );
  });

  it("shows the model the parameters of tools that agents made", async () => {
    const camel = await startCamel(await sandbox());
    const input_schema = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };
    const strategy = { type: "js", source: "return input.word.length" };
    const definition = { name: "count_letters", description: "Counts letters.", strategy, input_schema };
    await call(camel, "tool_create", { action: "create", definition });
    const server = await chatServer([says("3")]);
    await runAgent({ camel, message: "How long is sky?", model: "m", baseUrl: server.baseUrl });
    const offered = server.requests[0]?.tools?.map((tool) => tool.function);
    expect(offered?.find(({ name }) => name === "count_letters")?.parameters).toMatchObject(input_schema);
  });

  it("is blocked by a hook before the prompt goes out", async () => {
    const box = await sandbox({
      "home/config.yaml": "hooks: { enabled: true }",
      "home/hooks/before_prompt.no.sh": "echo 'not today' >&2; exit 2\n",
    });
    const camel = await startCamel(box);
    const server = await chatServer([says("hi")]);
    await expect(runAgent({ camel, message: "sky?", model: "m", baseUrl: server.baseUrl })).rejects.toThrow(
      /not today/,
    );
    expect(server.requests).toHaveLength(0);
  });

  it("ends in time", async () => {
    const { result } = await run([stalls], { timeoutMs: 50 });
    await expect(result).rejects.toMatchObject({ code: "timeout" });
  });

  it("needs a model", async () => {
    const { result } = await run([], { model: undefined } as object);
    await expect(result).rejects.toMatchObject({ code: "invalid_config", message: "No model is named." });
  });

  it("hears of its own approvals only", async () => {
    const box = await sandbox({ "home/config.yaml": "approvals: { mode: always, timeoutSeconds: 1 }" });
    const camel = await startCamel(box);
    const server = await chatServer([calls({ name: "memory_search", args: '{"query":"x"}' }), says("done")]);
    const heard: Record<string, string[]> = { a: [], b: [] };
    await Promise.all(
      Object.entries(heard).map(([sessionId, types]) =>
        runAgent({
          camel,
          message: "sky?",
          model: "m",
          baseUrl: server.baseUrl,
          sessionId,
          onEvent: ({ type }) => types.push(type),
        }),
      ),
    );
    const asked = Object.values(heard).map((types) => types.filter((type) => type === "approval_request"));
    expect(asked.flat()).toHaveLength(1);
  });
});

describe("the key", () => {
  it("comes from the environment, a secret store, or as it is; a missing one is an error", async () => {
    const secret = (name: string) => Promise.resolve(name === "openai" ? "s3" : undefined);
    expect(await resolveApiKey("env:KEY", { KEY: "e1" }, undefined)).toBe("e1");
    expect(await resolveApiKey("secret://openai", {}, secret)).toBe("s3");
    expect(await resolveApiKey("plain", {}, undefined)).toBe("plain");
    expect(await resolveApiKey(undefined, {}, undefined)).toBeUndefined();
    await expect(resolveApiKey("env:KEY", {}, undefined)).rejects.toThrow(/not there/);
    await expect(resolveApiKey("secret://x", {}, secret)).rejects.toThrow(/not there/);
  });
});
