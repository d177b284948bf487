import type { Caller } from "../tools/context.ts";
import type { MemoryResources } from "./resources.ts";

/** Files one listener may follow; a client that wants more is told which were taken. */
export const MAX_WATCHED = 256;

export interface Watches {
  /** Those of the wanted resources that are followed: they exist for this caller and it may read them. */
  uris: string[];
  stop(): void;
}

/** Follows what a `subscriptions/listen` of the 2026 era asks for. */
export async function watchAll(
  resources: MemoryResources,
  wanted: readonly string[],
  caller: Caller,
  changed: (uri: string) => void,
): Promise<Watches> {
  const stops = new Map<string, () => void>();
  for (const uri of new Set(wanted)) {
    if (stops.size >= MAX_WATCHED) break;
    const watched = await resources.watch(uri, caller, noRoots, () => changed(uri));
    if ("stop" in watched) stops.set(uri, watched.stop);
  }
  return {
    uris: [...stops.keys()],
    stop() {
      for (const stop of stops.values()) stop();
      stops.clear();
    },
  };
}

/** The 2026 era has no question for a client's folders. */
const noRoots = (): Promise<readonly string[]> => Promise.resolve([]);
