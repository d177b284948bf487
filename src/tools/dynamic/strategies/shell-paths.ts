import { lstat, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import picomatch from "picomatch";
import { isInside, realpathOfDeepestAncestor } from "../../../shared/paths.ts";
import { spellingsOf } from "../argument-spellings.ts";
import type { TouchedPath } from "../../tool.ts";
import type { Envelope } from "../envelope.ts";
import { textArguments } from "../text-arguments.ts";

const words = (list: string): ReadonlySet<string> => new Set(list.split(" "));

/** Programs whose operands are files that they change. */
const WRITERS = words(
  "rm rmdir mv cp mkdir touch tee dd ln chmod chown chgrp truncate install shred patch unlink rsync",
);

/** Programs that print or compute with their arguments and open none of them. */
const OPENS_NOTHING = words(
  "echo printf pwd seq basename dirname true false whoami id uname tr expr sleep yes",
);

export interface Argument {
  text: string;
  /** The placeholder it came from. */
  from?: string;
  /** The definition says that it is a path. */
  isPath?: boolean;
}

export interface ArgumentPath extends TouchedPath {
  argument: string;
  /** It leads out of what was approved. */
  isOutside: boolean;
}

/** The files a command may open, as far as its arguments tell. */
export async function pathsOf(
  argv: readonly Argument[],
  place: { cwd: string; workspace: string; granted: Pick<Envelope, "read" | "write"> },
): Promise<ArgumentPath[]> {
  const name = argv[0]?.text ?? "";
  const text = textArguments(argv.map((one) => one.text));
  const access = WRITERS.has(name) ? "write" : "read";
  const { cwd, granted, workspace } = place;
  const folders = (access === "write" ? granted.write : [...granted.read, ...granted.write]).map((folder) =>
    resolve(workspace, folder),
  );
  const found: ArgumentPath[] = [];
  for (const [index, { from, isPath = false, text: argument }] of argv.entries()) {
    if (index === 0 || ((OPENS_NOTHING.has(name) || text.has(index)) && !isPath)) continue;
    for (const path of await pathsIn(argument, cwd, isPath || access === "write"))
      found.push({
        path,
        access,
        argument,
        // A fixed word was seen when the tool was approved; where a link leads was not.
        isOutside: (from !== undefined || access === "read") && !(await isBelow(path, folders)),
      });
  }
  return found;
}

/** No path of the system is longer, so neither is one that would be opened. */
const LONGEST_PATH = 4_096;

/**
 * Every path an argument may stand for. A word without a slash is one if such a file exists, or if the argument is
 * known to be a path.
 */
async function pathsIn(argument: string, cwd: string, surely: boolean): Promise<string[]> {
  if (argument === "" || argument.length > LONGEST_PATH) return [];
  if (/^file:/i.test(argument)) {
    try {
      return [fileURLToPath(argument)];
    } catch {
      return [];
    }
  }
  const found: string[] = [];
  for (const text of spellingsOf(argument)) {
    const home = /^~([\w.-]*)(?=\/|$)/.exec(text);
    if (home !== null) {
      const folder = home[1] === "" ? homedir() : join(dirname(homedir()), home[1] ?? "");
      found.push(folder + text.slice(home[0].length), resolve(cwd, text));
    } else if (/[/\\]/.test(text) || text === ".." || text === ".") found.push(resolve(cwd, text));
    else if (!text.startsWith("-")) {
      const path = resolve(cwd, text);
      const exists = await lstat(path).then(
        () => true,
        () => false,
      );
      if (exists || (surely && text === argument)) found.push(path);
    }
    if (/[*?[]/.test(text)) found.push(...(await matching(text, cwd)));
  }
  return [...new Set(found)];
}

const MOST_MATCHES = 200;

/**
 * The files that a shell would put in the place of a pattern. None of ours does, but whoever asks about a line may
 * have one run it, and `.e*` must not be a way to ask for `.env`.
 */
async function matching(pattern: string, cwd: string): Promise<string[]> {
  let folders = [cwd];
  for (const part of pattern.split("/")) {
    if (!/[*?[]/.test(part)) {
      folders = folders.map((folder) => join(folder, part));
      continue;
    }
    // Many stars in a row of names would take for ever; then any name may be meant.
    const matches = part.split("*").length > 6 ? () => true : picomatch(part, { noextglob: true });
    const entries = await Promise.all(
      folders.map(async (folder) =>
        (await readdir(folder).catch(() => []))
          .filter((name) => matches(name))
          .map((name) => join(folder, name)),
      ),
    );
    folders = entries.flat().slice(0, MOST_MATCHES);
  }
  return folders;
}

/** By its name and by where its links lead; a link to nowhere can't be proven to stay. */
async function isBelow(path: string, folders: readonly string[]): Promise<boolean> {
  const real = await realpathOfDeepestAncestor(path).catch(() => undefined);
  return (
    real !== undefined &&
    folders.some((folder) => isInside(folder, path)) &&
    folders.some((folder) => isInside(folder, real))
  );
}
