/** Time is passed in, so that tests never sleep. */
export interface Clock {
  /** Milliseconds since 1970, UTC; may jump. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. For durations. */
  monotonic(): number;
  setTimeout(callback: () => void, milliseconds: number): { cancel(): void };
}

/** Node fires a timer for longer than this at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  // Not performance.now(): its module would be loaded at every start for this alone.
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  },
  setTimeout(callback, milliseconds) {
    const timer = setTimeout(callback, Math.min(milliseconds, LONGEST_TIMER_MS));
    // A pending timer must not keep a server alive that its host has left.
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
