import type { ElicitResult } from "@modelcontextprotocol/client";
import {
  inputRequired,
  inputResponse,
  type InputRequest,
  type Result,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Clock } from "../shared/clock.ts";
import { createParkedCalls, type RunningCall } from "../shared/parked-calls.ts";
import type { HostQuestions } from "./bridge-host.ts";

const WAIT_MS = 10 * 60_000;
const MAX_PARKED = 100;
const KEY = "question";

type Leg = { signal: AbortSignal; context: ServerContext };
type Answer = ElicitResult;

/**
 * Brings questions of a 2025-era server to the host. An older host is asked at once. A host of the 2026 era can
 * only be asked in the answer to a call of its own, so the question rides on one that is under way; which one makes
 * no difference to the answer, as that goes back to the question.
 */
export function createHostQuestions(clock: Clock): HostQuestions {
  const calls = createParkedCalls<InputRequest, Answer, Result, Leg>({
    clock,
    waitMs: () => WAIT_MS,
    maxParked: MAX_PARKED,
  });
  const running = new Set<RunningCall<InputRequest, Answer, Leg>>();
  let askNow: Parameters<HostQuestions["useDirect"]>[0] | undefined;

  return {
    useDirect(ask) {
      askNow = ask;
    },
    async ask(params, signal) {
      if (askNow !== undefined) return askNow(params, signal);
      const call = [...running].find((one) => one.leg() !== undefined) ?? [...running].at(-1);
      const answer = await call?.ask({ method: "elicitation/create", params }, signal);
      return answer ?? { action: "cancel" };
    },
    async carry(context, run) {
      const leg = { signal: context.mcpReq.signal, context };
      const ticket = context.mcpReq.requestState<string>();
      const turn =
        ticket === undefined
          ? calls.start("", leg, async (call) => {
              running.add(call);
              try {
                return await run({ signal: call.signal, current: () => call.leg()?.context });
              } finally {
                running.delete(call);
              }
            })
          : calls.resume(ticket, "", leg, answerOf(context));
      if (turn === undefined) return undefined;
      const next = await turn;
      return next.kind === "result"
        ? next.result
        : inputRequired({ inputRequests: { [KEY]: next.question }, requestState: next.ticket });
    },
    close: () => calls.close(),
  };
}

function answerOf(context: ServerContext): Answer | undefined {
  const view = inputResponse(context.mcpReq.inputResponses, KEY);
  if (view.kind !== "elicit") return undefined;
  const { action, content } = view;
  return { action, ...(content === undefined ? {} : { content: content as NonNullable<Answer["content"]> }) };
}
