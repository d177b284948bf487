import { z } from "zod";
import type { Config } from "../config.ts";
import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import type { ApprovalDecision, ApprovalRequest, ApprovalStore } from "../stores/approvals.ts";
import { approvalCard, visibleLine } from "./approval-card.ts";
import { coveringEntries, exactEntries } from "./allowlist.ts";
import type { Answer, Middleware, ResolvedCall } from "./call.ts";
import type { Events } from "./events.ts";
import type { Facts, Verdict } from "./policy.ts";

export interface ApprovalOptions {
  store: ApprovalStore;
  clock: Clock;
  events: Events;
  settings: () => Config["approvals"];
  /** Adds entries to `approvals.allowlist` in the user's config file. */
  remember(entries: readonly string[]): Promise<void>;
  /** Tells others about a request that waits; they decide through the store. */
  forward?: (request: ApprovalRequest, signal: AbortSignal) => void;
}

/** How long a request waits for a person who isn't there now. */
const REQUEST_LIFE_MS = 24 * 3_600_000;
const POLL_MS = 250;
const PROGRESS_MS = 10_000;
const MOST_SESSIONS = 1_000;

/** What each choice would leave in force; absent where it isn't offered. */
interface Choices {
  session?: string[];
  always?: string[];
}

const formFor = ({ session, always }: Choices): Record<string, unknown> => ({
  type: "object",
  properties: {
    approve: { type: "boolean", title: "Approve", description: "Let this call happen.", default: false },
    remember: {
      type: "string",
      title: "For how long",
      enum: [
        "once",
        ...(session === undefined ? [] : ["session"]),
        ...(always === undefined ? [] : ["always"]),
      ],
      default: "once",
    },
    note: { type: "string", title: "Note", description: "Reaches the model if you don't approve." },
  },
  required: ["approve"],
});

const answerSchema = z.object({
  approve: z.literal(true),
  remember: z.enum(["once", "session", "always"]).optional().catch("once"),
});

/**
 * A call that policy wants asked about waits here for a person. Bound to the very call (tool, definition, input,
 * caller), good for one use. Nothing a model sends can answer: the question goes to the person at the client, or
 * to whoever sits at the machine.
 */
