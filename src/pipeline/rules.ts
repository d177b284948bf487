import { homedir } from "node:os";
import picomatch from "picomatch";
import type { Rule } from "../config.ts";
import { matchesName } from "../shared/glob.ts";
import { literalPattern } from "../shared/paths.ts";
import type { FactPath } from "./policy.ts";

const compiled = new Map<string, (path: string) => boolean>();

/**
 * Path globs. Dot files match too, and case is ignored: on a case-insensitive disk `.ENV` is `.env`, and a
 * pattern that protects must not depend on the disk; so it is with the two ways to write an accent. A pattern without a glob also covers what lies below it.
 */
export function matchesPath(pattern: string, path: string): boolean {
  let matcher = compiled.get(pattern);
  if (matcher === undefined) {
    const isBelowHome = pattern === "~" || pattern.startsWith("~/");
    const whole = isBelowHome ? literalPattern(homedir()) + pattern.slice(1) : pattern;
    const expanded = whole.replace(/\/+$/, "").normalize("NFC");
    matcher = picomatch([expanded, `${expanded}/**`], { dot: true, nocase: true });
    if (compiled.size > 2000) compiled.clear();
    compiled.set(pattern, matcher);
  }
  return matcher(path.replaceAll("\\", "/").normalize("NFC"));
}

export interface RuleFacts {
  tool: string;
  paths: readonly Pick<FactPath, "spellings" | "real">[];
  commands: readonly string[];
}

/**
 * Whether the rule is about this call. A rule that restricts fires if any path or command matches; one that
 * allows only if all do, so that a second file in a patch can't ride on the first one's permission. Nor can a link
 * lend its place to the file it leads to.
 */
export function ruleMatches(rule: Rule, facts: RuleFacts): boolean {
  if (!matchesName(rule.tool, facts.tool)) return false;
  const { path, command } = rule;
  const some = <T>(items: readonly T[], test: (item: T) => boolean): boolean =>
    rule.decision === "allow" ? items.length > 0 && items.every(test) : items.some(test);
  if (
    path !== undefined &&
    !some(facts.paths, ({ spellings, real = spellings }) =>
      (rule.decision === "allow" ? real : spellings).some((one) => matchesPath(path, one)),
    )
  )
    return false;
  if (command !== undefined && !some(facts.commands, (one) => matchesName(command, one))) return false;
  return true;
}

/** A rule's example is `tool`, or `tool:path-or-command`. */
export function exampleMatches(rule: Rule, example: string): boolean {
  const colon = example.indexOf(":");
  const argument = colon < 0 ? [] : [example.slice(colon + 1)];
  return ruleMatches(rule, {
    tool: colon < 0 ? example : example.slice(0, colon),
    paths: rule.path === undefined ? [] : argument.map((one) => ({ spellings: [one] })),
    commands: rule.command === undefined ? [] : argument,
  });
}
