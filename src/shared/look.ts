import { statSync, type Stats } from "node:fs";

/**
 * What lies at a path; undefined where nothing does, or nothing that can be looked at. Synchronous, for what every
 * call asks: the answer is in the system's cache, and a trip through the thread pool takes twenty times as long.
 */
export function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
