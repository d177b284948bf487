import type { Clock } from "../shared/clock.ts";

/** Time that starts anew whenever the other side shows life, and stands still while a person thinks. */
export interface Deadline {
  restart(): void;
  hold(): void;
  release(): void;
  cancel(): void;
}

export function createDeadline(clock: Clock, milliseconds: number, onExpired: () => void): Deadline {
  let timer: { cancel(): void } | undefined;
  let holds = 0;
  const restart = (): void => {
    timer?.cancel();
    if (holds === 0) timer = clock.setTimeout(onExpired, milliseconds);
  };
  restart();
  return {
    restart,
    hold() {
      holds += 1;
      timer?.cancel();
    },
    release() {
      holds -= 1;
      restart();
    },
    cancel() {
      // A release that comes after the end must not start the time again.
      holds = Infinity;
      timer?.cancel();
    },
  };
}
