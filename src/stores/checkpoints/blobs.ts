/**
 * Old contents, found by their hash. Those that a commit adds lie one after the other in one file, `packs/<id>`: one
 * fsync, where a file each would take as long as writing the new contents does. The commit's record says where
 * each lies. `index/<sha256>` says it too ("<pack>:<offset>"), so that the same bytes aren't kept twice; it is a hint
 * only, written after the answer and checked before it is believed.
 */
import { mkdir, open, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CamelError } from "../../shared/errors.ts";
import { eachLimited } from "./disk.ts";
import { isCheckpointId, isMissing, sha256, type Place, type Stored } from "./journal.ts";

export interface Blob {
  sha256: string;
  bytes: Buffer;
}

export function packsDirectory(home: string): string {
  return join(home, "checkpoints", "packs");
}

export function indexDirectory(home: string): string {
  return join(home, "checkpoints", "index");
}

export interface Placed {
  places: ReadonlyMap<string, Place>;
  /** What has to be written to `packs/<id>`. */
  pack: Buffer;
}

/** Where each content lies, or will lie once `pack` is written. The caller holds the lock. */
export async function placeBlobs(home: string, id: string, blobs: readonly Blob[]): Promise<Placed> {
  const unique = new Map(blobs.map((blob) => [blob.sha256, blob.bytes]));
  const places = await placesAtHand(home, unique);
  const parts: Buffer[] = [];
  let at = 0;
  for (const [hash, bytes] of unique) {
    if (places.has(hash)) continue;
    places.set(hash, { pack: id, at });
    parts.push(bytes);
    at += bytes.length;
  }
  return { places, pack: Buffer.concat(parts) };
}

/** Contents that are kept already. A pack of which less than half is needed again is left to go: it would stay whole. */
async function placesAtHand(home: string, wanted: ReadonlyMap<string, Buffer>): Promise<Map<string, Place>> {
  const places = new Map<string, Place>();
  const reused = new Map<string, number>();
  await eachLimited([...wanted], async ([hash, bytes]) => {
    const place = await indexed(home, hash);
    const there = place === undefined ? undefined : await readRange(home, place, bytes.length);
    if (place === undefined || there?.equals(bytes) !== true) return;
    places.set(hash, place);
    reused.set(place.pack, (reused.get(place.pack) ?? 0) + bytes.length);
  });
  const worthIt = new Set<string>();
  for (const [pack, bytes] of reused) if (bytes * 2 >= (await packSize(home, pack))) worthIt.add(pack);
  return new Map([...places].filter(([, { pack }]) => worthIt.has(pack)));
}

export async function packSize(home: string, pack: string): Promise<number> {
  return (await stat(join(packsDirectory(home), pack)).catch(() => undefined))?.size ?? 0;
}

/** Tells later commits of the contents in the pack `id`. What fails here costs some space, nothing else. */
export async function indexBlobs(home: string, id: string, places: Placed["places"]): Promise<void> {
  await mkdir(indexDirectory(home), { recursive: true, mode: 0o700 });
  const added = [...places].filter(([, { pack }]) => pack === id);
  await eachLimited(added, ([hash, { pack, at }]) =>
    writeFile(join(indexDirectory(home), hash), `${pack}:${at}`, { mode: 0o600 }),
  );
}

export async function readBlob(home: string, stored: Stored & Place): Promise<Buffer> {
  const bytes = await readRange(home, stored, stored.size);
  if (bytes !== undefined && sha256(bytes) === stored.sha256) return bytes;
  throw new CamelError(
    "io_error",
    `The kept content ${stored.sha256.slice(0, 12)} is ${bytes === undefined ? "gone" : "damaged"}.`,
    {
      next: "It can't be brought back from this checkpoint; restore the other files by naming them in paths.",
    },
  );
}

async function indexed(home: string, hash: string): Promise<Place | undefined> {
  const text = await readFile(join(indexDirectory(home), hash), "utf8").catch(() => "");
  const [pack = "", at = ""] = text.split(":");
  return isCheckpointId(pack) && /^\d+$/.test(at) ? { pack, at: Number(at) } : undefined;
}

/** Undefined where the pack is gone; shorter where it is cut. */
async function readRange(home: string, { pack, at }: Place, size: number): Promise<Buffer | undefined> {
  if (size === 0) return Buffer.alloc(0);
  const handle = await open(join(packsDirectory(home), pack)).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    const bytes = Buffer.alloc(size);
    let read = 0;
    while (read < size) {
      const { bytesRead } = await handle.read(bytes, read, size - read, at + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return bytes.subarray(0, read);
  } finally {
    await handle.close();
  }
}
