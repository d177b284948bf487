/** Reads the records of checkpoints. Nothing here changes anything. */
import { readdir, readFile } from "node:fs/promises";
import { z } from "zod";
import { isCheckpointId, isMissing, journalPaths } from "./journal.ts";

const storedSchema = z.object({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  size: z.number().int().min(0),
  mode: z.number().int().min(0).max(0o7777).optional(),
  owner: z.object({ uid: z.number().int().min(0), gid: z.number().int().min(0) }).optional(),
});

const recordSchema = z.object({
  version: z.literal(2),
  id: z.string(),
  createdAt: z.string(),
  tool: z.string(),
  agent: z.string(),
  callId: z.string(),
  root: z.string(),
  entries: z.array(
    z.object({
      path: z.string(),
      before: storedSchema
        .extend({ pack: z.string().refine(isCheckpointId), at: z.number().int().min(0) })
        .optional(),
      after: storedSchema.optional(),
    }),
  ),
  directories: z.array(z.string()),
});

/** A change that was made, and what it takes to go back behind it. */
export type CheckpointRecord = z.output<typeof recordSchema>;
export type RecordEntry = CheckpointRecord["entries"][number];

/** Undefined where there is none, or none that can be read. */
export async function readRecord(home: string, id: string): Promise<CheckpointRecord | undefined> {
  if (!isCheckpointId(id)) return undefined;
  const text = await readFile(journalPaths(home, id).kept, "utf8").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Newest first. */
export async function keptIds(home: string): Promise<string[]> {
  const names: string[] = await readdir(journalPaths(home, "-").keptDirectory).catch(() => []);
  return names
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.slice(0, -".json".length))
    .filter(isCheckpointId)
    .sort((a, b) => (a < b ? 1 : -1));
}

export async function listRecords(
  home: string,
  wanted: (record: CheckpointRecord) => boolean,
  limit: number,
): Promise<CheckpointRecord[]> {
  const found: CheckpointRecord[] = [];
  for (const id of await keptIds(home)) {
    if (found.length >= limit) break;
    const record = await readRecord(home, id);
    if (record !== undefined && wanted(record)) found.push(record);
  }
  return found;
}

/** By its own id, or by the id of the call that made it. */
export async function findRecord(home: string, id: string): Promise<CheckpointRecord | undefined> {
  if (isCheckpointId(id)) return readRecord(home, id);
  const [found] = await listRecords(home, ({ callId }) => callId === id, 1);
  return found;
}
