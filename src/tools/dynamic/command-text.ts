import type { Profile } from "./command-options.ts";

/**
 * awk and sed are languages. These are the small uses of them that can only transform text: a program passes if
 * nothing in it could start a program or open a file, even inside a string.
 */
const AWK_REACHES_OUT =
  /[>@`]|\\(?![nt"\\/.])|(?<!\|)\|(?!\|)|\b(?:system|getline|close|fflush|ARGV|ARGC|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|include|load|eval)\b/;

/** `-F x`, `-v name=value`, the program, files. */
export const awk: Profile = (args) => {
  let at = 0;
  for (; args[at]?.startsWith("-") === true; at += 1) {
    const option = args[at] ?? "";
    if (option === "-F" || (option === "-v" && /^[A-Za-z_]\w*=/.test(args[at + 1] ?? ""))) at += 1;
    else if (!/^-F[^-]/.test(option)) return false;
  }
  const [program, ...files] = args.slice(at);
  if (program === undefined || AWK_REACHES_OUT.test(program)) return false;
  return files.every((file) => !file.startsWith("-") || file === "-");
};

const SED_OPTION = /^(?:-[nErsuz]+|--quiet|--silent|--regexp-extended)$/;
const SED_ADDRESS = String.raw`(?:(?:\d+|\$)(?:,(?:\d+|\$))?|/[^/\\\n]*/)?`;
const SED_PRINTS = new RegExp(`^${SED_ADDRESS}[pdq=]$`);
/** `s/a/b/` with flags that only choose: `e` would run the line and `w` write it. */
const SED_REPLACES = new RegExp(
  String.raw`^${SED_ADDRESS}s([/|#,:])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpiI\d]*$`,
);

/** Options that only choose, one such command, files. */
export const sed: Profile = (args) => {
  const operands = args.filter((arg) => !SED_OPTION.test(arg));
  const [script = "", ...files] = operands;
  if (!SED_PRINTS.test(script) && !SED_REPLACES.test(script)) return false;
  return files.every((file) => !file.startsWith("-") || file === "-");
};
