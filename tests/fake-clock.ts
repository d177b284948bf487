import type { Clock } from "../src/shared/clock.ts";

export interface FakeClock extends Clock {
  /** Moves both clocks and runs the timers that come due on the way, in order. */
  advance(milliseconds: number): void;
  /** Sets the wall clock, as a person or ntp does; timers don't notice. */
  set(now: number): void;
}

export function createFakeClock(start = Date.UTC(2026, 10, 18, 12, 0, 0)): FakeClock {
  let wall = start;
  let mono = 0;
  let timers: { at: number; callback: () => void }[] = [];
  return {
    now: () => wall,
    monotonic: () => mono,
    setTimeout(callback, milliseconds) {
      const timer = { at: mono + milliseconds, callback };
      timers.push(timer);
      return {
        cancel() {
          timers = timers.filter((one) => one !== timer);
        },
      };
    },
    advance(milliseconds) {
      const end = mono + milliseconds;
      for (;;) {
        const [first] = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at);
        if (first === undefined) break;
        timers = timers.filter((timer) => timer !== first);
        wall += Math.max(0, first.at - mono);
        mono = Math.max(mono, first.at);
        first.callback();
      }
      wall += end - mono;
      mono = end;
    },
    set(now) {
      wall = now;
    },
  };
}
