import * as nodeFs from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { replaceFile, type DurableFs } from "../../shared/durable.ts";
import { systemClock } from "../../shared/clock.ts";
import { CamelError, codeOf, messageOf } from "../../shared/errors.ts";
import { withLock } from "../../shared/lock.ts";

/** What tests replace to play a full disk or a read-only one. */
export type ConfigFs = DurableFs & Pick<typeof nodeFs, "readFile" | "copyFile" | "stat" | "chmod" | "chown">;

export interface ConfigFile {
  /** The path as the host knows it. */
  path: string;
  /** Where its bytes are: the end of a chain of symlinks. */
  target: string;
  /** Undefined when there is no such file yet. */
  text: string | undefined;
}

export async function readConfigFile(path: string, fs: ConfigFs = nodeFs): Promise<ConfigFile> {
  const target = await followLinks(path);
  try {
    const bytes = await fs.readFile(target);
    return { path, target, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { path, target, text: undefined };
    if (error instanceof TypeError)
      throw new CamelError("not_text", `${path} is not UTF-8 text. The file was left alone.`);
    throw cannot("read", path, error);
  }
}

/** Keeps other camel-mcp processes from changing the same file meanwhile. */
export async function lockConfigFile<T>(
  file: ConfigFile,
  { isPrivate }: { isPrivate: boolean },
  work: () => Promise<T>,
): Promise<T> {
  try {
    // A project's folders are for everybody who can read the project.
    await nodeFs.mkdir(dirname(file.target), { recursive: true, mode: isPrivate ? 0o700 : 0o777 });
    return await withLock(
      `${file.target}.camel-lock`,
      { clock: systemClock, purpose: `changing ${file.path}`, timeoutMs: 10_000 },
      work,
    );
  } catch (error) {
    throw error instanceof CamelError ? error : cannot("write", file.path, error);
  }
}

/**
 * Puts `text` in the file's place, whole or not at all, with the same mode and owner. The first change of a file
 * leaves a copy of the original beside it; a later one never touches that copy. Returns the copy's path if one was made.
 */
export async function writeConfigFile(
  file: ConfigFile,
  text: string,
  { fs = nodeFs, isPrivate = true }: { fs?: ConfigFs; isPrivate?: boolean } = {},
): Promise<string | undefined> {
  const found = await fs.stat(file.target).catch(() => undefined);
  // Replacing by rename needs no right to write the file itself; who took that right away meant it.
  if (found !== undefined && (found.mode & 0o222) === 0) {
    throw new CamelError("io_error", `${file.path} is read-only. Nothing was changed.`, {
      next: "Make it writable and try again, or add by hand what --print shows.",
    });
  }
  try {
    const backup = found === undefined ? undefined : await backUp(file, found.mode & 0o777, fs);
    if (found === undefined) {
      await replaceFile(file.target, text, { fs, mode: isPrivate ? 0o600 : 0o666 });
      return undefined;
    }
    await replaceFile(file.target, text, { fs, mode: found.mode & 0o777 });
    await fs.chmod(file.target, found.mode & 0o777);
    if (found.uid !== process.getuid?.()) await fs.chown(file.target, found.uid, found.gid).catch(() => {});
    return backup;
  } catch (error) {
    throw cannot("write", file.path, error);
  }
}

export const backupOf = ({ target }: ConfigFile): string => `${target}.camel-backup`;

async function backUp(file: ConfigFile, mode: number, fs: ConfigFs): Promise<string | undefined> {
  const backup = backupOf(file);
  try {
    await fs.copyFile(file.target, backup, nodeFs.constants.COPYFILE_EXCL);
    await fs.chmod(backup, mode);
    return backup;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return undefined;
    throw error;
  }
}

/** Also for a link to a file that doesn't exist yet; realpath can't do that. */
async function followLinks(path: string): Promise<string> {
  let target = path;
  for (let hops = 0; hops < 40; hops++) {
    const next = await nodeFs.readlink(target).catch(() => undefined);
    if (next === undefined) {
      const directory = await nodeFs.realpath(dirname(target)).catch(() => dirname(target));
      return join(directory, basename(target));
    }
    target = resolve(dirname(target), next);
  }
  throw new CamelError("io_error", `${path} is a circle of symbolic links.`);
}

function cannot(what: "read" | "write", path: string, error: unknown): CamelError {
  const reasons: Record<string, string> = {
    EACCES: "permission denied",
    EPERM: "permission denied",
    EROFS: "the disk is read-only",
    ENOSPC: "the disk is full",
    EISDIR: "it is a folder",
    ENOTDIR: "a part of its path is a file",
  };
  const why = reasons[codeOf(error)] ?? messageOf(error);
  return new CamelError("io_error", `Can't ${what} ${path}: ${why}. Nothing was changed.`, {
    cause: error,
    next: "Correct that and try again, or add by hand what --print shows.",
  });
}
