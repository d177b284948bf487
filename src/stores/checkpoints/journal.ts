/**
 * The journal of a commit, which becomes the record of its checkpoint. Everything is below <home>/checkpoints/:
 *
 *   open/<id>.json   written and fsynced before the first change: undo it if found
 *   open/<id>.done   the same file renamed, the moment the change counts as made: tidy up if found
 *   kept/<id>.json   the same file again, once no temporary file is left: the checkpoint
 *   packs/<id>       old contents that this commit added; index/<sha256> finds them again (see blobs.ts)
 *
 * A record is written once and never changed. `id` begins with the time in UTC, so names sort by age. How many are
 * kept: see prune.ts. To restore one: for each entry, where `before` is set write that content with `mode` to
 * `path`, else remove `path`. `after.sha256` tells whether the file is still as the commit left it.
 */
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { codeOf } from "../../shared/errors.ts";
import type { Owner } from "./disk.ts";

/** Who asked for the change. */
export interface Origin {
  tool: string;
  agent: string;
  callId: string;
}

/** `mode` undefined: a new file that got what the umask leaves of 0666. */
export interface Stored {
  sha256: string;
  size: number;
  mode?: number | undefined;
  owner?: Owner | undefined;
}

/** Where a kept content lies. */
export interface Place {
  pack: string;
  at: number;
}

export interface JournalEntry {
  path: string;
  before?: Stored & Place;
  after?: Stored;
  /** Second name of the old file, beside it, until the commit is done. */
  backup: string;
  /** The new content, beside its target, until it gets the target's name. */
  staged: string;
}

export interface Journal extends Origin {
  version: 2;
  id: string;
  createdAt: string;
  /** The real path of the workspace or memory folder that all entries lie in. */
  root: string;
  entries: JournalEntry[];
  /** Folders the commit makes, outermost first. */
  directories: string[];
}

export interface JournalPaths {
  openDirectory: string;
  open: string;
  done: string;
  keptDirectory: string;
  kept: string;
}

export function journalPaths(home: string, id: string): JournalPaths {
  const openDirectory = join(home, "checkpoints", "open");
  const keptDirectory = join(home, "checkpoints", "kept");
  return {
    openDirectory,
    open: join(openDirectory, `${id}.json`),
    done: join(openDirectory, `${id}.done`),
    keptDirectory,
    kept: join(keptDirectory, `${id}.json`),
  };
}

export function newCheckpointId(createdAt: string): string {
  return `${timeInId(createdAt)}-${randomBytes(4).toString("hex")}`;
}

export function isCheckpointId(text: string): boolean {
  return /^\d{8}T\d{9}-[0-9a-f]{8}$/.test(text);
}

export function timeInId(time: string): string {
  return time.replace(/[-:.]/g, "").slice(0, 18);
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(codeOf(error));
}