export function approval(options: ApprovalOptions): Middleware {
  const { store, clock, events } = options;
  /** What was allowed for a session, in this process. */
  const sessions = new Map<string, string[]>();

  return async function approval(call, next) {
    const { verdict, facts } = call;
    if (verdict?.decision !== "ask" || facts === undefined) return next();
    const id = await idOf(call, facts);
    const granted = sessions.get(call.caller.sessionId) ?? [];
    if (facts.approval?.state !== "needed" && coveringEntries(granted, facts) !== undefined)
      return approved(call, next);
    const earlier = await store.take(id);
    if (earlier !== undefined) {
      settle(call, earlier);
      return approved(call, next);
    }

    const settings = options.settings();
    const request = await requestOf(call, id, verdict, facts);
    events.emit({ type: "approval_request", id, toolName: call.tool.name, preview: request.prompt });
    const decided = (decision: string): void => {
      events.emit({ type: "approval_resolved", id, decision });
    };
    try {
      const answer =
        call.ask === undefined || settings.elicitation === "off"
          ? undefined
          : await askPerson(call, request, choicesFor(facts), settings.timeoutSeconds * 1000);
      // Closed without an answer, by a person or by a host that has nobody to ask: that is neither yes nor no.
      if (answer?.action === "cancel") {
        await store.add(request);
        throw required(call, request, "The question was closed without an answer. ");
      }
      if (answer !== undefined) {
        decided(await take(call, answer, choicesFor(facts)));
        return await approved(call, next);
      }
      const decision = await waitForOthers(call, request, settings);
      decided(`${decision.decision}-once`);
      settle(call, decision);
      return await approved(call, next);
    } catch (error) {
      if (error instanceof CamelError && REFUSALS.has(error.code)) decided(error.code);
      throw error;
    }
  };

  /** The person's answer in the host. Returns what it means, or throws what refuses the call. */
  async function take(call: ResolvedCall, answer: Answer, choices: Choices): Promise<string> {
    const content = answerSchema.safeParse(answer.content ?? {});
    // In some hosts Enter alone sends the form with its defaults: only a ticked box counts.
    if (answer.action !== "accept" || !content.success) {
      const note = answer.content?.["note"];
      throw answer.action === "decline" && answer.content === undefined
        ? declined(call)
        : refusal(call, typeof note === "string" ? note : undefined);
    }
    const { remember = "once" } = content.data;
    // Only what the question offered and showed is ever kept.
    if (remember === "session" && choices.session !== undefined) {
      const { sessionId } = call.caller;
      sessions.set(sessionId, [...(sessions.get(sessionId) ?? []), ...choices.session]);
      if (sessions.size > MOST_SESSIONS) sessions.delete([...sessions.keys()][0] ?? "");
    }
    if (remember === "always" && choices.always !== undefined) await options.remember(choices.always);
    return `allow-${remember}`;
  }

  /** Undefined: nobody could be asked there. */
  async function askPerson(
    call: ResolvedCall,
    request: ApprovalRequest,
    choices: Choices,
    timeoutMs: number,
  ): Promise<Answer | undefined> {
    const limit = new AbortController();
    const timer = clock.setTimeout(() => limit.abort(), timeoutMs);
    const ticking = tick(call);
    try {
      return await call.ask?.(
        { message: [request.prompt, ...explain(choices)].join("\n"), schema: formFor(choices) },
        AbortSignal.any([limit.signal, call.signal]),
      );
    } catch (error) {
      if (call.signal.aborted) throw cancelled(call);
      if (limit.signal.aborted) return undefined;
      throw error;
    } finally {
      timer.cancel();
      ticking.cancel();
    }
  }

  /** A record that a person at the machine decides, or whoever it is forwarded to. */
  async function waitForOthers(
    call: ResolvedCall,
    request: ApprovalRequest,
    settings: Config["approvals"],
  ): Promise<ApprovalDecision> {
    await store.add(request);
    const somebodyMayAnswer = settings.fallback === "allow" || settings.forward !== undefined;
    const done = new AbortController();
    const ticking = tick(call);
    try {
      options.forward?.(request, done.signal);
      const deadline = clock.monotonic() + (somebodyMayAnswer ? settings.timeoutSeconds * 1000 : 0);
      for (;;) {
        const decision = await store.take(request.id);
        if (decision !== undefined) return decision;
        if (call.signal.aborted) {
          await store.withdraw(request.id);
          throw cancelled(call);
        }
        if (clock.monotonic() >= deadline) break;
        await new Promise<void>((resolve) => {
          clock.setTimeout(resolve, POLL_MS);
        });
      }
    } finally {
      done.abort();
      ticking.cancel();
    }
    if (settings.fallback === "allow") {
      await store.withdraw(request.id);
      const now = clock.now();
      return { decision: "allow", by: "fallback", decidedAt: now, expiresAt: now };
    }
    throw required(call, request);
  }

  function tick(call: ResolvedCall): { cancel(): void } {
    let timer: { cancel(): void } | undefined;
    let count = 0;
    const again = (): void => {
      timer = clock.setTimeout(() => {
        count += 1;
        call.progress?.({ progress: count, message: "waiting for a person's approval" });
        again();
      }, PROGRESS_MS);
    };
    again();
    return { cancel: () => timer?.cancel() };
  }

  async function requestOf(
    call: ResolvedCall,
    id: string,
    verdict: Verdict,
    facts: Facts,
  ): Promise<ApprovalRequest> {
    const { always } = choicesFor(facts);
    const said = await call.tool.approvalPrompt?.(call.input, call.context);
    const reason = visibleLine(`${verdict.rule} (${verdict.source})`);
    const now = clock.now();
    return {
      id,
      tool: call.tool.name,
      agent: call.caller.agentId,
      client: call.caller.client,
      prompt: [
        `${call.caller.agentId} (${visibleLine(call.caller.client)}) wants to call ${call.tool.name}:`,
        approvalCard(call.input, facts, said),
        `Asked because ${reason}.`,
      ].join("\n"),
      reason,
      ...(always === undefined ? {} : { always }),
      createdAt: now,
      expiresAt: now + REQUEST_LIFE_MS,
    };
  }
}

