import type { FactPath, Facts } from "./policy.ts";
import { LONGEST_SECRET, redact, redactText } from "./redact.ts";

const MOST_FILES = 40;
const LONGEST_CARD = 3_000;
const LONGEST_STRING = 2_000;

/** Whose call it is, and what is known of it. */
interface CardFacts {
  /** "main (claude-code) wants to call apply_patch" */
  who: string;
  input: Record<string, unknown>;
  facts: Facts;
  /** What its definition says a person should know. */
  notice?: string | undefined;
  /** What the tool says of this call, in the place of its arguments. */
  said?: string | undefined;
}

/**
 * A call as a person reads it: the files it touches, then what the tool says of it, or its arguments. The files come
 * first and by their real names: neither length nor a link may hide one. What is short stands on the first line,
 * because Claude Code shows three of them.
 */
export function approvalCard({ who, input, facts, notice, said }: CardFacts): string {
  const files = facts.paths.map(fileLine);
  const things = said === undefined ? thingLines(facts).map(redactText) : [];
  const inShort = [...files, ...things].join(", ");
  const isShort = inShort !== "" && inShort.length <= LONGEST_SUMMARY;
  const more = files.length - MOST_FILES;
  const body = said === undefined ? argumentLines(input) : [visible(said)];
  return [
    ...(isShort ? [`${who}: ${inShort}`] : [`${who}:`, ...files.slice(0, MOST_FILES)]),
    ...(more > 0 && !isShort ? [`and ${more} more files`] : []),
    ...(notice === undefined ? [] : [notice]),
    bounded(redactText([...(isShort ? [] : things), ...body].join("\n"))),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

/** The same in a line, for a list of requests. */
export function approvalSummary(input: Record<string, unknown>, facts: Facts): string {
  const [first = visibleLine(JSON.stringify(redact(input, LONGEST_SUMMARY))), ...others] = [
    ...facts.paths.map(fileLine),
    ...thingLines(facts),
  ];
  const shown = first.length > LONGEST_SUMMARY ? `${first.slice(0, LONGEST_SUMMARY)}…` : first;
  return `${redactText(shown)}${others.length > 0 ? ` and ${others.length} more` : ""}`;
}

const LONGEST_SUMMARY = 100;

/** By its real name: a link may not hide a file. */
function fileLine({ spellings, real = spellings, access }: FactPath): string {
  return `${access} ${visibleLine(real.at(-1) ?? "") || "the workspace"}`;
}

function thingLines({ commands, urls }: Facts): string[] {
  return [
    ...commands.map((command) => `run ${visibleLine(command)}`),
    ...urls.map((url) => `connect to ${visibleLine(url)}`),
  ];
}

function argumentLines(input: Record<string, unknown>): string[] {
  const given = Object.entries(redact(input, LONGEST_STRING) as Record<string, unknown>).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return given.map(([name, value]) => `${name}:${shown(value)}`);
}

/** Text of several lines stands as lines, each behind a bar: nothing in it can pass for a line of the question. */
function shown(value: unknown): string {
  if (typeof value !== "string" || !value.includes("\n")) return ` ${visibleLine(JSON.stringify(value))}`;
  return value
    .split("\n")
    .map((line) => `\n  | ${visibleLine(line)}`)
    .join("");
}

/** A question that hides a part of what is asked says so. */
function bounded(body: string): string {
  const hidden = body.length - LONGEST_CARD;
  // Cut first, with room for a secret across the cut: patterns see bounded text.
  const shown = redactText(body.slice(0, LONGEST_CARD + LONGEST_SECRET));
  return hidden > 0
    ? `${shown.slice(0, LONGEST_CARD)}\n(${hidden} of ${body.length} characters aren't shown.)`
    : shown;
}

/** Control and direction characters as escapes: in a terminal they could paint over what a person is asked. */
function visible(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]|[\p{Cf}\u2028\u2029]/gu, escaped);
}

/** The same for what must stay on its line. */
export function visibleLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, escaped);
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
