import { readFile, stat } from "node:fs/promises";
import { parseConfig } from "./config-load.ts";
import type { Clock } from "./shared/clock.ts";
import { replaceFile } from "./shared/durable.ts";
import { withLock } from "./shared/lock.ts";

/**
 * Adds entries to `approvals.allowlist` in the user's config file: comments and order stay, the result is checked
 * before it is written, and the file is replaced as a whole.
 */
export async function addToAllowlist(path: string, entries: readonly string[], clock: Clock): Promise<void> {
  const { isSeq, parseDocument } = await import("yaml");
  await withLock(`${path}.lock`, { clock, timeoutMs: 10_000, purpose: "changing the config" }, async () => {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
      throw error;
    });
    const document = parseDocument(text);
    const key = ["approvals", "allowlist"];
    const list: unknown = document.getIn(key);
    const present: unknown[] = isSeq(list) ? list.toJSON() : [];
    const missing = entries.filter((entry) => !present.includes(entry));
    if (missing.length === 0) return;
    if (!isSeq(list)) document.setIn(key, missing);
    else for (const entry of missing) document.addIn(key, entry);
    const changed = document.toString();
    await parseConfig(changed, path);
    const mode = await stat(path).then(
      (found) => found.mode & 0o777,
      () => 0o600,
    );
    await replaceFile(path, changed, { mode });
  });
}
