/** Old contents by their hash: the same bytes are kept once, however many checkpoints need them. */
import { randomBytes } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CamelError } from "../../shared/errors.ts";
import { eachLimited, type Disk } from "./disk.ts";
import { isMissing, sha256 } from "./journal.ts";

export interface Blob {
  sha256: string;
  bytes: Uint8Array;
}

export function blobsDirectory(home: string): string {
  return join(home, "checkpoints", "blobs");
}

/**
 * Makes the contents durable; the caller holds the lock. What is there already is compared, not trusted: it may be
 * the only copy. A blob appears under its name only when it is whole. `written` collects the new ones as they come,
 * for a caller that has to take them back.
 */
export async function keepBlobs(
  home: string,
  blobs: readonly Blob[],
  disk: Disk,
  written: string[],
): Promise<void> {
  const folder = blobsDirectory(home);
  const unique = new Map(blobs.map((blob) => [blob.sha256, blob.bytes]));
  if (unique.size === 0) return;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await eachLimited([...unique], async ([hash, bytes]) => {
    const path = join(folder, hash);
    const there = await readFile(path).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (there?.equals(bytes) === true) return;
    const draft = `${path}.${randomBytes(4).toString("hex")}.tmp`;
    written.push(draft);
    await disk.writeNew(draft, bytes, 0o600);
    written.push(path);
    await disk.rename(draft, path);
  });
  if (written.length > 0) await disk.syncDirectory(folder);
}

export async function readBlob(home: string, hash: string): Promise<Buffer> {
  const bytes = await readFile(join(blobsDirectory(home), hash)).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (bytes !== undefined && sha256(bytes) === hash) return bytes;
  throw new CamelError(
    "io_error",
    bytes === undefined
      ? `The kept content ${hash.slice(0, 12)} is gone.`
      : `The kept content ${hash.slice(0, 12)} is damaged.`,
    {
      next: "It can't be brought back from this checkpoint; restore the other files by naming them in paths.",
    },
  );
}
