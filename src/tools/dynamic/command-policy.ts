import type { Config } from "../../config/schema.ts";
import { matchesName } from "../../shared/glob.ts";
import { lexCommand } from "./command-lexer.ts";
import { dangerOf } from "./command-names.ts";
import { knowledgeOf } from "./command-profiles.ts";

/**
 * May this command run without asking anybody? Judged on argv, never on the text: the text is lexed, and what is
 * judged is what would be run. Every segment of a compound is judged; one denied segment denies the whole, and the
 * whole is allowed only if each segment is.
 */
export type CommandVerdict = { decision: "allow" | "ask" | "deny"; why: string };
export type ShellPolicy = Config["shell"];

const SEPARATORS: readonly string[] = [";", "&&", "||", "|", "\n", "\r"];
/** These connect two commands: with one of them missing, it isn't the line that was meant. */
const CONNECTORS: readonly string[] = ["&&", "||", "|"];

/** The argv of each command in a line that can be read. */
export function commandsIn(line: string): string[][] {
  const lexed = lexCommand(line);
  const segments: string[][] = [[]];
  for (const part of "parts" in lexed ? lexed.parts : [])
    if (part.kind === "word") segments.at(-1)?.push(part.text);
    else segments.push([]);
  return segments.filter((argv) => argv.length > 0);
}

export function judgeCommandLine(line: string, policy: ShellPolicy): CommandVerdict {
  const lexed = lexCommand(line);
  if ("problem" in lexed) return unreadable(line, policy, `it has ${lexed.problem}`);
  const segments: string[][] = [[]];
  let problem: string | undefined;
  let connector = "";
  const endSegment = (next: string): void => {
    const isEmpty = segments.at(-1)?.length === 0;
    const lonely = [connector, next].find((one) => CONNECTORS.includes(one));
    if (isEmpty && lonely !== undefined) problem ??= `there is no command on one side of ${lonely}`;
    connector = next;
    segments.push([]);
  };
  for (const part of lexed.parts) {
    if (part.kind === "word") {
      segments.at(-1)?.push(part.text);
      if (part.expands) problem ??= "a shell would replace a part of it";
    } else if (SEPARATORS.includes(part.text)) endSegment(part.text);
    else problem ??= `it has an unquoted ${part.text}`;
  }
  endSegment("");
  const verdicts = segments.filter((argv) => argv.length > 0).map((argv) => judgeArgv(argv, policy));
  const denied = verdicts.find((one) => one.decision === "deny");
  if (denied !== undefined) return denied;
  if (problem !== undefined) return unreadable(line, policy, problem);
  return (
    verdicts.find((one) => one.decision === "ask") ?? verdicts[0] ?? { decision: "ask", why: "it is empty" }
  );
}

export function judgeArgv(argv: readonly string[], policy: ShellPolicy): CommandVerdict {
  const [program = "", ...args] = argv;
  const denied = policy.deniedCommands.find((pattern) => isDenied(pattern, argv));
  if (denied !== undefined) return { decision: "deny", why: `shell.deniedCommands has "${denied}"` };
  const listed = policy.allowedCommands.filter((pattern) => allowedBy(pattern, argv));
  if (listed.length === 0) return { decision: "ask", why: `"${program}" is not in shell.allowedCommands` };
  // Whoever wrote out the whole command has vetted it.
  const isWritten = listed.some((pattern) => pattern.includes(" ") && !hasWildcard(pattern));
  const known = knowledgeOf(argv);
  if (known.safe === false && !isWritten)
    return {
      decision: "ask",
      why: `${known.why}; only the whole command, written out in the list, lets it pass`,
    };
  if (args.length > policy.maxArgs)
    return { decision: "ask", why: `it has ${args.length} arguments, more than ${policy.maxArgs}` };
  if (args.some((arg) => Buffer.byteLength(arg) > policy.maxArgLength))
    return { decision: "ask", why: `an argument is longer than ${policy.maxArgLength} bytes` };
  return { decision: "allow", why: `"${program}" is in shell.allowedCommands` };
}

/** What can't be read can't be allowed; it can still be seen to name something denied. */
function unreadable(line: string, policy: ShellPolicy, why: string): CommandVerdict {
  const words = wordsIn(line);
  const denied = policy.deniedCommands.find((pattern) => isAmong(pattern, words));
  if (denied !== undefined) return { decision: "deny", why: `shell.deniedCommands has "${denied}"` };
  return { decision: "ask", why };
}

/**
 * Whether a pattern that restricts is about this argv. `rm` is every spelling of the program, and its name anywhere
 * behind a program that starts others; `git push *` is that command too with options before "push".
 */
export function isDenied(pattern: string, argv: readonly string[]): boolean {
  const [program = "", ...args] = argv;
  const isDirect = pattern.includes(" ")
    ? withoutLeadingOptions(argv).some((one) => matchesArgv(pattern, one))
    : namesProgram(pattern, program);
  return isDirect || (dangerOf(program) !== undefined && isAmong(pattern, args.flatMap(wordsIn)));
}

function wordsIn(text: string): string[] {
  return text.split(/[^\w./+-]+/).filter((word) => word !== "");
}

/** Whether the words hold the pattern's command somewhere, options between them left out. */
function isAmong(pattern: string, words: readonly string[]): boolean {
  const [first = "", ...rest] = patternWords(pattern).filter((word) => word !== "*");
  return words.some((word, at) => {
    if (!namesProgram(first, word)) return false;
    const after = words.slice(at + 1).filter((one) => !one.startsWith("-"));
    return rest.every((wanted, index) => wanted.startsWith("-") || matchesName(wanted, after[index] ?? ""));
  });
}

/** The argv by the program's bare name; again without each option, and its value, that stands before the first operand. */
function withoutLeadingOptions([program = "", ...args]: readonly string[]): string[][] {
  const name = bareName(program);
  const found = [[name, ...args]];
  for (let at = 0; at < args.length; at += 1) {
    const isOption = args[at]?.startsWith("-") === true;
    const isValue = at > 0 && args[at - 1]?.startsWith("-") === true;
    if (!isOption && !isValue) break;
    found.push([name, ...args.slice(at + 1)]);
  }
  return found;
}

function bareName(program: string): string {
  return (program.split(/[/\\]/).at(-1) ?? "").toLowerCase().replace(/\.(?:exe|cmd|bat|com)$/, "");
}

function namesProgram(pattern: string, word: string): boolean {
  const name = bareName(word);
  return name !== "" && matchesName(bareName(pattern), name);
}

export function hasWildcard(pattern: string): boolean {
  return /[*?]/.test(pattern);
}

/** Only the bare name is the program the user means: `./ls` may be anything. */
function allowedBy(pattern: string, argv: readonly string[]): boolean {
  return pattern.includes(" ") ? matchesArgv(pattern, argv) : argv[0] === pattern;
}

function patternWords(pattern: string): string[] {
  return pattern.split(/ +/).filter((word) => word !== "");
}

/** Word by word, so that a blank inside an argument can't pretend to be two; a last `*` stands for the rest. */
function matchesArgv(pattern: string, argv: readonly string[]): boolean {
  const words = patternWords(pattern);
  const open = words.at(-1) === "*";
  const fixed = open ? words.slice(0, -1) : words;
  if (open ? argv.length < fixed.length : argv.length !== fixed.length) return false;
  return fixed.every((word, index) => matchesName(word, argv[index] ?? ""));
}
