import type { Profile } from "./command-options.ts";

/**
 * awk and sed are languages. These are the small uses of them that can only transform text: a program passes if
 * nothing in it could start a program or open a file, even inside a string.
 */
const AWK_REACHES_OUT =
  /[>@`]|\\(?:[\r\n]|$)|(?<!\|)\|(?!\|)|\b(?:system|getline|close|fflush|ARGV|ARGC|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|include|load|eval)\b/;

/**
 * Without each `>` that can only compare: `print > "x"` stands in braces, so before the first of them nothing is
 * written; nor is it inside the parentheses of an `if`, or in a statement that doesn't print. No quote, slash, line or
 * comment may stand there, so that the whole of it is either code or a part of one string.
 */
function withoutComparisons(program: string): string {
  const brace = program.indexOf("{");
  const patterns = brace < 0 ? program : program.slice(0, brace);
  const actions = brace < 0 ? "" : program.slice(brace);
  const compared = (code: string): string => code.replaceAll(">", " ");
  return (
    compared(patterns) +
    actions
      .replaceAll(/\bif\s*\([^(){}"'/\\;\n]*\)/g, compared)
      .replaceAll(/(?<=[;{}])[^;{}"'/\\#\r\n]*(?=[;}])/g, (statement) =>
        /print/.test(statement) ? statement : compared(statement),
      )
  );
}

/** `-F x`, `-v name=value`, the program, files. */
export const awk: Profile = (args) => {
  let at = 0;
  for (; args[at]?.startsWith("-") === true; at += 1) {
    const option = args[at] ?? "";
    if (option === "-F" || (option === "-v" && /^[A-Za-z_]\w*=/.test(args[at + 1] ?? ""))) at += 1;
    else if (!/^-F[^-]/.test(option)) return false;
  }
  const [program, ...files] = args.slice(at);
  if (program === undefined || AWK_REACHES_OUT.test(withoutComparisons(program))) return false;
  return files.every((file) => !file.startsWith("-") || file === "-");
};

/**
 * A pattern of sed up to `end`. Some seds look for the end inside `[…]` too and some don't, so it may not stand there,
 * and no `[` may be left open.
 */
const sedPattern = (end: string): string =>
  String.raw`(?:\\[^\n]|\[\^?\]?(?:\[:[a-z]+:\]|(?!${end})[^\][\n])*\]|(?!${end})[^\\[\n])*`;
const sedText = (end: string): string => String.raw`(?:\\[^\n]|(?!${end})[^\\\n])*`;

const SED_PLACE = String.raw`(?:\d+(?:~\d+)?|\$|/${sedPattern("/")}/I?)`;
const SED_ADDRESS = String.raw`(?:${SED_PLACE}(?:,(?:${SED_PLACE}|[+~]\d+))?\s*!?\s*)?`;
/** `e` would run the line and `w` write it; these flags only choose. */
const SED_REPLACES = ["/", "\\|", "#", ",", ":", "@", "!", "%"]
  .map((end) => `s${end}${sedPattern(end)}${end}${sedText(end)}${end}[gpiImM\\d]*`)
  .join("|");
const SED_MAPS = `y/${sedText("/")}/${sedText("/")}/`;
const SED_COMMAND = String.raw`${SED_ADDRESS}(?:[pdqnNhHgGxPDl=]|[btT](?: ?\w+)?|${SED_REPLACES}|${SED_MAPS})?|:\w+`;
/** `a`, `i` and `c` with all that follows on their line: text, if the line is the last one. */
const SED_LAST = String.raw`(?:[;{}\n]\s*|^\s*)${SED_ADDRESS}[aic](?:\\|[ \t])[^\n\\]*`;
const SED_SCRIPT = new RegExp(
  String.raw`^\s*(?:${SED_COMMAND})(?:\s*[;{}\n]\s*(?:${SED_COMMAND}))*\s*(?:${SED_LAST})?$`,
);
const LONGEST_SED = 500;

/** Options that only choose, such commands, files. */
export const sed: Profile = (args) => {
  const scripts: string[] = [];
  const operands: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (/^-[nErsuz]*e$/.test(arg)) {
      at += 1;
      scripts.push(args[at] ?? "w");
    } else if (arg.startsWith("--expression=")) scripts.push(arg.slice("--expression=".length));
    else if (arg === "-" || !arg.startsWith("-")) operands.push(arg);
    else if (!/^(?:-[nErsuz]+|--quiet|--silent|--regexp-extended)$/.test(arg)) return false;
  }
  const all = scripts.length > 0 ? scripts : [operands[0] ?? "w"];
  return all.every((script) => script.length <= LONGEST_SED && /\S/.test(script) && SED_SCRIPT.test(script));
};
