import type { Config } from "../../config.ts";
import { matchesName } from "../../shared/glob.ts";
import { lexCommand } from "./command-lexer.ts";
import { knowledgeOf, runsOthers } from "./command-profiles.ts";

/**
 * May this command run without asking anybody? Judged on argv, never on the text: the text is lexed, and what is
 * judged is what would be run. Every segment of a compound is judged; one denied segment denies the whole, and the
 * whole is allowed only if each segment is.
 */
export type CommandVerdict = { decision: "allow" | "ask" | "deny"; why: string };
export type ShellPolicy = Config["shell"];

const SEPARATORS: readonly string[] = [";", "&&", "||", "|", "\n", "\r"];

export function judgeCommandLine(line: string, policy: ShellPolicy): CommandVerdict {
  const lexed = lexCommand(line);
  if ("problem" in lexed) return unreadable(line, policy, `it has ${lexed.problem}`);
  const segments: string[][] = [[]];
  let problem: string | undefined;
  for (const part of lexed.parts) {
    if (part.kind === "word") {
      segments.at(-1)?.push(part.text);
      if (part.expands) problem ??= "a shell would replace a part of it";
    } else if (SEPARATORS.includes(part.text)) segments.push([]);
    else problem ??= `it has an unquoted ${part.text}`;
  }
  const verdicts = segments.filter((argv) => argv.length > 0).map((argv) => judgeArgv(argv, policy));
  const denied = verdicts.find((one) => one.decision === "deny");
  if (denied !== undefined) return denied;
  if (problem !== undefined) return unreadable(line, policy, problem);
  if (verdicts.length === 0) return { decision: "ask", why: "it is empty" };
  return (
    verdicts.find((one) => one.decision === "ask") ?? verdicts[0] ?? { decision: "ask", why: "it is empty" }
  );
}

export function judgeArgv(argv: readonly string[], policy: ShellPolicy): CommandVerdict {
  const [program = "", ...args] = argv;
  const denied = policy.deniedCommands.find((pattern) => deniedBy(pattern, argv));
  if (denied !== undefined) return { decision: "deny", why: `shell.deniedCommands has "${denied}"` };
  if (!policy.allowedCommands.some((pattern) => allowedBy(pattern, argv)))
    return { decision: "ask", why: `"${program}" is not in shell.allowedCommands` };
  const known = knowledgeOf(argv);
  if (known.safe === false) return { decision: "ask", why: known.why };
  if (args.length > policy.maxArgs)
    return { decision: "ask", why: `it has ${args.length} arguments, more than ${policy.maxArgs}` };
  if (args.some((arg) => Buffer.byteLength(arg) > policy.maxArgLength))
    return { decision: "ask", why: `an argument is longer than ${policy.maxArgLength} bytes` };
  return { decision: "allow", why: `"${program}" is in shell.allowedCommands` };
}

/** What can't be read can't be allowed; it can still be seen to name something denied. */
function unreadable(line: string, policy: ShellPolicy, why: string): CommandVerdict {
  const words = line.split(/[^\w./+-]+/);
  const denied = policy.deniedCommands.find((pattern) => words.some((word) => namesProgram(pattern, word)));
  if (denied !== undefined) return { decision: "deny", why: `shell.deniedCommands has "${denied}"` };
  return { decision: "ask", why };
}

/** `rm` denies every spelling of the program, and its name anywhere behind a program that starts others. */
function deniedBy(pattern: string, argv: readonly string[]): boolean {
  const [program = "", ...args] = argv;
  if (pattern.includes(" ")) {
    const bare = [program.split(/[/\\]/).at(-1) ?? "", ...args];
    return matchesArgv(pattern, argv) || matchesArgv(pattern, bare);
  }
  if (namesProgram(pattern, program)) return true;
  if (!runsOthers(program.split(/[/\\]/).at(-1) ?? "")) return false;
  return args.some((arg) => arg.split(/[^\w./+-]+/).some((word) => namesProgram(pattern, word)));
}

function namesProgram(pattern: string, word: string): boolean {
  const name = (word.split(/[/\\]/).at(-1) ?? "").toLowerCase().replace(/\.(?:exe|cmd|bat|com)$/, "");
  const [first = ""] = pattern.toLowerCase().split(" ");
  return name !== "" && matchesName(first, name);
}

/** Only the bare name is the program the user means: `./ls` may be anything. */
function allowedBy(pattern: string, argv: readonly string[]): boolean {
  return pattern.includes(" ") ? matchesArgv(pattern, argv) : argv[0] === pattern;
}

/** Word by word, so that a blank inside an argument can't pretend to be two; a last `*` stands for the rest. */
function matchesArgv(pattern: string, argv: readonly string[]): boolean {
  const words = pattern.split(/ +/).filter((word) => word !== "");
  const open = words.at(-1) === "*";
  const fixed = open ? words.slice(0, -1) : words;
  if (open ? argv.length < fixed.length : argv.length !== fixed.length) return false;
  return fixed.every((word, index) => matchesName(word, argv[index] ?? ""));
}
