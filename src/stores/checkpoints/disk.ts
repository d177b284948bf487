/** Every step that commit takes on the disk, one method each: tests pass one that fails or dies at a chosen step. */
import { constants } from "node:fs";
import * as fs from "node:fs/promises";
import { syncDirectory } from "../../shared/durable.ts";

export interface Owner {
  uid: number;
  gid: number;
}

/** Undefined where files made here get the same owner anyway. */
export function foreignOwner({ uid, gid }: Owner): Owner | undefined {
  const isOurs = process.getuid?.() === uid && process.getgid?.() === gid;
  return isOurs || process.getuid === undefined ? undefined : { uid, gid };
}

export interface Disk {
  /** Creates the file exclusively and makes its bytes durable. `mode` undefined: what the umask leaves of 0666. */
  writeNew(path: string, bytes: Uint8Array, mode: number | undefined, owner?: Owner): Promise<void>;
  copyNew(from: string, to: string): Promise<void>;
  link(existing: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  mkdir(path: string): Promise<void>;
  rmdir(path: string): Promise<void>;
  syncDirectory(path: string): Promise<void>;
}

export function createDisk({ fsync = true }: { fsync?: boolean } = {}): Disk {
  return {
    async writeNew(path, bytes, mode, owner) {
      const handle = await fs.open(path, "wx", mode ?? 0o666);
      try {
        await handle.writeFile(bytes);
        const isOwners = owner === undefined || (await giveTo(handle, owner));
        // The umask has its say at open; a known mode is kept exactly, save that nobody lends their rights unasked.
        if (mode !== undefined && process.platform !== "win32") {
          await handle.chmod(isOwners ? mode : mode & 0o1777);
        }
        if (fsync) await handle.sync();
      } finally {
        await handle.close();
      }
    },
    async copyNew(from, to) {
      await fs.copyFile(from, to, constants.COPYFILE_EXCL);
      const handle = await fs.open(to, "r+");
      try {
        if (fsync) await handle.sync();
      } finally {
        await handle.close();
      }
    },
    link: fs.link,
    rename: fs.rename,
    unlink: fs.unlink,
    async mkdir(path) {
      await fs.mkdir(path);
    },
    rmdir: fs.rmdir,
    async syncDirectory(path) {
      if (fsync) await syncDirectory(path);
    },
  };
}

/** Only root may give a file away; others keep the group where they belong to it. */
async function giveTo(handle: fs.FileHandle, { uid, gid }: Owner): Promise<boolean> {
  if (process.platform === "win32") return true;
  try {
    await handle.chown(uid, gid);
    return true;
  } catch {
    await handle.chown(-1, gid).catch(() => {});
    return false;
  }
}

/** Enough to keep the disk busy, little enough to stay far from the limit of open files. */
const PARALLEL = 8;

export async function eachLimited<T>(
  items: readonly T[],
  run: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const index = next++;
      const item = items[index];
      if (item === undefined) continue;
      try {
        await run(item, index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  // All workers must have stopped before anything is undone.
  const results = await Promise.allSettled(Array.from({ length: Math.min(PARALLEL, items.length) }, worker));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
