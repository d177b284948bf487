import { abbreviates, anything, without, type Profile } from "./command-options.ts";

/** Before the subcommand: nothing that sets a value, a folder or a program. */
const GLOBAL = ["--no-pager", "-P", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs"];

/** Of any subcommand: writes a file, starts a program, or reads what isn't of the repository. */
const NEVER = [
  "--output",
  "--ext-diff",
  "--textconv",
  "--no-index",
  "--show-signature",
  "--open-files-in-pager",
  "--contents",
  "--exec",
  "--upload-pack",
  "--filters",
  "--batch",
  "--batch-check",
  "--batch-command",
  "--buffer",
];

const LIST_MODE = /^(?:-l|--list|--contains|--no-contains|--merged|--no-merged|--points-at)(?:=.*)?$/;
const LISTS =
  /^(?:-[arlvqi]+|-n\d*|--(?:list|all|remotes|verbose|show-current|contains|no-contains|merged|no-merged|points-at|sort|format|column|no-column|color|no-color|ignore-case|abbrev|no-abbrev|omit-empty)(?:=.*)?)$/;

/** `git branch` and `git tag` list without operands or in list mode, and else make something. */
const lists =
  (unsafe: RegExp): Profile =>
  (args) =>
    args.every((arg) => !arg.startsWith("-") || (LISTS.test(arg) && !unsafe.test(arg))) &&
    (args.every((arg) => arg.startsWith("-")) || args.some((arg) => LIST_MODE.test(arg)));

const firstIs =
  (...allowed: readonly string[]): Profile =>
  (args) =>
    allowed.includes(args[0] ?? "");

const SUBCOMMANDS: Record<string, Profile> = {
  status: anything,
  log: anything,
  show: anything,
  whatchanged: anything,
  shortlog: anything,
  diff: anything,
  "diff-tree": anything,
  "diff-index": anything,
  "diff-files": anything,
  "rev-list": anything,
  "rev-parse": anything,
  "ls-files": anything,
  "ls-tree": anything,
  "merge-base": anything,
  "name-rev": anything,
  "show-ref": anything,
  "for-each-ref": anything,
  "show-branch": anything,
  "count-objects": anything,
  "check-ignore": anything,
  "cat-file": anything,
  describe: anything,
  blame: anything,
  annotate: anything,
  cherry: anything,
  "range-diff": anything,
  // With a second name the first is made to mean it.
  "symbolic-ref": (args) =>
    args.filter((arg) => !arg.startsWith("-")).length === 1 &&
    args.every((arg) => !arg.startsWith("-") || /^(?:-q|--short|--quiet)$/.test(arg)),
  archive: (args) => args.length === 1 && /^(?:-l|--list)$/.test(args[0] ?? ""),
  var: anything,
  version: anything,
  // -O opens what it found in a pager. What isn't tracked may be kept from being read.
  grep: without({ long: ["--untracked", "--no-exclude-standard"], short: "O", valued: "ABCefm" }),
  branch: lists(/^-n/),
  // -v verifies with another program, -a makes one.
  tag: lists(/^-[^-]*[va]|^--(?:verbose|all|remotes)/),
  remote: (args) => args.every((arg) => arg === "-v" || arg === "--verbose") || firstIs("get-url")(args),
  stash: firstIs("list", "show"),
  worktree: firstIs("list"),
  reflog: (args) => !args.some((arg) => /^(?:expire|delete|drop|write)$/.test(arg)),
  config: (args) =>
    // One name alone asks for its value.
    (args.length === 1 && /^[a-z][a-z0-9-]*\.[^\s=]+$/i.test(args[0] ?? "")) ||
    (firstIs("--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list")(args) &&
      args.every(
        (arg) =>
          !arg.startsWith("-") ||
          /^(?:-l|-z|--(?:get|get-all|get-regexp|list|null|name-only|show-origin|show-scope|local|global|system))$/.test(
            arg,
          ),
      )),
};

/** The subcommands that only look, with what would make them do more taken out. */
export const git: Profile = (all) => {
  const at = all.findIndex((arg) => !GLOBAL.includes(arg));
  const [subcommand = "", ...args] = at < 0 ? [] : all.slice(at);
  const profile = Object.hasOwn(SUBCOMMANDS, subcommand) ? SUBCOMMANDS[subcommand] : undefined;
  if (profile === undefined) return false;
  // %G and %(signature) in a format ask another program about signatures.
  const startsAnother = (arg: string): boolean =>
    /%G|signature/.test(arg) || (arg.startsWith("--") && arg !== "--" && abbreviates(arg, NEVER));
  return !args.some(startsAnother) && profile(args);
};
