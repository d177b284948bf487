import { CamelError } from "../../shared/errors.ts";
import { lexCommand } from "./command-lexer.ts";

/** `{{name}}` or `{{steps.a.json.path}}`. */
const PLACEHOLDER = /\{\{\s*([A-Za-z_][\w.[\]-]*)\s*\}\}/g;
const WHOLE = /^\{\{\s*([A-Za-z_][\w.[\]-]*)\s*\}\}$/;

export type Token = { text: string } | { placeholder: string };

/** The names of the placeholders in a text, in order, each once. */
export function placeholdersIn(text: string): string[] {
  return [...new Set([...text.matchAll(PLACEHOLDER)].map((match) => match[1] ?? ""))];
}

/** The name where the text is one placeholder and nothing else. */
function wholePlaceholder(text: string): string | undefined {
  return WHOLE.exec(text)?.[1];
}

/** Fills strings anywhere in a JSON value. A string that is one placeholder keeps the value's own type. */
export function fillJson(value: unknown, lookup: (name: string) => unknown): unknown {
  if (typeof value === "string") {
    const whole = wholePlaceholder(value);
    return whole === undefined
      ? value.replace(PLACEHOLDER, (_, name: string) => asText(lookup(name)))
      : lookup(whole);
  }
  if (Array.isArray(value)) return value.map((item) => fillJson(item, lookup));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillJson(item, lookup)]));
  }
  return value;
}

export function placeholdersInJson(value: unknown): string[] {
  if (typeof value === "string") return placeholdersIn(value);
  if (Array.isArray(value)) return [...new Set(value.flatMap(placeholdersInJson))];
  if (typeof value === "object" && value !== null)
    return [...new Set(Object.values(value).flatMap(placeholdersInJson))];
  return [];
}

export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value);
}

/**
 * Splits a command template into argv elements. What a shell gives a meaning to outside quotes is refused and not
 * taken literally: whoever writes `a; b` means two commands, and silently making one of it would be wrong too.
 */
export function tokenizeTemplate(template: string): Token[] {
  const lexed = lexCommand(template);
  const refuse = (what: string, meant = ""): never => {
    throw new CamelError("invalid_input", `The command template has ${what}.`, {
      next: `No shell runs the command. ${meant}Quote it if it is meant as text.`,
    });
  };
  if ("problem" in lexed) return refuse(lexed.problem);
  return lexed.parts.map((part) =>
    part.kind === "operator"
      ? refuse(
          `an unquoted ${JSON.stringify(part.text)} at character ${part.at + 1}`,
          insteadOf(part.text, template),
        )
      : toToken(part.text),
  );
}

/** How what was meant is written here. */
function insteadOf(operator: string, template: string): string {
  if (operator === "$") return "Write {{name}} for a value of the call; variables go into env. ";
  if (operator === ">" || operator === "<")
    return "What the program prints is the tool's answer; pass a file as an argument. ";
  if (operator !== "|")
    return "One tool runs one command, or several connected by pipes; chain tools with a composite. ";
  const commands = template.split("|").map((one) => one.trim());
  return `For a pipe give the commands as a list: "pipeline": ${JSON.stringify(commands)}. `;
}

function toToken(word: string): Token {
  const placeholder = wholePlaceholder(word);
  if (placeholder !== undefined) return { placeholder };
  if (word.includes("{{") || word.includes("}}")) {
    throw new CamelError(
      "invalid_input",
      `"${word}" mixes a placeholder with other text; a placeholder is one whole argument.`,
      {
        next: "Let it stand alone and let the caller pass the whole value (docs/{{file}}.md becomes {{file}}); an option and its value are two words: --name {{value}}.",
      },
    );
  }
  return { text: word };
}
