import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import picomatch from "picomatch";
import type { Rule } from "../config/schema.ts";
import { literalPath, matchesName } from "../shared/glob.ts";
import { hasWildcard, isDenied } from "../tools/dynamic/command-policy.ts";
import { knowledgeOf } from "../tools/dynamic/command-profiles.ts";
import type { FactPath } from "./policy.ts";

const compiled = new Map<string, Matcher>();
const compiledExact = new Map<string, Matcher>();

/**
 * Path globs. Dot files match too, and case is ignored: on a case-insensitive disk `.ENV` is `.env`, and a
 * pattern that protects must not depend on the disk; so it is with the two ways to write an accent, and with what
 * some disks leave out of a name. A pattern without a glob also covers what lies below it, and one that leads
 * through a link covers what the link leads to.
 */
export function matchesPath(pattern: string, path: string): boolean {
  const matcher = matcherOf(pattern, compiled, OPTIONS, globsThatRefuse);
  return namesOnDisks(path).some(matcher);
}

/**
 * The same for a pattern that allows, where case counts: on most disks `Docs` is another folder than `docs`. No link
 * is followed: somebody else may have put it there.
 */
export function allowsPath(pattern: string, path: string): boolean {
  return matcherOf(pattern, compiledExact, EXACT, globsOf)(comparable(path));
}

type Matcher = (path: string) => boolean;

function matcherOf(
  pattern: string,
  known: Map<string, Matcher>,
  options: typeof OPTIONS,
  globs: (pattern: string) => string[],
): Matcher {
  let matcher = known.get(pattern);
  if (matcher === undefined) {
    matcher = picomatch(globs(pattern), options);
    if (known.size > 2000) known.clear();
    known.set(pattern, matcher);
  }
  return matcher;
}

function comparable(path: string): string {
  return path.replaceAll("\\", "/").normalize("NFC");
}

/**
 * A path as given, and as the disks of macOS and Windows know it: they pass over characters that don't show, over dots
 * and blanks at the end of a name, and a name's part after a colon is the same file.
 */
function namesOnDisks(path: string): string[] {
  const given = comparable(path);
  if (!ODD.test(given)) return [given];
  const plain = given
    .split("/")
    .map(
      (name) =>
        name
          .replace(HIDDEN, "")
          .replace(/(?<=.):.*$/, "")
          .replace(/[. ]+$/, "") || name,
    )
    .join("/");
  return [given, plain];
}

/** What nearly no path has. */
const ODD = /\p{Default_Ignorable_Code_Point}|[. ](?:\/|$)|[^/]:/u;
const HIDDEN = /\p{Default_Ignorable_Code_Point}/gu;

const OPTIONS = { dot: true, nocase: true };
const EXACT = { dot: true, nocase: false };

function globsOf(pattern: string): string[] {
  const isBelowHome = pattern === "~" || pattern.startsWith("~/");
  const whole = isBelowHome ? literalPath(homedir()) + pattern.slice(1) : pattern;
  const expanded = whole.replace(/\/+$/, "").normalize("NFC");
  return [expanded, `${expanded}/**`];
}

function globsThatRefuse(pattern: string): string[] {
  const globs = globsOf(pattern);
  const [glob = ""] = globs;
  const { base } = picomatch.scan(glob);
  const named = base.replace(/\\(.)/g, "$1");
  const real = isAbsolute(named) ? realName(named) : named;
  return real === named ? globs : [...globs, ...globsOf(literalPath(real) + glob.slice(base.length))];
}

/** Of what isn't there, its deepest folder that is. */
function realName(path: string): string {
  try {
    // eslint-disable-next-line node/no-sync -- once for each pattern, at its first use
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realName(parent), path.slice(parent.length));
  }
}

interface Sieve {
  /** All patterns as one expression; undefined where they can't be put together. */
  expression: RegExp | undefined;
  /** picomatch also takes a path that is spelled like the glob itself. */
  literal: ReadonlySet<string>;
  /** What was found about a path: each layer of policy asks the same, and an agent keeps to its files. */
  known: Map<string, boolean>;
}

const MOST_KNOWN = 1_000;

const sieves = new WeakMap<readonly string[], Sieve>();

/**
 * The first pattern that matches any of the paths. Nearly always none does, and one expression made of all of them
 * says so at once; the patterns are tried one by one only when it can't.
 */
export function firstMatch(patterns: readonly string[], paths: readonly string[]): string | undefined {
  if (patterns.length === 0) return undefined;
  let sieve = sieves.get(patterns);
  if (sieve === undefined) sieves.set(patterns, (sieve = sieveOf(patterns)));
  const { expression, literal, known } = sieve;
  const passes = (path: string): boolean => {
    let answer = known.get(path);
    if (answer === undefined) {
      answer = namesOnDisks(path).some(
        (name) => expression === undefined || expression.test(name) || literal.has(name),
      );
      if (known.size >= MOST_KNOWN) known.clear();
      known.set(path, answer);
    }
    return answer;
  };
  if (!paths.some(passes)) return undefined;
  return patterns.find((pattern) => paths.some((path) => matchesPath(pattern, path)));
}

function sieveOf(patterns: readonly string[]): Sieve {
  const globs = patterns.flatMap(globsThatRefuse);
  const sources = globs.map((glob) => picomatch.makeRe(glob, OPTIONS).source);
  // A reference to a group would mean another one in the expression of all.
  const canJoin = !sources.some((source) => /\\[1-9k]/.test(source));
  return {
    expression: canJoin ? new RegExp(sources.join("|"), "i") : undefined,
    literal: new Set(globs),
    known: new Map(),
  };
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
      rule.decision === "allow"
        ? real.some((one) => allowsPath(path, one))
        : spellings.some((one) => matchesPath(path, one)),
    )
  )
    return false;
  const isAbout = (one: string): boolean =>
    command === undefined ||
    (rule.decision === "allow"
      ? mayAllow(command, one)
      : matchesName(command, one) || isDenied(command, argvOf(one)));
  if (command !== undefined && !some(facts.commands, isAbout)) return false;
  return true;
}

/**
 * Whether a pattern lets a command pass. One with a wildcard doesn't cover what starts other programs, unless this argv
 * of it is known to only read: whoever writes `git *` doesn't mean `git -c core.pager=…`. `*` alone means everything.
 */
export function mayAllow(pattern: string, command: string): boolean {
  if (!matchesName(pattern, command)) return false;
  return pattern === "*" || !hasWildcard(pattern) || knowledgeOf(argvOf(command)).safe !== false;
}

/** The words of a command as facts show it: one with a blank or a quote in it stands there as a JSON string. */
export function argvOf(command: string): string[] {
  return (command.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? []).map((word) => {
    try {
      return word.startsWith('"') ? String(JSON.parse(word)) : word;
    } catch {
      return word;
    }
  });
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
