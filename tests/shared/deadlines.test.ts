import fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock } from "../../src/shared/clock.ts";
import { createDeadlines } from "../../src/shared/deadlines.ts";
import { createFakeClock } from "../fake-clock.ts";

test("each passes at its time, in whatever order they were set, unless it was cancelled before", () => {
  const deadline = fc.record({ after: fc.nat(50), lasts: fc.nat(50), cancelledAfter: fc.nat(100) });
  fc.assert(
    fc.property(fc.array(deadline), (wanted) => {
      const clock = createFakeClock();
      const endAfter = createDeadlines(clock);
      const passed: Record<number, number> = {};
      const expected: Record<number, number> = {};
      wanted.forEach(({ after, lasts, cancelledAfter }, index) => {
        if (lasts <= cancelledAfter) expected[index] = after + lasts;
        clock.setTimeout(() => {
          const deadline = endAfter(lasts, () => (passed[index] = clock.monotonic()));
          // A fraction later: what is due at that moment comes first.
          clock.setTimeout(() => deadline.cancel(), cancelledAfter + 0.5);
        }, after);
      });
      clock.advance(1_000);
      expect(passed).toEqual(expected);
    }),
  );
});

test("a thousand that are met need no timer of their own", () => {
  const clock = createFakeClock();
  let timers = 0;
  const endAfter = createDeadlines({
    ...clock,
    setTimeout: (...args) => ((timers += 1), clock.setTimeout(...args)),
  });
  for (let index = 0; index < 1_000; index += 1) endAfter(50_000, () => {}).cancel();
  expect(timers).toBe(1);
});

test("a time longer than any timer of the system isn't over at once", async () => {
  const passed: string[] = [];
  const long = systemClock.setTimeout(() => passed.push("long"), 1e12);
  // Node runs timers in the order of their times, and takes one that is too long for one of a millisecond.
  await new Promise<void>((resolve) => setTimeout(resolve, 5));
  long.cancel();
  expect(passed).toEqual([]);
});
