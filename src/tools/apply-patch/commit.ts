/**
 * The only writer. The caller holds the lock and has recovered older journals.
 *
 *   journal (fsync) -> old contents to the checkpoint -> folders, new contents and backups beside their targets
 *   -> compare the old bytes again -> rename each into place -> fsync folders -> journal renamed: applied.
 *
 * Until that last rename, any error or death is undone from the journal, in reverse.
 */
import { lstat, mkdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CamelError, toCamelError } from "../../shared/errors.ts";
import { eachLimited, type Disk } from "./disk.ts";
import { isMissing, journalPaths, sha256, tidy, undo, type Journal, type JournalEntry } from "./journal.ts";
import type { PlannedFile } from "./plan.ts";

export interface CommitOptions {
  home: string;
  root: string;
  id: string;
  createdAt: string;
  disk: Disk;
  signal?: AbortSignal;
  progress?: (done: number, total: number) => void;
}

export async function commitFiles(files: readonly PlannedFile[], options: CommitOptions): Promise<void> {
  const { disk, home, id } = options;
  const paths = journalPaths(home, id);
  const { journal, blobs } = await prepare(files, options);
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
    await mkdir(paths.directory, { recursive: true, mode: 0o700 });
    await disk.writeNew(paths.blobs, blobs, 0o600);
    for (const directory of journal.directories) await disk.mkdir(directory);
    await stage(files, journal, options);
    // The names of backups and new files must be on disk before the first old name goes.
    const parents = new Set(journal.entries.map((entry) => dirname(entry.path)));
    for (const directory of journal.directories) parents.add(dirname(directory));
    await eachLimited([...parents, paths.directory], (parent) => disk.syncDirectory(parent));
    const stamps = await compare(files, journal);
    if (options.signal?.aborted === true) throw new CamelError("cancelled", "The call was cancelled.");
    await swap(files, journal, options);
    await checkBackups(journal, stamps);
    await eachLimited([...parents], (parent) => disk.syncDirectory(parent));
    await disk.rename(paths.open, paths.done);
  } catch (error) {
    const kept = await undo(journal, paths, disk).catch((failed: unknown) => {
      throw new CamelError(
        "io_error",
        `The patch failed (${messageOf(error)}) and could not be undone yet.`,
        {
          next: "Free disk space or restore access; the next apply_patch call undoes it first.",
          cause: failed,
        },
      );
    });
    throw notWritten(error, kept);
  }
  // Applied. What is left is housekeeping, and recovery does it if this process can't.
  await disk
    .syncDirectory(paths.openDirectory)
    .then(() => tidy(journal, paths, disk))
    .catch(() => {});
}

async function prepare(
  files: readonly PlannedFile[],
  { root, id, createdAt }: CommitOptions,
): Promise<{ journal: Journal; blobs: Buffer }> {
  const blobs: Buffer[] = [];
  let offset = 0;
  const entries: JournalEntry[] = [];
  const directories = new Set<string>();
  for (const [i, { path, before, after }] of files.entries()) {
    const folder = dirname(path);
    for (const missing of await missingFolders(folder)) directories.add(missing);
    const beside = (suffix: string): string => join(folder, `.camel-${id}-${i}.${suffix}`);
    const entry: JournalEntry = { path, backup: beside("old"), staged: beside("new") };
    if (before !== undefined) {
      entry.before = { sha256: sha256(before.bytes), offset, length: before.bytes.length };
      if (before.mode !== undefined) entry.before.mode = before.mode;
      blobs.push(before.bytes);
      offset += before.bytes.length;
    }
    if (after !== undefined) {
      entry.after = { sha256: sha256(after.bytes) };
      if (after.mode !== undefined) entry.after.mode = after.mode;
    }
    entries.push(entry);
  }
  const ordered = [...directories].sort((a, b) => a.length - b.length);
  return {
    journal: { version: 1, id, createdAt, root, entries, directories: ordered },
    blobs: Buffer.concat(blobs),
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
    if (file.after !== undefined) await disk.writeNew(entry.staged, file.after.bytes, file.after.mode);
    if (file.before !== undefined) {
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
  await eachLimited(files, async (file, i) => {
    const folder = dirname(file.path);
    if ((await realpath(folder)) !== folder) throw changed(file.path);
    if (file.before === undefined) {
      stamps[i] = "";
      return;
    }
    const entry = journal.entries[i];
    if (entry === undefined) return;
    stamps[i] = await stampOf(entry.backup);
    if (!(await readFile(entry.path)).equals(file.before.bytes)) throw changed(file.path);
  });
  return stamps;
}

async function stampOf(path: string): Promise<string> {
  const { size, mtimeNs } = await lstat(path, { bigint: true });
  return `${size}:${mtimeNs}`;
}

/** The backup is the same file as the old one, so a write that slipped in before the rename shows here. */
async function checkBackups(journal: Journal, stamps: readonly string[]): Promise<void> {
  await eachLimited(journal.entries, async (entry, i) => {
    if (entry.before !== undefined && (await stampOf(entry.backup)) !== stamps[i]) throw changed(entry.path);
  });
}

async function swap(files: readonly PlannedFile[], journal: Journal, { disk }: CommitOptions): Promise<void> {
  // Removals first: a name may be freed for a folder or, on a system that ignores case, for a new spelling.
  await eachLimited(journal.entries, async (entry, i) => {
    if (files[i]?.after === undefined) await disk.unlink(entry.path);
  });
  await eachLimited(journal.entries, async (entry, i) => {
    const file = files[i];
    if (file?.after === undefined) return;
    if (file.before === undefined) await giveName(entry, disk);
    else await disk.rename(entry.staged, entry.path);
  });
}

/** Unlike rename, link refuses a name that somebody took meanwhile. */
async function giveName(entry: JournalEntry, disk: Disk): Promise<void> {
  try {
    await disk.link(entry.staged, entry.path);
    await disk.unlink(entry.staged);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST") throw changed(entry.path);
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS") throw error;
    const taken = await lstat(entry.path).catch(() => undefined);
    if (taken !== undefined) throw changed(entry.path);
    await disk.rename(entry.staged, entry.path);
  }
}

function changed(path: string): CamelError {
  return new CamelError(
    "conflict",
    `${basename(path)} was changed by somebody else while the patch was being applied.`,
    {
      next: "Read the file again and send a patch made from what it says now.",
      details: { path },
    },
  );
}

function notWritten(thrown: unknown, kept: readonly string[] = []): CamelError {
  const error = toCamelError(thrown);
  const notes = kept.length === 0 ? "" : ` ${kept.join(" ")}`;
  return new CamelError(error.code, `Nothing was written. ${error.message}${notes}`, {
    next: error.next ?? "Remove the cause and send the same patch again.",
    details: { ...error.details, written: false },
    cause: thrown,
  });
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
