/** Brings the files of a checkpoint back, all or none. That is a change like any other, so it can be undone too. */
import { lstat, readFile, rmdir } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { CamelError } from "../../shared/errors.ts";
import { containedPath, displayPath, isInside } from "../../shared/paths.ts";
import { foreignOwner } from "./disk.ts";
import { readBlob } from "./blobs.ts";
import type { FileContent, PlannedFile } from "./commit.ts";
import { isMissing, sha256 } from "./journal.ts";
import type { CheckpointRecord, RecordEntry } from "./records.ts";
import { writeFiles, type WriteOptions } from "./write-files.ts";

/** What a restore does to one file. */
export interface RestoreStep {
  path: string;
  /** Relative to the checkpoint's root. */
  shown: string;
  /** same: it is as it was before. */
  action: "restore" | "remove" | "same";
  /** It isn't as the change left it: somebody has edited it since. */
  isChangedSince: boolean;
  planned: PlannedFile;
}

const MOST_NAMED = 40;
/** As apply_patch has it: a file is held in memory whole. */
const MAX_FILE_BYTES = 400 * 1024 * 1024;

/** The record's entries that `paths` names, files or folders; all of them without it. */
export function chosenEntries(record: CheckpointRecord, paths?: readonly string[]): RecordEntry[] {
  if (paths === undefined || paths.length === 0) return record.entries;
  const chosen = new Set<RecordEntry>();
  for (const requested of paths) {
    const wanted = isAbsolute(requested) ? resolve(requested) : resolve(record.root, requested);
    const found = record.entries.filter(({ path }) => isInside(wanted, path));
    if (found.length === 0) {
      const names = record.entries.slice(0, 10).map(({ path }) => displayPath(record.root, path));
      throw new CamelError("not_found", `Checkpoint ${record.id} holds nothing at "${requested}".`, {
        next: `It holds: ${names.join(", ")}${record.entries.length > 10 ? ", ..." : ""}.`,
      });
    }
    for (const entry of found) chosen.add(entry);
  }
  return record.entries.filter((entry) => chosen.has(entry));
}

export interface RestoreOptions extends Omit<WriteOptions, "root"> {
  /** Also what somebody edited since. */
  force: boolean;
  progress?: (done: number, total: number) => void;
}

/** `checkpoint` is the one that undoes this; undefined where nothing had to be written. */
export async function restoreFiles(
  record: CheckpointRecord,
  entries: readonly RecordEntry[],
  options: RestoreOptions,
): Promise<{ steps: RestoreStep[]; checkpoint: string | undefined; recovered: string[] }> {
  return writeFiles({ ...options, root: record.root }, async ({ root, recovered, commit }) => {
    if (root !== record.root) throw leadsElsewhere(record.root);
    const steps = await planRestore(options.home, record, entries);
    const edited = steps.filter(({ isChangedSince }) => isChangedSince).map(({ shown }) => shown);
    if (edited.length > 0 && !options.force) throw editedSince(edited);
    const files = steps.filter(({ action }) => action !== "same").map(({ planned }) => planned);
    if (files.length === 0) return { steps, checkpoint: undefined, recovered };
    const checkpoint = await commit(files, options.progress);
    await removeEmptyFolders(record);
    return { steps, checkpoint, recovered };
  });
}

/** What a restore would do now. */
export async function planRestore(
  home: string,
  record: CheckpointRecord,
  entries: readonly RecordEntry[],
): Promise<RestoreStep[]> {
  const steps: RestoreStep[] = [];
  for (const entry of entries) {
    const { path, before, after } = entry;
    await proveInside(record.root, path);
    const current = await readCurrent(path, record.root);
    const hash = current === undefined ? undefined : sha256(current.bytes);
    const isSame =
      hash === before?.sha256 &&
      (before?.mode === undefined || current === undefined || current.mode === before.mode);
    steps.push({
      path,
      shown: displayPath(record.root, path),
      action: isSame ? "same" : before === undefined ? "remove" : "restore",
      isChangedSince: !isSame && hash !== after?.sha256,
      planned: {
        path,
        before: current,
        after:
          isSame || before === undefined
            ? undefined
            : { bytes: await readBlob(home, before), mode: before.mode, owner: before.owner },
      },
    });
  }
  return steps;
}

/** Folders that the change had made, innermost first; one with something in it stays. */
async function removeEmptyFolders(record: CheckpointRecord): Promise<void> {
  for (const folder of [...record.directories].reverse()) {
    const real = await containedPath(record.root, relative(record.root, folder), ROOT).catch(() => "");
    if (real === folder && real !== record.root) await rmdir(folder).catch(() => {});
  }
}

const ROOT = { rootName: "the folder the checkpoint is of" };

/** The record holds real paths. Where one has become another place's name, a link was put in since. */
async function proveInside(root: string, path: string): Promise<void> {
  const real = isInside(root, path) ? await containedPath(root, relative(root, path), ROOT) : undefined;
  if (real === path) return;
  throw leadsElsewhere(displayPath(root, path));
}

function leadsElsewhere(path: string): CamelError {
  return new CamelError("path_outside_root", `${path} leads elsewhere than when the checkpoint was made.`, {
    next: "Leave it out by naming the other files in paths, or ask the user to remove the link.",
    details: { path },
  });
}

function editedSince(edited: readonly string[]): CamelError {
  const shown = edited.slice(0, MOST_NAMED);
  const more = edited.length > shown.length ? ` and ${edited.length - shown.length} more` : "";
  return new CamelError(
    "conflict",
    `Nothing was written. Edited since the checkpoint: ${shown.join(", ")}${more}.`,
    {
      next: "Look with action show. Then name the other files in paths, or pass force: true if those edits should go; they are kept in a new checkpoint.",
      details: { edited: shown, written: false },
    },
  );
}

async function readCurrent(path: string, root: string): Promise<FileContent | undefined> {
  try {
    const found = await lstat(path);
    if (!found.isFile()) {
      throw new CamelError(
        "not_a_file",
        `There is something else than a file at ${displayPath(root, path)} now.`,
        {
          next: "Move it away, or leave it out by naming the other files in paths.",
        },
      );
    }
    if (found.size > MAX_FILE_BYTES) {
      throw new CamelError(
        "too_large",
        `${displayPath(root, path)} is larger than ${MAX_FILE_BYTES >> 20} MiB now.`,
        {
          next: "Leave it out by naming the other files in paths.",
        },
      );
    }
    return { bytes: await readFile(path), mode: found.mode & 0o7777, owner: foreignOwner(found) };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
