/**
 * The only writer of users' files that replaces or deletes. The caller holds the lock and has recovered older
 * journals; see write-files.ts.
 *
 *   journal (fsync) -> old contents to a pack -> folders, new contents and backups beside their targets
 *   -> compare the old bytes again -> rename each into place, or out of it -> fsync folders -> journal renamed: done.
 *
 * Until that last rename, any error or death is undone from the journal, in reverse.
 */
import { lstat, mkdir, readFile, realpath, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { replaceFile } from "../../shared/durable.ts";
import { CamelError, codeOf, messageOf, toCamelError } from "../../shared/errors.ts";
import { eachLimited, type Disk, type Owner } from "./disk.ts";
import { packsDirectory, placeBlobs, type Blob, type Placed } from "./blobs.ts";
import {
  isMissing,
  journalPaths,
  sha256,
  type Journal,
  type JournalEntry,
  type Origin,
  type Stored,
} from "./journal.ts";
import { tidy, undo } from "./recover.ts";

export interface FileContent {
  bytes: Buffer;
  mode: number | undefined;
  /** Where it is somebody else's than files made here would be. */
  owner?: Owner | undefined;
}

/** One path whose state changes; undefined: no file. */
export interface PlannedFile {
  path: string;
  before: FileContent | undefined;
  after: FileContent | undefined;
}

export interface CommitOptions {
  home: string;
  /** The real path of the folder that all files lie in. */
  root: string;
  id: string;
  createdAt: string;
  by: Origin;
  disk: Disk;
  signal?: AbortSignal;
  progress?: (done: number, total: number) => void;
}

/** Returns where the old contents are kept. */
export async function commitFiles(
  files: readonly PlannedFile[],
  options: CommitOptions,
): Promise<Placed["places"]> {
  const { disk, home, id } = options;
  const paths = journalPaths(home, id);
  const packs = packsDirectory(home);
  const { journal, pack, places } = await prepare(files, options);
  await mkdir(paths.openDirectory, { recursive: true, mode: 0o700 });
  const draft = join(paths.openDirectory, `${id}.tmp`);
  try {
    await disk.writeNew(draft, Buffer.from(JSON.stringify(journal)), 0o600);
    await disk.rename(draft, paths.open);
  } catch (error) {
    await disk.unlink(draft).catch(() => {});
    throw notWritten(error);
  }
  try {
    await disk.syncDirectory(paths.openDirectory);
    await mkdir(packs, { recursive: true, mode: 0o700 });
    if (pack.length > 0) await disk.writeNew(join(packs, id), pack, 0o600);
    for (const directory of journal.directories) await disk.mkdir(directory);
    await stage(files, journal, options);
    // The names of backups and new files must be on disk before the first old name goes.
    const parents = new Set(journal.entries.map((entry) => dirname(entry.path)));
    for (const directory of journal.directories) parents.add(dirname(directory));
    await eachLimited([...parents, packs], (parent) => disk.syncDirectory(parent));
    const stamps = await compare(files, journal);
    if (options.signal?.aborted === true) throw new CamelError("cancelled", "The call was cancelled.");
    await swap(files, journal, stamps, options);
    await checkBackups(journal, stamps);
    await eachLimited([...parents], (parent) => disk.syncDirectory(parent));
    await disk.rename(paths.open, paths.done);
  } catch (error) {
    // No checkpoint will need it, and the disk may be full.
    await unlink(join(packs, id)).catch(() => {});
    const kept = await undo(journal, paths, disk).catch((failed: unknown) => {
      throw new CamelError(
        "io_error",
        `The change failed (${messageOf(error)}) and could not be undone yet.`,
        {
          next: "Free disk space or restore access; the next call that writes undoes it first.",
          cause: failed,
        },
      );
    });
    throw notWritten(error, kept);
  }
  // Done. What is left is housekeeping, and recovery does it if this process can't.
  await disk
    .syncDirectory(paths.openDirectory)
    .then(() => tidy(journal, paths, disk))
    .catch(() => {});
  return places;
}

/** Keeps the old contents of files that somebody else is about to write. */
export async function keepFiles(
  files: readonly PlannedFile[],
  options: CommitOptions,
): Promise<Placed["places"]> {
  const { disk, home, id } = options;
  const packs = packsDirectory(home);
  try {
    const { journal, pack, places } = await prepare(files, options);
    await mkdir(packs, { recursive: true, mode: 0o700 });
    if (pack.length > 0) await disk.writeNew(join(packs, id), pack, 0o600);
    await disk.syncDirectory(packs);
    await replaceFile(journalPaths(home, id).kept, JSON.stringify(journal));
    return places;
  } catch (error) {
    await unlink(join(packs, id)).catch(() => {});
    throw notWritten(error);
  }
}

async function prepare(
  files: readonly PlannedFile[],
  { home, root, id, createdAt, by }: CommitOptions,
): Promise<Placed & { journal: Journal }> {
  const old = files.map(({ before }) => (before === undefined ? undefined : stored(before)));
  const blobs = files.flatMap(({ before }, i): Blob[] => {
    const hash = old[i]?.sha256;
    return before === undefined || hash === undefined ? [] : [{ sha256: hash, bytes: before.bytes }];
  });
  const { places, pack } = await placeBlobs(home, id, blobs);
  const entries: JournalEntry[] = [];
  const directories = new Set<string>();
  const seen = new Set<string>();
  for (const [i, { path, after }] of files.entries()) {
    const folder = dirname(path);
    if (!seen.has(folder)) {
      seen.add(folder);
      for (const missing of await missingFolders(folder)) directories.add(missing);
    }
    const beside = (suffix: string): string => join(folder, `.camel-${id}-${i}.${suffix}`);
    const entry: JournalEntry = { path, backup: beside("old"), staged: beside("new") };
    const before = old[i];
    const place = places.get(before?.sha256 ?? "");
    if (before !== undefined && place !== undefined) entry.before = { ...before, ...place };
    if (after !== undefined) entry.after = stored(after);
    entries.push(entry);
  }
  const ordered = [...directories].sort((a, b) => a.length - b.length);
  const journal: Journal = { version: 2, id, createdAt, ...by, root, entries, directories: ordered };
  return { journal, places, pack };
}

export function stored({ bytes, mode, owner }: FileContent): Stored {
  return {
    sha256: sha256(bytes),
    size: bytes.length,
    ...(mode === undefined ? {} : { mode }),
    ...(owner === undefined ? {} : { owner }),
  };
}

/** Outermost first. */
async function missingFolders(folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    const found = await lstat(at).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (found !== undefined || dirname(at) === at) return missing.reverse();
    missing.push(at);
  }
}

