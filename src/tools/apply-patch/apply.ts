/** The engine: parse, recover, plan, commit. The tool and the command line both enter here. */
import { constants } from "node:fs";
import { access, lstat, readdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { CamelError } from "../../shared/errors.ts";
import { closest } from "../../shared/glob.ts";
import { containedPath, displayPath } from "../../shared/paths.ts";
import { eachLimited, foreignOwner } from "../../stores/checkpoints/disk.ts";
import { isMissing } from "../../stores/checkpoints/journal.ts";
import { writeFiles, type WriteOptions } from "../../stores/checkpoints/write-files.ts";
import { parsePatch } from "./parse.ts";
import type { ParsedPatch } from "./patch.ts";
import { planPatch, type DiskFile, type Plan, type PlanIo } from "./plan.ts";

/** `root` is the workspace. */
export interface ApplyOptions extends Omit<WriteOptions, "by"> {
  patch: string;
  dryRun?: boolean;
  /** Who sent it, for the checkpoint. */
  by?: WriteOptions["by"];
  progress?: (done: number, total: number) => void;
}

export interface ApplyResult {
  plan: Plan;
  dryRun: boolean;
  /** Undefined where nothing was written. */
  checkpoint: string | undefined;
  /** What was found unfinished and set right before this patch. */
  recovered: string[];
}

/** A file becomes one string, and those end at 512 MiB. */
const MAX_FILE_BYTES = 400 * 1024 * 1024;

/** Names looked through for one that may be meant. */
const MAX_NAMES = 2_000;

const BY_LIBRARY: WriteOptions["by"] = { tool: "apply_patch", agent: "main", callId: "" };

export async function applyPatch(options: ApplyOptions): Promise<ApplyResult> {
  const { dryRun = false, signal } = options;
  const parsed = parsePatch(options.patch);
  return writeFiles({ ...options, by: options.by ?? BY_LIBRARY }, async ({ recovered, commit }) => {
    const plan = await planPatch(
      parsed,
      await readAhead(parsed, {
        resolve: (requested, access) => resolvePath(options, requested, access),
        read: readDiskFile,
        alike: (requested) => nameAlike(options.root, requested),
      }),
    );
    if (signal?.aborted === true)
      throw new CamelError("cancelled", "The call was cancelled. Nothing was written.");
    const isDone = dryRun || plan.files.length === 0;
    const checkpoint = isDone ? undefined : await commit(plan.files, options.progress);
    return { plan, dryRun, checkpoint, recovered };
  });
}

/** Planning goes file by file; the disk is faster when it is asked for several at once. */
async function readAhead({ ops }: ParsedPatch, io: PlanIo): Promise<PlanIo> {
  const paths = new Map<string, Promise<string>>();
  const files = new Map<string, Promise<DiskFile>>();
  const remembered: PlanIo = {
    ...io,
    resolve(requested, access) {
      const key = `${access} ${requested}`;
      const known = paths.get(key) ?? io.resolve(requested, access);
      paths.set(key, known);
      return known;
    },
    read(path) {
      const known = files.get(path) ?? io.read(path);
      files.set(path, known);
      return known;
    },
  };
  await eachLimited(ops, async (op) => {
    const removes = op.kind === "delete" || (op.kind === "update" && op.moveTo !== undefined);
    // A failure is told when planning comes to it.
    await remembered
      .resolve(op.path, removes ? "delete" : "write")
      .then((path) => remembered.read(path))
      .catch(() => {});
  });
  return remembered;
}

async function resolvePath(
  { root }: ApplyOptions,
  requested: string,
  access: "write" | "delete",
): Promise<string> {
  if (/[\\/]$/.test(requested)) {
    throw new CamelError("not_a_file", `"${requested}" names a folder.`, {
      next: "Name a file; folders are made and removed as files need them.",
    });
  }
  const real = await containedPath(root, requested, { rootName: "the workspace", allowAbsolute: true });
  if (access === "delete") {
    const named = isAbsolute(requested) ? requested : resolve(root, requested);
    const link = await lstat(named).catch(() => undefined);
    if (link?.isSymbolicLink() === true) {
      throw new CamelError(
        "path_forbidden",
        `${requested} is a symbolic link; links are not moved or deleted.`,
        {
          next: "Name the file it points to.",
        },
      );
    }
  }
  await refuseFileAsFolder(root, requested, real);
  return real;
}

/** `a.txt/b.txt` where `a.txt` is a file. */
async function refuseFileAsFolder(root: string, requested: string, real: string): Promise<void> {
  for (let at = dirname(real); ; at = dirname(at)) {
    const found = await lstat(at).catch(() => undefined);
    if (found === undefined && dirname(at) !== at) continue;
    if (found?.isDirectory() !== false) return;
    throw new CamelError(
      "not_a_file",
      `${displayPath(await realpath(root), at)} is a file, so ${requested} can't be below it.`,
      { next: "Choose another path." },
    );
  }
}

/**
 * The path without its first folder (`a/`, or the workspace's own name), a name like it in the same folder, or the
 * only file of that name further down.
 */
async function nameAlike(root: string, requested: string): Promise<string | undefined> {
  const contained = (path: string): Promise<string> =>
    containedPath(root, path, { rootName: "the workspace", allowAbsolute: true });
  const isFile = async (path: string): Promise<boolean> =>
    contained(path)
      .then(lstat)
      .then(
        (found) => found.isFile(),
        () => false,
      );
  const shorter = requested.replace(/^[^/]+\//, "");
  if (shorter !== requested && (await isFile(shorter))) return shorter;
  const folder = dirname(requested);
  const names = await contained(folder)
    .then((real) => readdir(real))
    .catch((): string[] => []);
  const name = closest(basename(requested), names.slice(0, MAX_NAMES));
  const path = name === undefined ? undefined : join(folder, name);
  if (path !== undefined && (await isFile(path))) return path;
  return onlyNamed(root, basename(requested));
}

/** Breadth first, without hidden folders and what is installed, for as long as it costs little. */
async function onlyNamed(root: string, name: string): Promise<string | undefined> {
  const folders = [""];
  const found: string[] = [];
  let seen = 0;
  for (let folder = folders.shift(); folder !== undefined && seen < MAX_NAMES; folder = folders.shift()) {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])) {
      seen++;
      const path = join(folder, entry.name);
      if (entry.isFile() && entry.name === name) found.push(path);
      else if (entry.isDirectory() && !/^(?:\.|node_modules$)/.test(entry.name)) folders.push(path);
    }
  }
  return found.length === 1 ? found[0] : undefined;
}

async function readDiskFile(path: string): Promise<DiskFile> {
  try {
    const found = await lstat(path);
    if (found.isDirectory()) return { kind: "directory" };
    if (!found.isFile()) return { kind: "other" };
    if (found.size > MAX_FILE_BYTES) {
      throw new CamelError("too_large", `${basename(path)} is larger than ${MAX_FILE_BYTES >> 20} MiB.`, {
        next: "Change it with a program made for large files.",
      });
    }
    // Replacing it would take it from its owner, who didn't allow us to write it.
    const isTheirs = process.getuid !== undefined && process.getuid() !== found.uid;
    if (isTheirs) await access(path, constants.W_OK);
    return {
      kind: "file",
      bytes: await readFile(path),
      mode: found.mode & 0o7777,
      owner: foreignOwner(found),
      links: found.nlink,
    };
  } catch (error) {
    if (isMissing(error)) return { kind: "missing" };
    throw error;
  }
}
