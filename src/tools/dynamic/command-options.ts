/** Says whether an argv can only read and print. */
export type Profile = (args: readonly string[]) => boolean;

export const anything: Profile = () => true;

/**
 * None of these options, however spelled: abbreviated, joined with its value, or in a cluster of short ones. A `--`
 * ends nothing here: it may itself be the value of the option before it.
 */
export function without(options: {
  long?: readonly string[];
  short?: string;
  /** Short options whose value may be joined to them: what follows is no option. */
  valued?: string;
}): Profile {
  const { long = [], short = "", valued = "" } = options;
  return (args) =>
    args.every((arg) => {
      if (arg.startsWith("--")) return arg === "--" || !abbreviates(arg, long);
      if (!arg.startsWith("-")) return true;
      for (const letter of arg.slice(1)) {
        if (short.includes(letter)) return false;
        if (valued.includes(letter)) return true;
      }
      return true;
    });
}

/** Whether the option is one of these, or could be short for one. */
export function abbreviates(arg: string, long: readonly string[]): boolean {
  const name = arg.split("=", 1)[0] ?? arg;
  return long.some((one) => one.startsWith(name));
}

/** Only these options, and operands that pass: for programs where an operand is a file to write or a setting. */
export function only(options: {
  flags?: string;
  valued?: string;
  /** Short options with a value that is joined or absent. */
  optional?: string;
  long?: readonly string[];
  longValued?: readonly string[];
  operands: (operands: readonly string[]) => boolean;
  /** An option behind an operand is an option, or an error. */
  permutes?: boolean;
}): Profile {
  const { flags = "", valued = "", optional = "", long = [], longValued = [], permutes = false } = options;
  return (args) => {
    const operands: string[] = [];
    let takesNext = false;
    for (const arg of args) {
      if (takesNext) takesNext = false;
      // Some systems read no options behind an operand: there it is the next operand.
      else if (!permutes && operands.length > 0 && arg.startsWith("-")) return false;
      else if (arg.startsWith("--") && arg !== "--") {
        const name = arg.split("=", 1)[0] ?? arg;
        if (longValued.includes(name)) takesNext = name === arg;
        else if (!long.includes(name)) return false;
      } else if (arg.startsWith("-") && arg.length > 1 && arg !== "--") {
        let letters = arg.slice(1);
        while (letters !== "") {
          const letter = letters.charAt(0);
          letters = letters.slice(1);
          if (flags.includes(letter)) continue;
          if (valued.includes(letter)) takesNext = letters === "";
          else if (!optional.includes(letter)) return false;
          break;
        }
      } else if (arg !== "--") operands.push(arg);
    }
    return options.operands(operands);
  };
}

/** For programs that read their options as whole words, up to the first operand. */
export function wholeWords(
  flags: readonly string[],
  valued: readonly string[],
  mostOperands: number,
): Profile {
  return (args) => {
    let operands = 0;
    for (let at = 0; at < args.length; at += 1) {
      const arg = args[at] ?? "";
      if (operands > 0) operands += 1;
      else if (valued.includes(arg)) at += 1;
      else if (arg.startsWith("-")) {
        if (!flags.includes(arg)) return false;
      } else operands += 1;
    }
    return operands <= mostOperands;
  };
}