async function stage(
  files: readonly PlannedFile[],
  journal: Journal,
  { disk, progress }: CommitOptions,
): Promise<void> {
  let done = 0;
  await eachLimited(journal.entries, async (entry, i) => {
    const file = files[i];
    if (file === undefined) return;
    if (file.after !== undefined) {
      const owner = file.after.owner ?? file.before?.owner;
      await disk.writeNew(entry.staged, file.after.bytes, file.after.mode, owner);
    }
    // What is removed keeps itself: see swap.
    if (file.before !== undefined && file.after !== undefined) {
      // A second link costs no space and keeps the very file, so undoing needs none either.
      await disk.link(entry.path, entry.backup).catch(async (error: unknown) => {
        if (isMissing(error)) throw error;
        await disk.copyNew(entry.path, entry.backup);
      });
    }
    progress?.(++done, journal.entries.length);
  });
}

/** Somebody may have edited a file since it was read; their work is not ours to replace. */
async function compare(files: readonly PlannedFile[], journal: Journal): Promise<string[]> {
  const stamps: string[] = [];
  const folders = new Map<string, Promise<string>>();
  await eachLimited(files, async (file, i) => {
    const folder = dirname(file.path);
    const real = folders.get(folder) ?? realpath(folder);
    folders.set(folder, real);
    if ((await real) !== folder) throw changed(file.path);
    const entry = journal.entries[i];
    if (file.before === undefined || entry === undefined) return;
    stamps[i] = await stampOf(entry.path);
    if (!(await readFile(entry.path)).equals(file.before.bytes)) throw changed(file.path);
  });
  return stamps;
}

async function stampOf(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs } = await lstat(path, { bigint: true });
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

/** The last look before a name changes hands: an editor may have put another file there since. */
async function stillTheSame(path: string, stamp: string | undefined, shown = path): Promise<void> {
  const now = await stampOf(path).catch(() => "");
  if (stamp !== undefined && now !== stamp) throw changed(shown);
}

/** A backup that is a link is the old file itself, so a write that slipped in before the rename shows here. */
async function checkBackups(journal: Journal, stamps: readonly string[]): Promise<void> {
  const inode = (stamp: string): string => stamp.split(":").slice(0, 2).join(":");
  await eachLimited(journal.entries, async (entry, i) => {
    const before = stamps[i];
    if (before === undefined) return;
    const now = await stampOf(entry.backup);
    if (inode(now) === inode(before) && now !== before) throw changed(entry.path);
  });
}

async function swap(
  files: readonly PlannedFile[],
  journal: Journal,
  stamps: readonly string[],
  { disk }: CommitOptions,
): Promise<void> {
  // Removals first: a name may be freed for a folder or, on a system that ignores case, for a new spelling.
  await eachLimited(journal.entries, async (entry, i) => {
    if (files[i]?.after !== undefined) return;
    await stillTheSame(entry.path, stamps[i]);
    // Not unlinked: where another file or folder slipped in under the name, this can be undone.
    await disk.rename(entry.path, entry.backup);
    await stillTheSame(entry.backup, stamps[i], entry.path);
  });
  await eachLimited(journal.entries, async (entry, i) => {
    const file = files[i];
    if (file?.after === undefined) return;
    if (file.before === undefined) {
      await giveName(entry, disk);
      return;
    }
    await stillTheSame(entry.path, stamps[i]);
    await disk.rename(entry.staged, entry.path);
  });
}

/** Unlike rename, link refuses a name that somebody took meanwhile. */
async function giveName(entry: JournalEntry, disk: Disk): Promise<void> {
  try {
    await disk.link(entry.staged, entry.path);
    await disk.unlink(entry.staged);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") throw changed(entry.path);
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS") throw error;
    const taken = await lstat(entry.path).catch(() => undefined);
    if (taken !== undefined) throw changed(entry.path);
    await disk.rename(entry.staged, entry.path);
  }
}

function changed(path: string): CamelError {
  return new CamelError("conflict", `${basename(path)} was changed by somebody else in the meantime.`, {
    next: "Read the file again and make the change from what it says now.",
    details: { path },
  });
}

function notWritten(thrown: unknown, kept: readonly string[] = []): CamelError {
  const error = toCamelError(thrown);
  const notes = kept.length === 0 ? "" : ` ${kept.join(" ")}`;
  return new CamelError(error.code, `Nothing was written. ${error.message}${notes}`, {
    next: error.next ?? "Remove the cause and make the same call again.",
    details: { ...error.details, written: false },
    cause: thrown,
  });
}
