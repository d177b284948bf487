/**
 * Keeps checkpoints from filling the disk: the newest stay, within bounds. Runs after a call has been answered and
 * looks at everything only when something may be over: a look at all of them costs more than a small change does.
 */
import { readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { indexDirectory, packSize, packsDirectory } from "./blobs.ts";
import { isMissing, journalPaths, timeInId, type Journal } from "./journal.ts";
import { keptIds, readRecord } from "./records.ts";

export interface CheckpointBounds {
  maxAgeDays: number;
  maxBytes: number;
  maxCount: number;
}

/** So much may come in before the total is counted again. */
const COUNT_AFTER_BYTES = 4 * 1024 * 1024;
/** Files removed in one go, so that nobody waits long for the lock; the rest goes next time. */
const MOST_REMOVED = 2_000;

/** Bytes this process has added since it last counted. A process that starts knows nothing, so it counts first. */
const uncounted = new Map<string, number>();

export async function isPruningDue(
  home: string,
  addedBytes: number,
  bounds: CheckpointBounds,
  now: number,
): Promise<boolean> {
  const bytes = (uncounted.get(home) ?? Number.POSITIVE_INFINITY) + addedBytes;
  uncounted.set(home, bytes);
  if (bytes > COUNT_AFTER_BYTES) return true;
  const ids = await keptIds(home);
  return ids.length > bounds.maxCount || (ids.at(-1) ?? "9") < oldestId(bounds, now);
}

/**
 * The caller holds the lock. Records go before the packs they need: dying in between leaves packs that nobody needs,
 * and the next time removes those. A pack stays as long as any record needs a part of it. The newest checkpoint stays, whatever its size and age.
 */
export async function prune(home: string, bounds: CheckpointBounds, now: number): Promise<void> {
  const ids = await keptIds(home);
  // A few more go at once, or every change at the limit would cost a look at all of them.
  const maxCount =
    ids.length > bounds.maxCount ? bounds.maxCount - Math.floor(bounds.maxCount / 10) : bounds.maxCount;
  const oldest = oldestId(bounds, now);
  const packs = await neededByOpen(home);
  const hashes = new Set<string>();
  const keep = (needs: Needs): void => {
    for (const pack of needs.packs) packs.add(pack);
    for (const hash of needs.hashes) hashes.add(hash);
  };
  let bytes = 0;
  let cut = 0;
  for (const id of ids) {
    const needs = await needsOf(home, id);
    for (const pack of needs.packs) if (!packs.has(pack)) bytes += await packSize(home, pack);
    if (cut > 0 && (cut >= maxCount || bytes > bounds.maxBytes || id < oldest)) break;
    keep(needs);
    cut++;
  }
  const stay = Math.max(cut, ids.length - MOST_REMOVED);
  for (const id of ids.slice(cut, stay)) keep(await needsOf(home, id));
  for (const id of ids.slice(stay)) await unlink(journalPaths(home, id).kept);
  const rest =
    (await removeOthers(packsDirectory(home), packs)) + (await removeOthers(indexDirectory(home), hashes));
  if (stay === cut && rest === 0) uncounted.set(home, 0);
}

interface Needs {
  packs: Set<string>;
  hashes: Set<string>;
}

async function needsOf(home: string, id: string): Promise<Needs> {
  const needs: Needs = { packs: new Set(), hashes: new Set() };
  for (const { before } of (await readRecord(home, id))?.entries ?? []) {
    if (before === undefined) continue;
    needs.packs.add(before.pack);
    needs.hashes.add(before.sha256);
  }
  return needs;
}

/** Removes what isn't in `needed`; returns how much is left for the next time. */
async function removeOthers(folder: string, needed: ReadonlySet<string>): Promise<number> {
  const names: string[] = await readdir(folder).catch(() => []);
  const others = names.filter((name) => !needed.has(name));
  for (const name of others.slice(0, MOST_REMOVED)) await unlink(join(folder, name));
  return Math.max(0, others.length - MOST_REMOVED);
}

/** A change that couldn't be finished or undone yet keeps what it needs. One that can't be read stops everything. */
async function neededByOpen(home: string): Promise<Set<string>> {
  const { openDirectory } = journalPaths(home, "-");
  const names: string[] = await readdir(openDirectory).catch(() => []);
  const needed = new Set<string>();
  for (const name of names) {
    const text = await readFile(join(openDirectory, name), "utf8").catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (text === undefined || name.endsWith(".tmp")) continue;
    for (const { before } of (JSON.parse(text) as Journal).entries) needed.add(before?.pack ?? "");
  }
  return needed;
}

function oldestId({ maxAgeDays }: CheckpointBounds, now: number): string {
  return timeInId(new Date(Math.max(0, now - maxAgeDays * 86_400_000)).toISOString());
}
