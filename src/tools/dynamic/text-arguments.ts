import { abbreviates } from "./command-options.ts";

/**
 * Which arguments of a command are text and never a file: `grep /api src` opens no file called /api, and
 * `cut -d/ a.txt` reads no root folder. Only what is certain: an option that isn't known here makes every argument a
 * possible file again.
 */
interface Reading {
  /** Short options without a value. */
  flags: string;
  /** Short options whose value is text. */
  text?: string;
  /** Short options with another value: a number, or a file. */
  other?: string;
  /** Long options without a value, and such with a text in the next word. */
  long?: readonly string[];
  longText?: readonly string[];
  longOther?: readonly string[];
  /** The first operand is a pattern or a script, unless one of these is given. */
  first?: { unless: { short: string; long: readonly string[] } };
}

const words = (list: string): string[] => list.trim().split(/\s+/);
const PATTERN_ELSEWHERE = { short: "ef", long: ["--regexp", "--file"] };

const grep: Reading = {
  flags: "EFGPivwxyclLoqshHbTUzZanrRIWp0123456789",
  text: "e",
  other: "ABCmDdf",
  long: words(`--extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --invert-match --word-regexp
    --line-regexp --count --color --colour --files-with-matches --files-without-match --only-matching --quiet --silent
    --no-messages --byte-offset --with-filename --no-filename --line-number --null --null-data --text --recursive
    --dereference-recursive --line-buffered --cached --untracked --heading --break`),
  longText: ["--include", "--exclude", "--exclude-dir"],
  longOther: ["--max-count", "--context", "--after-context", "--before-context"],
  first: { unless: PATTERN_ELSEWHERE },
};

const rg: Reading = {
  flags: ".0abchHiIlLnNopPqsSuUvwxzF",
  text: "egErtT",
  other: "ABCMdfjm",
  long: words(`--fixed-strings --ignore-case --smart-case --case-sensitive --word-regexp --line-regexp --count
    --count-matches --files-with-matches --files-without-match --line-number --no-line-number --column --heading
    --no-heading --json --hidden --no-ignore --no-ignore-vcs --follow --multiline --multiline-dotall --only-matching
    --invert-match --stats --trim --vimgrep --pcre2 --text --passthru --null --pretty --quiet --with-filename
    --no-filename --no-config --no-messages --unrestricted`),
  longText: words("--glob --iglob --type --type-not --regexp --replace --encoding --sort --sortr --color"),
  longOther: words(
    "--max-depth --max-count --context --after-context --before-context --max-columns --threads --max-filesize",
  ),
  first: { unless: { short: "ef", long: [...PATTERN_ELSEWHERE.long, "--files", "--type-list"] } },
};

const sed: Reading = {
  flags: "nErsuz",
  text: "e",
  other: "f",
  long: ["--quiet", "--silent", "--regexp-extended"],
  longText: ["--expression"],
  first: { unless: { short: "ef", long: ["--expression", "--file"] } },
};

const awk: Reading = {
  flags: "",
  text: "F",
  other: "vf",
  longText: ["--field-separator"],
  first: { unless: { short: "fe", long: ["--file", "--source", "--exec"] } },
};

const jq: Reading = {
  flags: "nrcsSeaCMjR",
  long: words(`--raw-output --compact-output --null-input --slurp --sort-keys --exit-status --raw-input --tab
    --color-output --monochrome-output --join-output --ascii-output`),
  first: { unless: { short: "f", long: ["--from-file"] } },
};

const READINGS: Record<string, Reading> = {
  grep,
  egrep: grep,
  fgrep: grep,
  rg,
  sed,
  gsed: sed,
  awk,
  gawk: awk,
  mawk: awk,
  nawk: awk,
  jq,
  cut: { flags: "nsz", text: "d", other: "bcf", longText: ["--delimiter", "--output-delimiter"] },
  sort: { flags: "bdfghiMnRrVcCmsuz", text: "t", other: "kSTo", longText: ["--field-separator"] },
  paste: { flags: "sz", text: "d", long: ["--serial"], longText: ["--delimiters"] },
  column: { flags: "tx", text: "so", other: "c", long: ["--table"], longText: ["--separator"] },
  join: { flags: "iz", text: "t", other: "12javeo" },
};

/** Tests of find whose value is compared with names, or is a form to print. */
const FIND_TEXT = /^-(?:i?name|i?path|i?regex|i?wholename|i?lname|printf|regextype|perm|size|type)$/;
/** Options of `git log` that say what to look for or how to print it. */
const GIT_TEXT = /^(?:-[SG].|--(?:grep|author|committer|format|pretty|since|until|after|before|date)=)/;

/** The places in `argv` (the program is at 0) of arguments that are text. */
export function textArguments(argv: readonly string[]): ReadonlySet<number> {
  const [program = "", ...args] = argv;
  if (program === "find") return placesWhere(args, (_arg, before) => FIND_TEXT.test(before));
  if (program === "git") {
    const at = args.findIndex((arg) => !arg.startsWith("-"));
    if (args[at] === "grep") return shifted(read(args.slice(at + 1), grep), at + 1);
    const isLog = args[at] === "log";
    return placesWhere(args, (arg, before) => GIT_TEXT.test(arg) || (isLog && /^-[SG]$/.test(before)));
  }
  const reading = Object.hasOwn(READINGS, program) ? READINGS[program] : undefined;
  return reading === undefined ? new Set() : read(args, reading);
}

function placesWhere(
  args: readonly string[],
  isText: (arg: string, before: string) => boolean,
): ReadonlySet<number> {
  return new Set(args.flatMap((arg, index) => (isText(arg, args[index - 1] ?? "") ? [index + 1] : [])));
}

function shifted(places: ReadonlySet<number>, by: number): ReadonlySet<number> {
  return new Set([...places].map((place) => place + by));
}

function read(args: readonly string[], reading: Reading): ReadonlySet<number> {
  const { first, flags, long = [], longOther = [], longText = [], other = "", text = "" } = reading;
  const found = new Set<number>();
  const moves = first?.unless ?? { short: "", long: [] };
  let operand: number | undefined;
  let isMoved = false;
  let isOver = false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (isOver || !arg.startsWith("-") || arg === "-") operand ??= at + 1;
    else if (arg === "--") isOver = true;
    else if (arg.startsWith("--")) {
      const isExact = long.includes(arg);
      if (!isExact && abbreviates(arg, moves.long)) isMoved = true;
      const name = arg.split("=", 1)[0] ?? arg;
      if (isExact) continue;
      if (name === arg) {
        if (longText.includes(name)) found.add(at + 2);
        else if (!longOther.includes(name)) return new Set();
        at += 1;
      } else if (longText.includes(name)) found.add(at + 1);
    } else {
      for (let index = 1; index < arg.length; index += 1) {
        const letter = arg.charAt(index);
        if (moves.short.includes(letter)) isMoved = true;
        if (flags.includes(letter)) continue;
        const isText = text.includes(letter);
        if (!isText && !other.includes(letter)) return new Set();
        const isJoined = index < arg.length - 1;
        if (isText) found.add(isJoined ? at + 1 : at + 2);
        if (!isJoined) at += 1;
        break;
      }
    }
  }
  if (first !== undefined && !isMoved && operand !== undefined) found.add(operand);
  return found;
}
