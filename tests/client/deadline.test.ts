import { expect, test } from "vitest";
import { createDeadline } from "../../src/client/deadline.ts";
import type { Clock } from "../../src/shared/clock.ts";

/** Time that passes when told to. */
function fakeClock(): Clock & { pass(milliseconds: number): void } {
  let now = 0;
  const timers = new Set<{ at: number; callback: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    setTimeout(callback, milliseconds) {
      const timer = { at: now + milliseconds, callback };
      timers.add(timer);
      return { cancel: () => timers.delete(timer) };
    },
    pass(milliseconds) {
      now += milliseconds;
      for (const timer of timers) {
        if (timer.at > now) continue;
        timers.delete(timer);
        timer.callback();
      }
    },
  };
}

test("silence ends it; life starts the time anew", () => {
  const clock = fakeClock();
  let expired = 0;
  const deadline = createDeadline(clock, 100, () => (expired += 1));
  clock.pass(99);
  deadline.restart();
  clock.pass(99);
  expect(expired).toBe(0);
  clock.pass(1);
  expect(expired).toBe(1);
});

test("while a person is asked the time stands still, however many questions are open", () => {
  const clock = fakeClock();
  let expired = 0;
  const deadline = createDeadline(clock, 100, () => (expired += 1));
  deadline.hold();
  deadline.hold();
  clock.pass(1_000);
  deadline.release();
  deadline.restart();
  clock.pass(1_000);
  expect(expired).toBe(0);
  deadline.release();
  clock.pass(100);
  expect(expired).toBe(1);
});

test("after the end nothing starts it again", () => {
  const clock = fakeClock();
  const deadline = createDeadline(clock, 100, () => expect.unreachable());
  deadline.hold();
  deadline.cancel();
  deadline.release();
  deadline.restart();
  clock.pass(1_000);
});
