import type { Clock } from "./clock.ts";

interface Deadline {
  at: number;
  passed: () => void;
}

/**
 * Many deadlines on one timer. Nearly all are met, and to set and clear a timer for each would take longer than a
 * quick call does: this one is left to run, and finds nothing to do.
 */
export function createDeadlines(
  clock: Clock,
): (milliseconds: number, passed: () => void) => { cancel(): void } {
  const open = new Set<Deadline>();
  let timer: { cancel(): void } | undefined;
  let looksAt = Number.POSITIVE_INFINITY;

  const lookAt = (at: number, now: number): void => {
    timer?.cancel();
    looksAt = at;
    timer = clock.setTimeout(look, at - now);
  };
  const look = (): void => {
    const now = clock.monotonic();
    looksAt = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const deadline of open) {
      if (deadline.at > now) {
        next = Math.min(next, deadline.at);
        continue;
      }
      open.delete(deadline);
      deadline.passed();
    }
    if (next < looksAt) lookAt(next, now);
  };

  return (milliseconds, passed) => {
    const now = clock.monotonic();
    const deadline = { at: now + milliseconds, passed };
    open.add(deadline);
    if (deadline.at < looksAt) lookAt(deadline.at, now);
    return { cancel: () => void open.delete(deadline) };
  };
}
