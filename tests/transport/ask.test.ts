import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/shared/clock.ts";
import { createFakeClock } from "../fake-clock.ts";
import { asking } from "../fixtures/asking.mjs";
import {
  CLIENTS,
  connect,
  sandbox,
  startHttp,
  type AnyClient,
  type Asked,
  type ClientKind,
  type ConnectOptions,
} from "../harness.ts";

const ASKING_SERVER = fileURLToPath(new URL("../fixtures/asking-server.mjs", import.meta.url));

async function connectAsking(kind: ClientKind, onAsk?: ConnectOptions["onAsk"]): Promise<AnyClient> {
  const box = await sandbox();
  const asked = onAsk === undefined ? {} : { onAsk };
  if (kind.endsWith("stdio"))
    return connect(kind, box, { ...asked, script: [ASKING_SERVER, box.home, box.workspace] });
  return connect(kind, box, { ...asked, url: (await startHttp(box, {}, asking)).url });
}

async function askMe(client: AnyClient, args: Record<string, unknown> = {}): Promise<unknown> {
  const result = await client.callTool({ name: "ask_me", arguments: args });
  return JSON.parse(result.content[0]?.text ?? "");
}

describe.each(CLIENTS)("%s", (kind) => {
  test("the question reaches the person and the answer the call, which runs once", async () => {
    const questions: Asked[] = [];
    const client = await connectAsking(kind, async (asked) => {
      questions.push(asked);
      return { action: "accept", content: { name: `answer ${questions.length}`, sure: true } };
    });
    expect(await askMe(client, { rounds: 3 })).toEqual({
      runs: 1,
      answers: [1, 2, 3].map((round) => ({
        action: "accept",
        content: { name: `answer ${round}`, sure: true },
      })),
    });
    expect(questions.map((asked) => asked.message)).toEqual(["Question 1?", "Question 2?", "Question 3?"]);
    expect(questions[0]?.requestedSchema).toMatchObject({
      type: "object",
      properties: { name: { type: "string" } },
    });
  });

  test.each(["decline", "cancel"] as const)("%s arrives as such", async (action) => {
    const client = await connectAsking(kind, async () => ({ action }));
    expect(await askMe(client)).toEqual({ runs: 1, answers: [{ action }] });
  });

  test("a client that takes no questions isn't asked", async () => {
    const client = await connectAsking(kind);
    const result = await client.callTool({ name: "ask_me", arguments: {} });
    expect(result.content[0]?.text).toBe("nobody to ask, runs 1");
  });

  test("a question that is withdrawn doesn't hold the call, and its late answer counts for nothing", async () => {
    const client = await connectAsking(kind, async () => {
      await client.callTool({ name: "give_up", arguments: {} });
      return { action: "accept", content: { name: "late" } };
    });
    expect(await askMe(client)).toEqual({ runs: 1, answers: ["gave up"] });
  });
});

describe("2026 era, by hand", () => {
  async function connectByHand(config = "{}", clock = systemClock) {
    const box = await sandbox({ "home/config.yaml": config });
    const { url } = await startHttp(box, { clock }, asking);
    const client = new Client(
      { name: "by-hand", version: "1" },
      {
        versionNegotiation: { mode: { pin: "2026-07-28" } },
        capabilities: { elicitation: { form: {} } },
        inputRequired: { autoFulfill: false },
      },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
    onTestFinished(() => client.close());
    const call = async (extra: Record<string, unknown> = {}, args: Record<string, unknown> = {}) =>
      (await client.callTool(
        { name: "ask_me", arguments: args, ...extra },
        {
          allowInputRequired: true,
        },
      )) as unknown as {
        resultType?: string;
        requestState?: string;
        isError?: boolean;
        content: { text: string }[];
      };
    return { url, client, call };
  }
  const yes = { question: { action: "accept", content: { name: "me" } } };

  test("an answer nobody asked for is not taken: the question is asked anyway", async () => {
    const { call } = await connectByHand();
    const first = await call({ inputResponses: yes });
    expect(first.resultType).toBe("input_required");
    const second = await call({ inputResponses: yes, requestState: first.requestState });
    expect(JSON.parse(second.content[0]?.text ?? "")).toMatchObject({ runs: 1 });
  });

  test("a state is good once, for its own call only, and can't be made up", async () => {
    const { call } = await connectByHand();
    const { requestState } = await call();
    const moved = await call({ inputResponses: yes, requestState }, { rounds: 2 });
    expect(moved.content[0]?.text).toMatch(/no longer open[\s\S]*Next: Call ask_me again/);
    const answered = await call({ inputResponses: yes, requestState });
    expect(JSON.parse(answered.content[0]?.text ?? "")).toMatchObject({ runs: 1 });
    const again = await call({ inputResponses: yes, requestState });
    expect(again.isError).toBe(true);
    expect(again.content[0]?.text).toContain("no longer open");
    await expect(call({ inputResponses: yes, requestState: `${requestState}x` })).rejects.toThrow(
      /Call again without it/,
    );
  });

  test("a person has the time that the config gives them, however long", async () => {
    const clock = createFakeClock();
    const { call } = await connectByHand("approvals: { timeoutSeconds: 3600 }", clock);
    const { requestState } = await call();
    clock.advance(59 * 60_000);
    const back = await call({ inputResponses: yes, requestState });
    expect(JSON.parse(back.content[0]?.text ?? "")).toMatchObject({ answers: [{ action: "accept" }] });
  });

  test("coming back without an answer is no answer", async () => {
    const { call } = await connectByHand();
    const { requestState } = await call();
    const back = await call({ requestState });
    expect(JSON.parse(back.content[0]?.text ?? "")).toEqual({ runs: 1, answers: [null] });
  });
});
