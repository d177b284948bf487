import { isAbsolute } from "node:path";

/**
 * Every text in an argument that may be a path: itself, what follows `=`, `,`, `:`, `@` or a brace, and what a short option is
 * joined with. None in a URL.
 */
export function spellingsOf(argument: string): string[] {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(argument)) return [];
  const found = new Set([argument, ...argument.split(/[=,:@{}]/)]);
  if (argument.startsWith("-")) {
    found.add(argument.slice(2));
    if (argument.includes("/")) found.add(argument.slice(argument.indexOf("/")));
  }
  found.delete("");
  return [...found];
}

/** Those that may lead out of the workspace: what a template names so is a part of what is approved. */
export function outsideSpellings(argument: string): string[] {
  return spellingsOf(argument).filter(
    (text) => !text.startsWith("-") && (isAbsolute(text) || text.split(/[/\\]/).includes("..")),
  );
}
