import fc from "fast-check";
import { expect, test } from "vitest";
import type { Clock } from "../../src/shared/clock.ts";
import { createParkedCalls } from "../../src/shared/parked-calls.ts";

type Leg = { signal: AbortSignal; name: string };

function setup(maxParked = 10) {
  const timers = new Set<() => void>();
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    setTimeout(callback) {
      timers.add(callback);
      return { cancel: () => timers.delete(callback) };
    },
  };
  const calls = createParkedCalls<string, string, string, Leg>({ clock, waitMs: () => 1_000, maxParked });
  return { calls, timeIsUp: () => timers.forEach((timer) => timer()) };
}
const leg = (name = "leg", signal = new AbortController().signal): Leg => ({ name, signal });
const never = new AbortController().signal;

test("a call goes through any number of legs, runs once, and knows which leg it is in", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { maxLength: 8 }), async (answers) => {
      const { calls } = setup();
      let runs = 0;
      let turn = await calls.start("me", leg("0"), async (call) => {
        runs += 1;
        const heard: string[] = [];
        for (const [index] of answers.entries()) {
          expect(call.leg()?.name).toBe(String(index));
          heard.push((await call.ask(`q${index}`, never)) ?? "none");
        }
        return JSON.stringify(heard);
      });
      for (const [index, answer] of answers.entries()) {
        if (turn.kind !== "question") throw new Error("ended early");
        expect(turn.question).toBe(`q${index}`);
        const { ticket } = turn;
        expect(calls.resume(ticket, "somebody else", leg(), answer)).toBeUndefined();
        turn = await calls.resume(ticket, "me", leg(String(index + 1)), answer)!;
        expect(calls.resume(ticket, "me", leg(), answer)).toBeUndefined();
      }
      expect(turn).toEqual({ kind: "result", result: JSON.stringify(answers) });
      expect(runs).toBe(1);
    }),
    { numRuns: 50 },
  );
});

test("an answer never counts for a later question than its own", async () => {
  const { calls } = setup();
  const withdraw = new AbortController();
  const first = await calls.start("me", leg(), async (call) => {
    const before = await call.ask("first", withdraw.signal).catch(() => "withdrawn");
    return `${before}, ${await call.ask("second", never)}`;
  });
  if (first.kind !== "question") throw new Error("no question");
  withdraw.abort();
  const second = await calls.resume(first.ticket, "me", leg(), "for the first")!;
  if (second.kind !== "question") throw new Error("no second question");
  expect(second.question).toBe("second");
  expect(await calls.resume(second.ticket, "me", leg(), "for the second")).toEqual({
    kind: "result",
    result: "withdrawn, for the second",
  });
});

test("a client that doesn't come back in time ends the call", async () => {
  const { calls, timeIsUp } = setup();
  let ended: Promise<string> | undefined;
  const turn = await calls.start("me", leg(), (call) => (ended = call.ask("?", never).then(() => "went on")));
  if (turn.kind !== "question") throw new Error("no question");
  timeIsUp();
  await expect(ended).rejects.toThrow("Nobody came back");
  expect(calls.resume(turn.ticket, "me", leg(), "late")).toBeUndefined();
});

test("cancelling the leg that waits cancels the call; so does closing", async () => {
  const { calls } = setup();
  const controller = new AbortController();
  const hang = (call: { signal: AbortSignal }): Promise<string> =>
    new Promise((_, reject) =>
      call.signal.addEventListener("abort", () => reject(call.signal.reason as Error)),
    );
  const cancelled = calls.start("me", leg("a", controller.signal), hang);
  controller.abort(new Error("by the client"));
  await expect(cancelled).rejects.toThrow("by the client");
  const stopped = calls.start("me", leg(), hang);
  calls.close();
  await expect(stopped).rejects.toThrow("stopping");
});

test("past the limit nobody is asked", async () => {
  const { calls } = setup(1);
  const one = await calls.start("me", leg(), async (call) => String(await call.ask("?", never)));
  expect(one.kind).toBe("question");
  const two = await calls.start("me", leg(), async (call) => String(await call.ask("?", never)));
  expect(two).toEqual({ kind: "result", result: "undefined" });
});
