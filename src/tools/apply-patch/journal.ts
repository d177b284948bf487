/**
 * The journal of a commit, which becomes the manifest of its checkpoint.
 *
 *   <home>/checkpoints/open/<id>.json   written and fsynced before the first change: undo it if found
 *   <home>/checkpoints/open/<id>.done   the same file renamed, the moment the patch counts as applied: tidy up if found
 *   <home>/checkpoints/<id>/manifest.json   the same file again, once no temporary file is left
 *   <home>/checkpoints/<id>/blobs       the old contents one after the other; an entry says offset and length
 *
 * The manifest is JSON, the type Journal below, written once. `id` begins with the time in UTC, so names sort by age.
 * A folder without a manifest belongs to a journal in open/. How many are kept: see checkpoints.ts.
 *
 * To restore a checkpoint: for each entry, where `before` is set write blobs[offset, offset + length) with `mode` to
 * `path`, else remove `path`. `after.sha256` tells whether the file is still as the patch left it.
 */
import { createHash } from "node:crypto";
import { lstat, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CamelError } from "../../shared/errors.ts";
import { eachLimited, type Disk } from "./disk.ts";

export interface JournalEntry {
  path: string;
  before?: { sha256: string; mode?: number; offset: number; length: number };
  after?: { sha256: string; mode?: number };
  /** Second name of the old file, beside it, until the commit is done. */
  backup: string;
  /** The new content, beside its target, until it gets the target's name. */
  staged: string;
}

export interface Journal {
  version: 1;
  id: string;
  createdAt: string;
  root: string;
  entries: JournalEntry[];
  /** Folders the commit makes, outermost first. */
  directories: string[];
}

export interface JournalPaths {
  openDirectory: string;
  open: string;
  done: string;
  directory: string;
  manifest: string;
  blobs: string;
}

export function journalPaths(home: string, id: string): JournalPaths {
  const checkpoints = join(home, "checkpoints");
  const openDirectory = join(checkpoints, "open");
  const directory = join(checkpoints, id);
  return {
    openDirectory,
    open: join(openDirectory, `${id}.json`),
    done: join(openDirectory, `${id}.done`),
    directory,
    manifest: join(directory, "manifest.json"),
    blobs: join(directory, "blobs"),
  };
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * Finishes or undoes what a dead process left. The caller holds the lock. Returns what was done, in words. A patch
 * of another workspace that can't be undone now stays for later: it must not stop work in this one.
 */
export async function recover(home: string, disk: Disk, root?: string): Promise<string[]> {
  const { openDirectory } = journalPaths(home, "-");
  const names: string[] = await readdir(openDirectory).catch(() => []);
  const notes: string[] = [];
  for (const name of names.sort((a, b) => (a < b ? -1 : 1))) {
    const [id, kind] = [name.slice(0, name.lastIndexOf(".")), name.slice(name.lastIndexOf(".") + 1)];
    if (id === "" || (kind !== "json" && kind !== "done" && kind !== "tmp")) continue;
    if (kind === "tmp") {
      // It never became a journal, so nothing else was touched.
      await disk.unlink(join(openDirectory, name)).catch(() => {});
      continue;
    }
    const journal = parseJournal(name, await readFile(join(openDirectory, name), "utf8"));
    const paths = journalPaths(home, id);
    try {
      if (kind === "done") {
        await tidy(journal, paths, disk);
        notes.push(`patch ${id} had been applied when its process ended; its temporary files were removed`);
      } else {
        const kept = await undo(journal, paths, disk);
        notes.push(`patch ${id} had not been finished when its process ended; it was undone`, ...kept);
      }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (journal.root === root) {
        throw new CamelError("io_error", `An unfinished patch (${id}) can't be undone: ${message}`, {
          next: "Free disk space or restore access to the named path; the next apply_patch call undoes it first.",
          cause: error,
        });
      }
      notes.push(`patch ${id} in ${journal.root} can't be undone yet: ${message}`);
    }
  }
  return notes;
}

function parseJournal(name: string, text: string): Journal {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "entries" in value && Array.isArray(value.entries)) {
      return value as Journal;
    }
  } catch {
    // Told below.
  }
  throw new CamelError("io_error", `The patch journal ${name} can't be read.`, {
    next: "Ask the user to look at checkpoints/open in the state directory and to move the file away.",
  });
}

/** Removes what only the commit needed, then files the journal as the checkpoint's manifest. */
export async function tidy(journal: Journal, paths: JournalPaths, disk: Disk): Promise<void> {
  // Every new file has its name by now, so only the backups are left.
  await eachLimited(journal.entries, async ({ before, backup }) => {
    if (before !== undefined) await removeIfThere(backup, disk);
  });
  await disk.rename(paths.done, paths.manifest);
}

/**
 * Puts every file back, last one first. A file that is neither as the patch left it nor as it was before has been
 * edited by somebody since: it is left alone, its old content stays in the backup, and the note says where.
 */
export async function undo(journal: Journal, paths: JournalPaths, disk: Disk): Promise<string[]> {
  const notes: string[] = [];
  for (const entry of [...journal.entries].reverse()) {
    const note = await undoEntry(entry, disk);
    if (note !== undefined) notes.push(note);
  }
  for (const directory of [...journal.directories].reverse()) {
    // Not there, or somebody put a file into it: either way it isn't ours to remove.
    await disk.rmdir(directory).catch(() => {});
  }
  const parents = new Set(journal.entries.map((entry) => dirname(entry.path)));
  for (const parent of parents) await disk.syncDirectory(parent).catch(() => {});
  await rm(paths.directory, { recursive: true, force: true });
  await disk.unlink(paths.open);
  await disk.syncDirectory(paths.openDirectory);
  return notes;
}

async function undoEntry(entry: JournalEntry, disk: Disk): Promise<string | undefined> {
  let note: string | undefined;
  const current = await identity(entry.path);
  const backup = entry.before === undefined ? undefined : await identity(entry.backup);
  if (entry.before === undefined) {
    if (current !== undefined && current.sha256 === entry.after?.sha256) await disk.unlink(entry.path);
    else if (current !== undefined) note = `${entry.path} was edited meanwhile and left alone`;
  } else if (backup !== undefined) {
    const untouched = current !== undefined && current.inode === backup.inode;
    if (untouched || current?.sha256 === entry.before.sha256) await disk.unlink(entry.backup);
    else if (current === undefined || current.sha256 === entry.after?.sha256) {
      await disk.rename(entry.backup, entry.path);
    } else note = `${entry.path} was edited meanwhile and left alone; its old content is in ${entry.backup}`;
  }
  await removeIfThere(entry.staged, disk);
  return note;
}

async function identity(path: string): Promise<{ inode: string; sha256: string } | undefined> {
  try {
    const found = await lstat(path, { bigint: true });
    if (!found.isFile()) return undefined;
    return { inode: `${found.dev}:${found.ino}`, sha256: sha256(await readFile(path)) };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function removeIfThere(path: string, disk: Disk): Promise<void> {
  await disk.unlink(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
