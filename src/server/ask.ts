import {
  ProtocolError,
  ProtocolErrorCode,
  createRequestStateCodec,
  type RequestStateCodec,
  inputRequired,
  inputResponse,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { errorResult } from "../pipeline/answer-errors.ts";
import type { Answer, Ask, Question, ToolResult } from "../pipeline/call.ts";
import { canonicalJson, sha256Hex } from "../shared/canonical.ts";
import { LONGEST_TIMER_MS, type Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import { isObject } from "../shared/is-object.ts";
import { createParkedCalls } from "../shared/parked-calls.ts";
import type { Caller } from "../tools/context.ts";

/** Added to a person's time: how long a call that had to go on without them waits to be fetched. */
const MORE_MS = 10 * 60_000;
/** What a state leads to has a time of its own. */
const STATE_SECONDS = 30 * 24 * 3_600;
const MAX_PARKED = 200;
const KEY = "question";

type Form = ElicitRequestFormParams["requestedSchema"];

/**
 * Carries questions of a call to the person at the client and their answers back, in both eras. Until 2025 the
 * server asks while the call is under way. Since 2026 it returns its question and the client calls again with the
 * answer: the call is parked meanwhile, and what brings it back is a signed state that only this process makes.
 */
export interface Asking {
  run(
    request: AskingRequest,
    server: Server,
    context: ServerContext,
    call: (leg: RunningLeg) => Promise<ToolResult>,
  ): Promise<ToolResult | InputRequiredResult>;
  close(): void;
}

interface AskingRequest {
  name: string;
  args: unknown;
  caller: Caller;
}

export interface RunningLeg {
  signal: AbortSignal;
  /** Absent if the client takes no questions. */
  ask?: Ask;
  /** The request to send progress with: not always the one the call began in. */
  current(): ServerContext | undefined;
}

export function createAsking(options: {
  clock: Clock;
  /** How long a person may think. */
  personSeconds: () => number;
}): Asking {
  // Made at the first question: a start that asks nothing needs no key, and so no node:crypto.
  let codec: RequestStateCodec<{ ticket: string }> | undefined;
  const states = (): RequestStateCodec<{ ticket: string }> =>
    (codec ??= createRequestStateCodec<{ ticket: string }>({
      key: process.getBuiltinModule("node:crypto").randomBytes(32),
      ttlSeconds: STATE_SECONDS,
    }));
  const calls = createParkedCalls<
    Question,
    Answer,
    ToolResult,
    { signal: AbortSignal; context: ServerContext }
  >({
    clock: options.clock,
    waitMs: () => options.personSeconds() * 1000 + MORE_MS,
    maxParked: MAX_PARKED,
  });

  const runModern = async (
    request: AskingRequest,
    context: ServerContext,
    call: (leg: RunningLeg) => Promise<ToolResult>,
  ): Promise<ToolResult | InputRequiredResult> => {
    const leg = { signal: context.mcpReq.signal, context };
    const owner = ownerOf(request);
    const state = context.mcpReq.requestState<string>();
    // Answers without our state were never asked for: the call starts, and asks.
    const turn =
      state === undefined
        ? calls.start(owner, leg, (running) =>
            call({ signal: running.signal, ask: running.ask, current: () => running.leg()?.context }),
          )
        : calls.resume(await ticketOf(state, context), owner, leg, answerOf(context));
    if (turn === undefined) return noLongerOpen(request.name);
    const next = await turn;
    if (next.kind === "result") return next.result;
    return inputRequired({
      inputRequests: { [KEY]: inputRequired.elicit(formOf(next.question)) },
      requestState: await states().mint({ ticket: next.ticket }, context),
    });
  };

  const ticketOf = async (state: string, context: ServerContext): Promise<string> => {
    try {
      return (await states().verify(state, context)).ticket;
    } catch {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        "This requestState is not valid here, or no longer: the server may have restarted. Call again without it.",
      );
    }
  };

  return {
    run(request, server, context, call) {
      const { signal } = context.mcpReq;
      const current = (): ServerContext => context;
      if (isModern(context)) {
        const isReturning = context.mcpReq.requestState() !== undefined;
        return isReturning || takesForms(modernCapabilities(context))
          ? runModern(request, context, call)
          : call({ signal, current });
      }
      return takesForms(server.getClientCapabilities())
        ? call({ signal, current, ask: (question, until) => askNow(context, question, until) })
        : call({ signal, current });
    },
    close: () => calls.close(),
  };
}

/** The 2025 eras: a request to the client, inside the call. */
async function askNow(
  context: ServerContext,
  question: Question,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const until = AbortSignal.any([signal, context.mcpReq.signal]);
  try {
    // Whoever asks ends the waiting by the signal.
    const { action, content } = await context.mcpReq.send(
      { method: "elicitation/create", params: { mode: "form", ...formOf(question) } },
      { signal: until, timeout: LONGEST_TIMER_MS },
    );
    return { action, ...(content === undefined ? {} : { content }) };
  } catch (error) {
    if (until.aborted) throw error;
    return undefined;
  }
}

function formOf({ message, schema }: Question): { message: string; requestedSchema: Form } {
  return { message, requestedSchema: schema as Form };
}

function answerOf(context: ServerContext): Answer | undefined {
  const view = inputResponse(context.mcpReq.inputResponses, KEY);
  if (view.kind !== "elicit") return undefined;
  return { action: view.action, ...(view.content === undefined ? {} : { content: view.content }) };
}

/** A parked call belongs to who made it and to its very arguments: an answer can't be moved to another call. */
function ownerOf({ name, args, caller }: AskingRequest): string {
  const facts = [caller.agentId, caller.token ?? null, caller.client, name, args ?? null];
  return sha256Hex(canonicalJson(facts));
}

function noLongerOpen(name: string): ToolResult {
  return errorResult(
    new CamelError(
      "conflict",
      "The question this answers is no longer open: it was answered already, or waited too long.",
      { next: `Call ${name} again; what still needs an answer is asked again.` },
    ),
  );
}

function isModern(context: ServerContext): boolean {
  return envelopeOf(context)["io.modelcontextprotocol/protocolVersion"] !== undefined;
}

function modernCapabilities(context: ServerContext): { elicitation?: unknown } | undefined {
  const declared = envelopeOf(context)["io.modelcontextprotocol/clientCapabilities"];
  return isObject(declared) ? declared : undefined;
}

function envelopeOf(context: ServerContext): Record<string, unknown> {
  return { ...context.mcpReq.envelope };
}

/** An empty declaration means forms; one that names only URLs doesn't. */
function takesForms(capabilities: { elicitation?: unknown } | undefined): boolean {
  const declared = capabilities?.elicitation;
  if (typeof declared !== "object" || declared === null) return false;
  return "form" in declared || !("url" in declared);
}
