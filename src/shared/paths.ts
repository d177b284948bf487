import { constants } from "node:fs";
import { lstat, open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { CamelError, codeOf } from "./errors.ts";

/** True when `path` is `root` or below it; by components, so `/a/bc` is not inside `/a/b`. Lexical only. */
export function isInside(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

/** `path` relative to `root` with forward slashes: how files are named to people and models. */
export function displayPath(root: string, path: string): string {
  const rest = relative(root, path);
  return sep === "/" ? rest : rest.replaceAll(sep, "/");
}

/** `~` and `~/…` as the user's own folder. */
export function expandHome(path: string): string {
  return path === "~" || path.startsWith("~/") ? homedir() + path.slice(1) : path;
}

export interface ContainOptions {
  /** What the root is called in the error: "the workspace", "the memory folder". */
  rootName: string;
  /** Accept an absolute path that lies inside the root. */
  allowAbsolute?: boolean;
}

/**
 * Resolves `requested` against `root` and proves that it stays inside, symlinks followed at every component.
 * Returns the real path; where the tail doesn't exist yet, the real path of its deepest existing ancestor plus
 * the tail. `root` must exist. The check is only as good as the moment it is made: open what it returns with
 * `openInside`, which checks again on the open file.
 */
export async function containedPath(
  root: string,
  requested: string,
  options: ContainOptions,
): Promise<string> {
  const outside = (): CamelError =>
    new CamelError("path_outside_root", `"${requested}" lies outside ${options.rootName}.`, {
      next: `Use a path relative to ${options.rootName} that doesn't leave it.`,
      details: { path: requested },
    });
  if (isAbsolute(requested) && options.allowAbsolute !== true) throw outside();
  if (process.platform === "win32" && isWindowsAlias(requested)) {
    throw new CamelError("invalid_input", `"${requested}" is another spelling of a name on Windows.`, {
      next: "Use a path without colons, and without dots or blanks at the end of a name.",
      details: { path: requested },
    });
  }

  // An absolute path may name the root by its own spelling or by its real one.
  const lexical = resolve(root, requested);
  const isSpelledInside = isInside(resolve(root), lexical);
  if (!isSpelledInside && !isInside(await realpath(root), lexical)) {
    if (!isAbsolute(requested)) throw outside();
    // Or by a link above it, as /tmp is one on macOS. What lies elsewhere is not told about.
    const elsewhere = await realpathOfDeepestAncestor(lexical).catch(() => undefined);
    if (elsewhere === undefined || !isInside(await realpath(root), elsewhere)) throw outside();
    return elsewhere;
  }

  // At once: each is a trip through the thread pool.
  const [realRoot, real] = await Promise.all([realpath(root), realpathOfDeepestAncestor(lexical)]);
  if (!isInside(realRoot, real)) throw outside();
  return real;
}

/** Windows drops dots and blanks at the end of a name, and `.env::$DATA` is `.env`: ways round a rule about the name. */
export function isWindowsAlias(path: string): boolean {
  const [first = "", ...names] = path.split(/[\\/]/);
  const named = /^[a-z]:$/i.test(first) ? names : [first, ...names];
  return named.some((name) => /[. ]$|:/.test(name) && name !== "." && name !== "..");
}

/** What Linux takes, the longest of the systems; a step at a time, a longer one would take seconds to refuse. */
const MAX_PATH_CHARS = 4_096;

function tooLong(path: string): CamelError {
  const shown = `${path.slice(0, 80)}…`;
  return new CamelError("invalid_input", `The path "${shown}" is longer than a file's can be.`, {
    next: "Use a shorter path.",
  });
}

/** Follows every link of the part that exists; a dangling link is an error, since what it names can't be proven inside. */
export async function realpathOfDeepestAncestor(path: string): Promise<string> {
  if (path.includes("\0")) {
    throw new CamelError("invalid_input", "The path contains a NUL character.", {
      next: "Send the path as plain text.",
    });
  }
  if (path.length > MAX_PATH_CHARS) throw tooLong(path);
  const tail: string[] = [];
  let existing = path;
  for (;;) {
    try {
      return join(await realpath(existing), ...tail);
    } catch (error) {
      const code = codeOf(error);
      if (code === "ELOOP") {
        throw new CamelError("path_outside_root", `"${path}" is a loop of symbolic links.`, { cause: error });
      }
      if (code === "ENAMETOOLONG") throw tooLong(path);
      if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
      const isDanglingLink = await lstat(existing).then(
        (found) => found.isSymbolicLink(),
        () => false,
      );
      if (isDanglingLink) {
        throw new CamelError(
          "path_outside_root",
          `"${existing}" is a symbolic link to something that doesn't exist.`,
          {
            next: "Use the real path of the file.",
          },
        );
      }
    }
    const parent = dirname(existing);
    if (parent === existing) return path;
    tail.unshift(existing.slice(parent.length).replace(/^[/\\]+/, ""));
    existing = parent;
  }
}

/**
 * Opens a file that `containedPath` returned, for reading. The last component may not have become a symlink, and
 * the open file must lie inside the root: a swap between check and open is caught.
 */
export async function openInside(root: string, realFile: string): Promise<FileHandle> {
  // O_NONBLOCK: a FIFO put in the file's place must not hang the server.
  const handle = await open(realFile, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const [opened, realRoot, place] = await Promise.all([
      handle.stat(),
      realpath(root),
      placeOf(handle, realFile),
    ]);
    if (place === undefined || !isInside(realRoot, place)) {
      throw new CamelError("conflict", `"${realFile}" was replaced while it was being opened.`, {
        next: "Retry the call.",
      });
    }
    if (!opened.isFile()) {
      throw new CamelError("not_a_file", `"${displayPath(root, realFile)}" is not a regular file.`);
    }
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Where an open file is. Linux tells by the descriptor, which no swap deceives; elsewhere its name must still be its. */
async function placeOf(handle: FileHandle, realFile: string): Promise<string | undefined> {
  const told =
    process.platform === "linux"
      ? await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined)
      : undefined;
  if (told !== undefined) return told;
  const again = await realpath(realFile);
  const [opened, named] = await Promise.all([handle.stat(), lstat(again)]);
  return named.dev === opened.dev && named.ino === opened.ino ? again : undefined;
}
