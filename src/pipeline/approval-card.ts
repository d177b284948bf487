import type { Facts } from "./policy.ts";
import { redact } from "./redact.ts";

const MOST_NAMES = 20;
const LONGEST_STRING = 2_000;

/**
 * A call as a person reads it: what it touches, then its arguments. Text of several lines stands as lines, each
 * behind a bar: nothing in it can pass for a line of the question itself.
 */
export function approvalCard(input: Record<string, unknown>, facts: Facts): string {
  const touched = [
    ...facts.paths.map(({ spellings, access }) => `${access} ${visible(spellings.at(-1) ?? "")}`),
    ...facts.commands.map((command) => `run ${visible(command)}`),
    ...facts.urls.map((url) => `connect to ${visible(url)}`),
  ];
  const more = touched.length - MOST_NAMES;
  const given = Object.entries(redact(input, LONGEST_STRING) as Record<string, unknown>).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return [
    ...touched.slice(0, MOST_NAMES),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...given.map(([name, value]) => `${name}: ${shown(value)}`),
  ].join("\n");
}

function shown(value: unknown): string {
  if (typeof value !== "string" || !value.includes("\n")) return visible(JSON.stringify(value));
  return value
    .split("\n")
    .map((line) => `\n  | ${visible(line)}`)
    .join("");
}

/** Control and direction characters could rewrite what a terminal shows. */
function visible(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
