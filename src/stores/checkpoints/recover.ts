/** What a dead process left: finished where the change counts as made, undone where it doesn't. */
import { lstat, mkdir, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CamelError, messageOf } from "../../shared/errors.ts";
import { eachLimited, type Disk } from "./disk.ts";
import {
  isMissing,
  journalPaths,
  sha256,
  type Journal,
  type JournalEntry,
  type JournalPaths,
} from "./journal.ts";

/**
 * Finishes or undoes what a dead process left. The caller holds the lock. Returns what was done, in words. A change
 * in another workspace that can't be undone now stays for later: it must not stop work in this one.
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
        notes.push(`change ${id} had been made when its process ended; its temporary files were removed`);
      } else {
        const kept = await undo(journal, paths, disk);
        notes.push(`change ${id} had not been finished when its process ended; it was undone`, ...kept);
      }
    } catch (error) {
      const message = messageOf(error);
      if (journal.root === root) {
        throw new CamelError("io_error", `An unfinished change (${id}) can't be undone: ${message}`, {
          next: "Free disk space or restore access to the named path; the next call that writes undoes it first.",
          cause: error,
        });
      }
      notes.push(`change ${id} in ${journal.root} can't be undone yet: ${message}`);
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
  throw new CamelError("io_error", `The journal ${name} can't be read.`, {
    next: "Ask the user to look at checkpoints/open in the state directory and to move the file away.",
  });
}

/** Removes what only the commit needed, then files the journal as the checkpoint's record. */
export async function tidy(journal: Journal, paths: JournalPaths, disk: Disk): Promise<void> {
  // Every new file has its name by now, so only the backups are left.
  await eachLimited(journal.entries, async ({ before, backup }) => {
    if (before !== undefined) await removeIfThere(backup, disk);
  });
  await mkdir(paths.keptDirectory, { recursive: true, mode: 0o700 });
  await disk.rename(paths.done, paths.kept);
}

/**
 * Puts every file back, last one first. A file that is neither as the commit left it nor as it was before has been
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
  await disk.unlink(paths.open);
  await disk.syncDirectory(paths.openDirectory);
  return notes;
}

async function undoEntry(entry: JournalEntry, disk: Disk): Promise<string | undefined> {
  let note: string | undefined;
  const current = await identity(entry.path);
  const staged = entry.after === undefined ? undefined : await identity(entry.staged);
  // The new content still waits under its own name, so what stands at the path is not ours.
  const notSwapped = staged !== undefined && staged.inode !== current?.inode;
  if (entry.before === undefined) {
    if (!notSwapped && current?.sha256 === entry.after?.sha256) await removeIfThere(entry.path, disk);
    else if (!notSwapped && current !== undefined) note = `${entry.path} was edited meanwhile and left alone`;
  } else {
    const backup = await identity(entry.backup);
    if (backup !== undefined) {
      const isOld = current?.inode === backup.inode || current?.sha256 === entry.before.sha256;
      if (current !== undefined && (notSwapped || isOld)) await disk.unlink(entry.backup);
      else if (current === undefined || current.sha256 === entry.after?.sha256) {
        await disk.rename(entry.backup, entry.path);
      } else
        note = `${entry.path} was edited meanwhile and left alone; its old content is in ${entry.backup}`;
    }
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
  await disk.unlink(path).catch(async (error: unknown) => {
    // A read-only file system refuses before it looks whether there is anything to remove.
    const isThere = !isMissing(error) && (await lstat(path).catch(() => undefined)) !== undefined;
    if (isThere) throw error;
  });
}
