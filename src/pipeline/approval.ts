import type { Config } from "../config/schema.ts";
import { canonicalJson, sha256Hex } from "../shared/canonical.ts";
import type { Clock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import {
  REQUEST_LIFE_MS,
  type ApprovalDecision,
  type ApprovalRequest,
  type ApprovalStore,
} from "../stores/approvals.ts";
import { sessionKey } from "../tools/session.ts";
import { approvalCard, approvalSummary, visibleLine } from "./approval-card.ts";
import { choicesFor, questionFor, readAnswer, type Choices } from "./approval-question.ts";
import { coveringEntries } from "./allowlist.ts";
import type { Middleware, ResolvedCall } from "./call.ts";
import type { Events, Whose } from "./events.ts";
import type { Facts, Verdict } from "./policy.ts";

export interface ApprovalOptions {
  store: ApprovalStore;
  clock: Clock;
  log: Logger;
  events: Events;
  settings: () => Config["approvals"];
  /** What a person types to approve a request that waits. */
  approveCommand: (id: string) => string;
  /** Adds entries to `approvals.allowlist` in the user's config file. */
  remember(entries: readonly string[]): Promise<void>;
  /** Tells others about a request that waits; they decide through the store. */
  forward?: (request: ApprovalRequest, signal: AbortSignal) => void;
}

const POLL_MS = 250;
const PROGRESS_MS = 10_000;
const MOST_SESSIONS = 1_000;

type Decided = Pick<ApprovalDecision, "decision" | "remember" | "note" | "by"> & {
  /** The host said no without a word, perhaps without having asked anybody. */
  isBare?: boolean;
};

/**
 * A call that policy wants asked about waits here for a person. Bound to the very call (tool, definition, input,
 * caller), good for one use. Nothing a model sends can answer: the question goes to the person at the client, or
 * to whoever sits at the machine.
 */
export function approval(options: ApprovalOptions): Middleware {
  const { store, clock, events } = options;
  /** What was allowed for a session, in this process. */
  const sessions = new Map<string, Set<string>>();

  return async function approval(call, next) {
    const { verdict, facts } = call;
    if (verdict?.decision !== "ask" || facts === undefined) return next();
    const choices = choicesFor(facts);
    const granted = [...(sessions.get(sessionKey(call.caller)) ?? [])];
    if (choices.session === undefined || coveringEntries(granted, facts) === undefined) {
      const id = await idOf(call, facts);
      const decided = (await store.take(id)) ?? (await ask(call, await requestOf(call, id, verdict, facts)));
      await settle(call, id, decided, choices);
    }
    call.isApproved = true;
    return next();
  };

  /** Does what the decision asks for beyond this call, and throws where it is a no. */
  async function settle(call: ResolvedCall, id: string, decided: Decided, choices: Choices): Promise<void> {
    const { decision, by, note } = decided;
    if (decision === "deny") {
      resolved(call, id, "deny", by);
      throw decided.isBare === true ? declined(call) : refusal(call, note);
    }
    // Only what the question offered and showed is ever kept.
    if (decided.remember === "session" && choices.session !== undefined) {
      grant(sessionKey(call.caller), choices.session);
      return resolved(call, id, "allow-session", by);
    }
    if (decided.remember === "always" && choices.always !== undefined) {
      try {
        await options.remember(choices.always);
        return resolved(call, id, "allow-always", by);
      } catch (error) {
        // The person said yes to this call; that the rule can't be written is no reason to refuse it.
        options.log.warn(`approvals.allowlist was not changed: ${String(error)}`);
      }
    }
    resolved(call, id, "allow-once", by);
  }

  function grant(session: string, entries: readonly string[]): void {
    sessions.set(session, new Set([...(sessions.get(session) ?? []), ...entries]));
    const [oldest] = sessions.keys();
    if (sessions.size > MOST_SESSIONS && oldest !== undefined) sessions.delete(oldest);
  }

  function resolved(call: ResolvedCall, id: string, decision: string, by: string): void {
    events.emit({ type: "approval_resolved", id, decision, by, ...whose(call) });
  }

  /** Throws `approval_required` where the request goes on waiting for a person. */
  async function ask(call: ResolvedCall, request: ApprovalRequest): Promise<Decided> {
    const settings = options.settings();
    const since = clock.monotonic();
    events.emit({ type: "approval_request", id: request.id, preview: request.prompt, ...whose(call) });
    try {
      return (
        (settings.elicitation === "off" ? undefined : await askInHost(call, request, settings)) ??
        (await waitForOthers(call, request, settings, since))
      );
    } catch (error) {
      if (call.signal.aborted) resolved(call, request.id, "cancelled", "caller");
      throw error;
    }
  }

  /** Undefined: nobody could be asked there. */
  async function askInHost(
    call: ResolvedCall,
    request: ApprovalRequest,
    settings: Config["approvals"],
  ): Promise<Decided | undefined> {
    const limit = new AbortController();
    const timer = clock.setTimeout(() => limit.abort(), settings.timeoutSeconds * 1000);
    const ticking = tick(call);
    try {
      const answer = await call.ask?.(
        questionFor(request.prompt, request),
        AbortSignal.any([limit.signal, call.signal]),
      );
      if (answer === undefined) return undefined;
      // Closed without an answer, by a person or by a host that has nobody to ask: that is neither yes nor no.
      if (answer.action === "cancel") {
        await store.add(request);
        throw required(
          call,
          request,
          options.approveCommand(request.id),
          "The question was closed without an answer. ",
        );
      }
      // Answered here, so nobody need answer it elsewhere.
      await store.withdraw(request.id);
      return { ...readAnswer(answer), by: "host" };
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
    since: number,
  ): Promise<Decided> {
    await store.add(request);
    const done = new AbortController();
    const ticking = tick(call);
    try {
      options.forward?.(request, done.signal);
      // Whoever it is forwarded to hears of it only now; the fallback comes when the time since the asking is over.
      const begin = settings.forward === undefined ? since : clock.monotonic();
      const waits = settings.fallback === "allow" || settings.forward !== undefined;
      const deadline = waits ? begin + settings.timeoutSeconds * 1000 : 0;
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
    if (settings.fallback === "deny") throw required(call, request, options.approveCommand(request.id));
    await store.withdraw(request.id);
    return { decision: "allow", by: "fallback" };
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
    const { approvalPrompt } = call.tool;
    const isText = typeof approvalPrompt === "string";
    const said = isText ? undefined : await approvalPrompt?.(call.input, call.context);
    const reason = visibleLine(`${verdict.rule} (${verdict.source})`);
    const now = clock.now();
    return {
      id,
      tool: call.tool.name,
      agent: call.caller.agentId,
      client: visibleLine(call.caller.client),
      prompt: [
        approvalCard({
          who: `${call.caller.agentId} (${visibleLine(call.caller.client)}) wants to call ${call.tool.name}`,
          input: call.input,
          facts,
          notice: isText ? approvalPrompt : undefined,
          said,
        }),
        `Asked because ${reason}.`,
      ].join("\n"),
      summary: approvalSummary(call.input, facts),
      reason,
      ...choicesFor(facts),
      createdAt: now,
      expiresAt: now + REQUEST_LIFE_MS,
    };
  }
}

function whose({ id, tool, caller }: ResolvedCall): Whose {
  return { toolName: tool.name, callId: id, agentId: caller.agentId, sessionId: caller.sessionId };
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

function required(call: ResolvedCall, request: ApprovalRequest, command: string, before = ""): CamelError {
  return new CamelError(
    "approval_required",
    `${before}${call.tool.name} needs a person's approval: ${request.reason}.`,
    {
      next: `Tell the user what you want to do and why, and ask them to run \`${command}\` in a terminal. Then repeat exactly the same call.`,
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
  return `apr_${sha256Hex(canonicalJson(facts)).slice(0, 32)}`;
}