/** What each choice of the form means. */
function explain({ session, always }: Choices): string[] {
  const entries = (list: readonly string[]): string => list.map((one) => JSON.stringify(one)).join(", ");
  return [
    ...(session === undefined ? [] : [`"Session" lets pass until the host closes: ${entries(session)}`]),
    always === undefined
      ? '"Always" isn\'t offered: no narrow rule would cover this call.'
      : `"Always" adds to approvals.allowlist in your config: ${entries(always)}`,
  ];
}

/** For a session a tool that only touches files is let through as a whole; a program or address only as it is. */
function choicesFor(facts: Facts): Choices {
  // A tool that is made, or does more than it was approved to, is judged each time: no rule of its name fits the next.
  if (facts.approval?.state === "needed" || facts.effect === "extend") return {};
  const always = exactEntries(facts);
  const filesOnly = facts.commands.length === 0 && facts.urls.length === 0;
  const session = filesOnly ? [facts.tool] : always;
  return { ...(session === undefined ? {} : { session }), ...(always === undefined ? {} : { always }) };
}

const REFUSALS: ReadonlySet<string> = new Set(["approval_denied", "approval_required", "cancelled"]);

function approved(call: ResolvedCall, next: () => ReturnType<Middleware>): ReturnType<Middleware> {
  call.isApproved = true;
  return next();
}

function settle(call: ResolvedCall, decision: ApprovalDecision): void {
  if (decision.decision === "deny") throw refusal(call, decision.note);
}

function refusal(call: ResolvedCall, note: string | undefined): CamelError {
  const said = note === undefined || note.trim() === "" ? "" : ` They say: ${note.trim().slice(0, 1_000)}`;
  return new CamelError("approval_denied", `The user didn't approve ${call.tool.name}.${said}`, {
    next: "Don't repeat the call. Ask the user what to do instead.",
  });
}

/** Hosts without a person at the keyboard decline at once, just as a person may: the message has to be true of both. */
function declined(call: ResolvedCall): CamelError {
  return new CamelError("approval_denied", `${call.tool.name} wasn't approved: the host declined.`, {
    next: "Don't repeat the call. Ask the user what to do instead. If they weren't asked, because the host runs without a person, they can list the call in approvals.allowlist, or set approvals.elicitation: off and decide with `camel-mcp approvals`.",
  });
}

function required(call: ResolvedCall, request: ApprovalRequest, before = ""): CamelError {
  return new CamelError(
    "approval_required",
    `${before}${call.tool.name} needs a person's approval: ${request.reason}.`,
    {
      next: `Tell the user what you want to do and why, and ask them to run \`camel-mcp approvals approve ${request.id}\` in a terminal. Then repeat exactly the same call.`,
      details: {
        approvalId: request.id,
        rule: call.verdict?.rule ?? "",
        source: call.verdict?.source ?? "",
      },
    },
  );
}

function cancelled(call: ResolvedCall): CamelError {
  return new CamelError("cancelled", `${call.tool.name} was cancelled while it waited for approval.`);
}

/**
 * The call a person saw: tool with its definition, input, caller, and what it touches where. Another input is another
 * id, and so is the same input in another workspace. Long enough that nobody can find two calls with one id.
 */
async function idOf({ tool, input, caller, context }: ResolvedCall, touched: Facts): Promise<string> {
  const facts = [
    tool.name,
    tool.description,
    tool.effect,
    tool.fingerprint ?? null,
    input,
    caller.agentId,
    caller.token ?? null,
    caller.depth,
    await context.workspace("read").catch(() => null),
    touched.paths,
    touched.commands,
    touched.urls,
  ];
  const { createHash } = process.getBuiltinModule("node:crypto");
  return `apr_${createHash("sha256").update(JSON.stringify(facts, sortedKeys)).digest("hex").slice(0, 32)}`;
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
