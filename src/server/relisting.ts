import type { Clock } from "../shared/clock.ts";

/**
 * Hosts that are told of changed tools fetch the list at once, but go on with the old one if the answer of the call
 * that changed it is there first: the model made a tool and can't call it. So that answer waits until the host has
 * the new list. Many hosts never fetch it: one that didn't isn't waited for again, unless it does so after all.
 */
export interface Relisting {
  /** The client was told that its tools changed. */
  told(): void;
  /** It is about to get its list. */
  listed(): void;
  /** What there is to wait for; another one for each change that was told. */
  pending(): Promise<void> | undefined;
}

/** Hosts that fetch it ask within a few milliseconds; on a busy machine Claude Code took a hundred. */
const ANSWERS_WITHIN_MS = 300;
/** What a host needs between getting the list and having its tools: Gemini CLI a few milliseconds. */
const SETTLES_MS = 25;

export function createRelisting(clock: Clock): Relisting {
  let pending: Promise<void> | undefined;
  let settle: (() => void) | undefined;
  let ignoresChanges = false;
  return {
    told() {
      if (ignoresChanges || settle !== undefined) return;
      pending = new Promise((resolve) => {
        const timer = clock.setTimeout(() => {
          ignoresChanges = true;
          settle = undefined;
          resolve();
        }, ANSWERS_WITHIN_MS);
        settle = () => {
          timer.cancel();
          settle = undefined;
          clock.setTimeout(resolve, SETTLES_MS);
        };
      });
    },
    listed() {
      ignoresChanges = false;
      settle?.();
    },
    pending: () => pending,
  };
}
