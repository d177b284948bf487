import { onlyPrintsVersion, dangerOf } from "./command-names.ts";
import { git } from "./command-git.ts";
import { awk, sed } from "./command-text.ts";
import { anything, only, wholeWords, without, type Profile } from "./command-options.ts";

const FIND_ACTIONS = /^-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls|files0-from)$/;
/** A filter of jq that loads other files. */
const JQ_LOADS = /(?<![\w.$])(?:import|include|modulemeta)(?!\w)/;

const noArguments: Profile = (args) => args.length === 0;
const jqOptions = without({ long: ["--from-file", "--library-path"], short: "fL" });

/**
 * What is known about programs. A profile says that an argv can only read and print; programs that can start
 * others, or are made to, have none except for single harmless uses, and so always ask.
 */
const PROFILES: Record<string, Profile> = {
  ...Object.fromEntries(
    `pwd echo ls cat head wc cut tr basename dirname seq true false printf uname whoami id nl tac rev fold fmt paste
    join comm cmp expand unexpand column pr od hexdump strings stat du df realpath readlink cksum sum b2sum md5sum
    sha1sum sha224sum sha256sum sha384sum sha512sum base32 tsort numfmt expr test factor nproc groups grep egrep fgrep`
      .split(/\s+/)
      .map((name) => [name, anything]),
  ),
  tail: without({ long: ["--follow", "--retry"], short: "fF", valued: "cns" }),
  // Without a "+" the operand is the time to set.
  date: only({
    flags: "uR",
    valued: "dfr",
    optional: "I",
    long: [
      "--utc",
      "--universal",
      "--rfc-email",
      "--rfc-3339",
      "--iso-8601",
      "--debug",
      "--version",
      "--help",
    ],
    longValued: ["--date", "--file", "--reference"],
    operands: (operands) => operands.every((one) => one.startsWith("+")),
    // What follows the format can't be a time to set: a system that reads no option there refuses the line.
    permutes: true,
  }),
  // --paginate starts another program.
  diff: without({ long: ["--output", "--paginate"], short: "l", valued: "CDFILSUWXx" }),
  // The second operand is a file to write.
  uniq: only({
    flags: "cdDuiz",
    valued: "fsw",
    long: [
      "--count",
      "--repeated",
      "--all-repeated",
      "--group",
      "--ignore-case",
      "--unique",
      "--zero-terminated",
    ],
    longValued: ["--skip-fields", "--skip-chars", "--check-chars"],
    operands: (operands) => operands.length <= 1,
  }),
  // A list of file names in a file: nobody can tell which it reads.
  sort: without({
    long: ["--output", "--compress-program", "--temporary-directory", "--files0-from"],
    short: "oT",
    valued: "kSt",
  }),
  shuf: without({ long: ["--output"], short: "o", valued: "in" }),
  base64: without({ long: ["--output"], short: "o", valued: "wbi" }),
  iconv: without({ long: ["--output"], short: "o", valued: "ft" }),
  xxd: wholeWords(["-a", "-b", "-e", "-i", "-p", "-ps", "-u"], ["-c", "-g", "-l", "-s"], 1),
  rg: without({
    long: ["--pre", "--pre-glob", "--hostname-bin", "--search-zip"],
    short: "z",
    valued: "ABCEMTdefgjmrt",
  }),
  find: (args) => !args.some((arg) => FIND_ACTIONS.test(arg)),
  file: without({
    long: ["--compile", "--uncompress", "--uncompress-noreport", "--no-sandbox"],
    short: "CzZS",
  }),
  tree: without({ short: "oR" }),
  jq: (args) => jqOptions(args) && !args.some((arg) => JQ_LOADS.test(arg)),
  hostname: (args) =>
    args.every((arg) => /^(?:-[AdfIis]|--(?:fqdn|long|short|domain|ip-address))$/.test(arg)),
  arch: noArguments,
  awk,
  gawk: awk,
  mawk: awk,
  nawk: awk,
  sed,
  gsed: sed,
  git,
};

/** Of any program: options so called are there to start something, or to load it. */
const EXEC_LIKE_OPTION =
  /^--?(?:[a-z]+-)*(?:exec(?:ute)?|eval|command|cmd|shell|program|pager|editor|browser|plugin|preload|hook|rsh|script)(?:-[a-z]+)*(?:=|$)/i;

export type Knowledge = { safe: true } | { safe: false; why: string } | { safe: undefined };

/** What is known about an argv: proven to only read and print, known to be able to do more, or unknown. */
export function knowledgeOf(argv: readonly string[]): Knowledge {
  const [program = "", ...args] = argv;
  const profile = Object.hasOwn(PROFILES, program) ? PROFILES[program] : undefined;
  if (profile?.(args) === true || onlyPrintsVersion(program, args)) return { safe: true };
  const danger = dangerOf(program);
  if (danger !== undefined) return { safe: false, why: `${program} ${danger}` };
  if (profile !== undefined) return { safe: false, why: `${program} with these options does more than read` };
  const telling = args.find((arg) => EXEC_LIKE_OPTION.test(arg));
  if (telling !== undefined)
    return { safe: false, why: `${telling.split("=", 1)[0]} of ${program} may start another program` };
  return { safe: undefined };
}
