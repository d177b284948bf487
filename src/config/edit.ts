import { readFile, realpath, stat } from "node:fs/promises";
import { parseConfig } from "./parse.ts";
import type { Clock } from "../shared/clock.ts";
import { replaceFile } from "../shared/durable.ts";
import { CamelError, codeOf } from "../shared/errors.ts";
import { withLock } from "../shared/lock.ts";

const KEYS = ["approvals", "allowlist"];
/** A person's editor may save between our look and our write. */
const MOST_TRIES = 5;

/**
 * Adds entries to `approvals.allowlist` in the user's config file: its text stays but for the new lines, the result is
 * checked before it is written, and the file is replaced as a whole. Where the name is a link, the file it leads to.
 */
export async function addToAllowlist(path: string, entries: readonly string[], clock: Clock): Promise<void> {
  await withLock(`${path}.lock`, { clock, timeoutMs: 10_000, purpose: "changing the config" }, async () => {
    const file = await realpath(path).catch(() => path);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const text = await textOf(file);
      const changed = await withEntries(text, entries, path);
      if (changed === text) return;
      const mode = await stat(file).then(
        (found) => found.mode & 0o777,
        () => 0o600,
      );
      if ((await textOf(file)) === text) return replaceFile(file, changed, { mode });
    }
    throw new CamelError("busy", `${path} is being changed by somebody else.`, {
      next: "Add the entry to approvals.allowlist yourself.",
    });
  });
}

async function withEntries(text: string, entries: readonly string[], path: string): Promise<string> {
  const {
    config: { approvals },
  } = await parseConfig(text, path);
  const missing = entries.filter((entry) => !approvals.allowlist.includes(entry));
  if (missing.length === 0) return text;
  const { addToList } = await import("../shared/yaml-text.ts");
  const changed = addToList(text, KEYS, missing);
  await parseConfig(changed, path);
  return changed;
}

function textOf(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  });
}
