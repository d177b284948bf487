import type { Clock } from "./clock.ts";
import { CamelError } from "./errors.ts";
import { newId } from "./ids.ts";

/**
 * Calls that stop in the middle to ask something, over a protocol where the server can't ask: each request of the
 * client is a leg of the same call. A leg ends with a question and a ticket, or with the result; the client comes
 * back with the ticket and the answer, and the call goes on where it stopped. So a call runs once, however many
 * legs it takes.
 */
export interface ParkedCalls<Question, Answer, Result, Leg extends { signal: AbortSignal }> {
  start(
    owner: string,
    leg: Leg,
    run: (call: RunningCall<Question, Answer, Leg>) => Promise<Result>,
  ): Turn<Question, Result>;
  /** Undefined if no call waits with this ticket for this owner: a ticket is good once. */
  resume(
    ticket: string,
    owner: string,
    leg: Leg,
    answer: Answer | undefined,
  ): Turn<Question, Result> | undefined;
  /** Aborts every call. */
  close(): void;
}

export type Turn<Question, Result> = Promise<
  { kind: "question"; ticket: string; question: Question } | { kind: "result"; result: Result }
>;

export interface RunningCall<Question, Answer, Leg> {
  /** Aborted when the client cancels or leaves a leg, or doesn't come back in time. */
  signal: AbortSignal;
  /** The request that waits for this call now, if one does. */
  leg: () => Leg | undefined;
  /** Undefined: the client came back without an answer, or too many calls wait already. */
  ask: (question: Question, signal: AbortSignal) => Promise<Answer | undefined>;
}

interface State<Question, Answer, Result, Leg> {
  owner: string;
  controller: AbortController;
  leg: Leg | undefined;
  /** Given to the client and not yet brought back. Usually one; more if a question was withdrawn meanwhile. */
  tickets: Set<string>;
  next: Awaited<Turn<Question, Result>> | { kind: "error"; error: unknown } | undefined;
  wake: () => void;
  open: { ticket: string; answer: (answer: Answer | undefined) => void } | undefined;
  asking: Promise<unknown>;
}

export function createParkedCalls<Question, Answer, Result, Leg extends { signal: AbortSignal }>(options: {
  clock: Clock;
  /** How long a question waits for the client. */
  waitMs: () => number;
  maxParked: number;
}): ParkedCalls<Question, Answer, Result, Leg> {
  type Call = State<Question, Answer, Result, Leg>;
  const running = new Set<Call>();
  const parked = new Map<string, Call>();

  const end = (call: Call): void => {
    running.delete(call);
    for (const ticket of call.tickets) parked.delete(ticket);
  };
  const tell = (call: Call, next: NonNullable<Call["next"]>): void => {
    call.next = next;
    call.wake();
  };

  const ask = async (call: Call, question: Question, signal: AbortSignal): Promise<Answer | undefined> => {
    const ended = AbortSignal.any([signal, call.controller.signal]);
    if (ended.aborted) throw asError(ended.reason);
    if (parked.size >= options.maxParked) return undefined;
    const ticket = newId("ask", 16);
    call.tickets.add(ticket);
    parked.set(ticket, call);
    tell(call, { kind: "question", ticket, question });
    return new Promise((resolve, reject) => {
      // An answer counts for its own question only, never for a later one.
      call.open = { ticket, answer: resolve };
      ended.addEventListener("abort", () => reject(asError(ended.reason)), { once: true });
    });
  };

  /** Waits for what the call has to say next, and lets go of the leg when it has said it. */
  const follow = async (call: Call, leg: Leg): Turn<Question, Result> => {
    const onAbort = (): void => call.controller.abort(leg.signal.reason);
    if (leg.signal.aborted) onAbort();
    leg.signal.addEventListener("abort", onAbort, { once: true });
    call.leg = leg;
    if (call.next === undefined) await new Promise<void>((resolve) => (call.wake = resolve));
    const { next } = call;
    leg.signal.removeEventListener("abort", onAbort);
    call.leg = undefined;
    call.next = undefined;
    if (next?.kind === "question") {
      const { ticket } = next;
      options.clock.setTimeout(() => {
        if (parked.get(ticket) !== call) return;
        end(call);
        call.controller.abort(new CamelError("cancelled", "Nobody came back with an answer."));
      }, options.waitMs());
      return next;
    }
    end(call);
    if (next?.kind === "result") return next;
    throw asError(next?.error);
  };

  return {
    start(owner, leg, run) {
      const call: Call = {
        owner,
        controller: new AbortController(),
        leg,
        tickets: new Set(),
        next: undefined,
        wake: () => {},
        open: undefined,
        asking: Promise.resolve(),
      };
      running.add(call);
      const turn = follow(call, leg);
      run({
        signal: call.controller.signal,
        leg: () => call.leg,
        ask(question, signal) {
          // One at a time: a leg carries one question.
          const answer = call.asking.then(() => ask(call, question, signal));
          call.asking = answer.catch(() => {});
          return answer;
        },
      }).then(
        (result) => tell(call, { kind: "result", result }),
        (error: unknown) => tell(call, { kind: "error", error }),
      );
      return turn;
    },
    resume(ticket, owner, leg, answer) {
      const call = parked.get(ticket);
      if (call === undefined || call.owner !== owner) return undefined;
      parked.delete(ticket);
      call.tickets.delete(ticket);
      const turn = follow(call, leg);
      if (call.open?.ticket === ticket) call.open.answer(answer);
      return turn;
    },
    close() {
      for (const call of running)
        call.controller.abort(new CamelError("cancelled", "The server is stopping."));
      running.clear();
      parked.clear();
    },
  };
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new CamelError("cancelled", "The call was cancelled.");
}
