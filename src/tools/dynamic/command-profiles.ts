import { onlyPrintsVersion, dangerOf } from "./command-names.ts";
import { tar, unpacks, unpacksAlways, unzip, zipinfo } from "./command-archives.ts";
import { git } from "./command-git.ts";
import { awk, sed } from "./command-text.ts";
import { anything, only, wholeWords, without, type Profile } from "./command-options.ts";

const FIND_ACTIONS = /^-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls|files0-from)$/;
/** A filter of jq that loads other files. */
const JQ_LOADS = /(?<![\w.$])(?:import|include|modulemeta)(?!\w)/;
/** An expression of yq that reads other files or the environment, or runs something. */
const YQ_REACHES_OUT = /load|env|eval|system|import|include/;

const noArguments: Profile = (args) => args.length === 0;
const jqOptions = without({ long: ["--from-file", "--library-path"], short: "fL" });

const fd = only({
  flags: "0HIuisgFaLpq1",
  valued: "teESdj",
  long: [
    "--hidden",
    "--no-ignore",
    "--unrestricted",
    "--ignore-case",
    "--case-sensitive",
    "--glob",
    "--fixed-strings",
  ],
  longValued: ["--type", "--extension", "--exclude", "--size", "--max-depth", "--min-depth", "--color"],
  operands: () => true,
  permutes: true,
});

/** There are two programs of this name: only what both take as a way to read and print. */
const yqOptions = only({
  flags: "rPCMnNej",
  valued: "op",
  long: ["--no-colors", "--exit-status", "--prettyPrint", "--unwrapScalar", "--raw-output"],
  longValued: ["--output-format", "--input-format"],
  operands: () => true,
  permutes: true,
});

/** Only what tells about what runs; the options before it, and such spelled like them, say where it is asked. */
const docker: Profile = ([subcommand = "", ...args]) =>
  /^(?:ps|images|logs|port|top)$/.test(subcommand) &&
  !args.some((arg) => /^-(?:[^-]*[Hcf]|-(?:host|config|context|tls|follow|connection|url))/.test(arg));

/**
 * What is known about programs. A profile says that an argv can only read and print; programs that can start
 * others, or are made to, have none except for single harmless uses, and so always ask.
 */
const PROFILES: Record<string, Profile> = {
  ...Object.fromEntries(
    `pwd echo ls cat head wc cut tr basename dirname seq true false uname whoami id nl tac rev fold fmt paste
    join comm cmp expand unexpand column pr od hexdump strings stat du df realpath readlink cksum sum b2sum md5sum
    sha1sum sha224sum sha256sum sha384sum sha512sum base32 tsort numfmt expr factor nproc groups grep egrep fgrep`
      .split(/\s+/)
      .map((name) => [name, anything]),
  ),
  // In a shell that has these built in, a name given so is computed, with all that stands in its brackets.
  printf: (args) => args[0]?.startsWith("-v") !== true,
  test: (args) => !args.includes("-v"),
  "[": (args) => !args.includes("-v"),
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
  tree: without({ long: ["--output"], short: "oR" }),
  jq: (args) => jqOptions(args) && !args.some((arg) => JQ_LOADS.test(arg)),
  // -l shows what it finds with another program.
  fd,
  fdfind: fd,
  yq: (args) => yqOptions(args) && !args.some((arg) => YQ_REACHES_OUT.test(arg)),
  tar,
  bsdtar: tar,
  gtar: tar,
  unzip,
  zipinfo,
  ...Object.fromEntries("gzip gunzip bzip2 bunzip2 xz unxz".split(" ").map((name) => [name, unpacks])),
  ...Object.fromEntries("zcat bzcat xzcat".split(" ").map((name) => [name, unpacksAlways])),
  docker,
  podman: docker,
  systemctl: (args) =>
    /^(?:status|is-active|is-enabled|is-failed|list-units|list-timers)$/.test(args[0] ?? "") &&
    args.every(
      (arg) =>
        !arg.startsWith("-") || /^--(?:no-pager|all|user|system|plain|no-legend|type=.+|state=.+)$/.test(arg),
    ),
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
