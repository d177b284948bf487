import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A new folder; removed when the test ends. */
export async function tempFolder(name: string): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), `camel-${name}-`)));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

/** Detached processes may still put their files in order there: a folder that fills again is emptied again. */
export function removeFolder(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 30, retryDelay: 20 });
}
