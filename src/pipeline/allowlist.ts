import type { Facts } from "./policy.ts";
import { matchesName } from "../shared/glob.ts";
import { runsAnything } from "../tools/dynamic/command-names.ts";
import { allowsPath, argvOf, mayAllow } from "./rules.ts";

/**
 * `approvals.allowlist`: `Tool`, or `Tool:pattern`. A pattern is judged on what a call really touches: every path,
 * command and address of the call must be covered by some entry. So a second file in a patch, or a second command,
 * can't ride on the first one's permission, and nothing inside an argument means anything.
 */
export function coveringEntries(allowlist: readonly string[], facts: Facts): string[] | undefined {
  const entries = allowlist
    .map((entry) => ({ entry, ...parse(entry) }))
    .filter(({ tool }) => matchesName(tool, facts.tool));
  const whole = entries.find(({ pattern }) => pattern === undefined || pattern === "*");
  if (whole !== undefined) return [whole.entry];
  const things = thingsOf(facts);
  if (things.length === 0) return undefined;
  const used = new Set<string>();
  for (const matches of things) {
    const hit = entries.find(({ pattern }) => pattern !== undefined && matches(pattern));
    if (hit === undefined) return undefined;
    used.add(hit.entry);
  }
  return [...used];
}

/**
 * The entries that "allow always" writes: as narrow as the call itself. Undefined where no safe entry exists: the
 * program could run anything, a name holds pattern characters, or there are too many to look through.
 */
export function exactEntries(facts: Facts): string[] | undefined {
  const names = [
    // Absolute: the same name in another project is another file.
    ...facts.paths.map(({ spellings, real = spellings }) => real[0] ?? ""),
    ...facts.commands,
    ...facts.urls,
  ];
  if (names.length > MOST_ENTRIES || names.some((name) => PATTERN_CHARACTERS.test(name))) return undefined;
  if (facts.commands.some((command) => runsAnything(argvOf(command)[0] ?? ""))) return undefined;
  return names.length === 0 ? [facts.tool] : names.map((name) => `${facts.tool}:${name}`);
}

const MOST_ENTRIES = 8;
const PATTERN_CHARACTERS = /[*?[\]{}()!@+\\\n]/;

function parse(entry: string): { tool: string; pattern: string | undefined } {
  const colon = entry.indexOf(":");
  return colon < 0
    ? { tool: entry, pattern: undefined }
    : { tool: entry.slice(0, colon).trim(), pattern: entry.slice(colon + 1).trim() };
}

function thingsOf(facts: Facts): ((pattern: string) => boolean)[] {
  return [
    ...facts.paths.map(
      ({ spellings, real = spellings }) =>
        (pattern: string) =>
          real.some((path) => allowsPath(pattern, path)),
    ),
    ...facts.commands.map((command) => (pattern: string) => mayAllow(pattern, command)),
    ...facts.urls.map((url) => (pattern: string) => matchesName(pattern, url)),
  ];
}
