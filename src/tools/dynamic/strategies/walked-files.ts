import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";

export interface Walked {
  /** Files that policy doesn't let anybody read. */
  refused: string[];
  /** Where links lead that the program follows. */
  links: string[];
  /** More than can be looked through. */
  isTooMuch: boolean;
}

/** Enough for a project; a larger tree takes longer to look through than to search. */
const MOST_ENTRIES = 20_000;
/** Other people's, and no place where a secret is kept. */
const SKIPPED = new Set(["node_modules", ".git"]);

const SEARCHES = new Set(["grep", "egrep", "fgrep", "rg", "ag", "ack", "diff"]);

/** How a command goes through folders and shows what it finds in the files there; undefined where it doesn't. */
function walkOf(argv: readonly string[]): { follows: boolean; hidden: boolean } | undefined {
  const [program = "", ...args] = argv;
  const has = (short: string, long: RegExp): boolean =>
    args.some((arg) => (arg.startsWith("--") ? long.test(arg) : new RegExp(`^-[^-]*[${short}]`).test(arg)));
  if (!SEARCHES.has(program)) return undefined;
  if (program === "diff") return has("r", /^--r/) ? { follows: true, hidden: true } : undefined;
  if (!program.endsWith("grep"))
    return { follows: has("L", /^--fo/), hidden: has("u.", /^--(?:hidden|unr)/) };
  const isRecursive = has("rRd", /^--(?:rec|der|dir)/);
  return isRecursive ? { follows: has("R", /^--der/), hidden: true } : undefined;
}

/**
 * The files below the folders that a search is given, or below the one it runs in: a file that may not be read by its
 * name must not be read because it lies in the way.
 */
export async function walkFiles(
  argv: readonly string[],
  { cwd, isPiped, mayRead }: { cwd: string; isPiped: boolean; mayRead: (path: string) => Promise<boolean> },
): Promise<Walked> {
  const walked: Walked = { refused: [], links: [], isTooMuch: false };
  const walk = walkOf(argv);
  if (walk === undefined) return walked;
  const folders = await foldersOf(argv, cwd, isPiped);
  const isLeftOut = leftOut(argv);
  let left = MOST_ENTRIES;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    left -= entries.length;
    if (left < 0) return { ...walked, isTooMuch: true };
    const files: string[] = [];
    for (const entry of entries) {
      if ((entry.name.startsWith(".") && !walk.hidden) || isLeftOut(entry)) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) folders.push(path);
      else if (entry.isFile()) files.push(path);
      else if (entry.isSymbolicLink() && walk.follows)
        walked.links.push(await realpath(path).catch(() => path));
    }
    const readable = await Promise.all(files.map(mayRead));
    walked.refused.push(...files.filter((_, index) => readable[index] === false));
  }
  return walked;
}

/**
 * What `grep --exclude=.env` and `--exclude-dir=keys` leave out; only where they surely are such options, and patterns
 * that every grep reads alike. With an `--include` the last that fits would win.
 */
function leftOut([program = "", ...args]: readonly string[]): (entry: Dirent) => boolean {
  if (!program.endsWith("grep") || args.some((arg) => arg === "--" || arg.startsWith("--inc")))
    return () => false;
  const patterns = args.flatMap((arg, index) => {
    const [, folder, pattern = ""] = /^--exclude(-dir)?=([\w.-]*\*?[\w.-]*)$/.exec(arg) ?? [];
    if (pattern === "" || isBeforeValue(program, args[index - 1] ?? "")) return [];
    const [start = "", end] = pattern.split("*");
    const fits = (name: string): boolean =>
      end === undefined
        ? name === start
        : name.length >= start.length + end.length && name.startsWith(start) && name.endsWith(end);
    return [{ isFolder: folder !== undefined, fits }];
  });
  return (entry) =>
    patterns.some(({ fits, isFolder }) => isFolder === entry.isDirectory() && fits(entry.name));
}

/** Whether the next word belongs to this one. */
function isBeforeValue(program: string, arg: string): boolean {
  return takesNext(program).test(arg) || (arg.startsWith("--") && arg !== "--" && !arg.includes("="));
}

/** Short options that take the next word. */
function takesNext(program: string): RegExp {
  if (program === "diff") return /^-[^-]*[CDFILSUWXx]$/;
  return program.endsWith("grep") ? /^-[^-]*[ABCDdefm]$/ : /^-[^-]*[ABCDEIMSTWXdefgjmrtx]$/;
}

/** The folders that are named, and the one it runs in unless it is sure that some other place is named. */
async function foldersOf(
  [program = "", ...args]: readonly string[],
  cwd: string,
  isPiped: boolean,
): Promise<string[]> {
  const folders: string[] = [];
  let words = 0;
  let isNamed = false;
  for (const [index, arg] of args.entries()) {
    if (arg.startsWith("-") && arg !== "-") continue;
    const path = resolve(cwd, arg);
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true) folders.push(path);
    if (isBeforeValue(program, args[index - 1] ?? "")) continue;
    // The first word may be the pattern, whatever it is called.
    words += 1;
    isNamed ||= words > 1 && found !== undefined;
  }
  return isNamed || isPiped ? folders : [...folders, cwd];
}
