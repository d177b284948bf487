import { parse } from "smol-toml";
import { isObject } from "../../shared/is-object.ts";

/** A `[header]` or a `key = value` of a text that is valid TOML, by offsets. */
export interface Statement {
  start: number;
  end: number;
  /** Behind a comment on its last line. */
  lineEnd: number;
  isHeader: boolean;
  /** The whole path of its table or its value, whichever way it is written. */
  path: readonly string[];
  /** Where the value of a `key = value` begins. */
  valueStart: number;
}

export function scan(text: string): Statement[] {
  const statements: Statement[] = [];
  const blank = /(?:\s|#[^\n]*)*/y;
  let table: readonly string[] = [];
  for (let at = 0; ;) {
    blank.lastIndex = at;
    const start = at + (blank.exec(text)?.[0].length ?? 0);
    if (start >= text.length) return statements;
    const end = endOfStatement(text, start);
    const newline = /\r?\n|$/g;
    newline.lastIndex = end;
    const lineEnd = newline.exec(text)?.index ?? text.length;
    const isHeader = text[start] === "[";
    const { keys, valueStart } = isHeader
      ? { keys: keysOf(parse(text.slice(start, end))), valueStart: end }
      : keyAt(text, start);
    const path = isHeader ? keys : [...table, ...keys];
    if (isHeader) table = path;
    statements.push({ start, end, lineEnd, isHeader, path, valueStart });
    at = lineEnd;
  }
}

/** The members of the `{ … }` that begins at `open`, and where it closes. */
export function inlineMembers(
  text: string,
  open: number,
): { members: { start: number; end: number; name: string }[]; close: number } {
  const members: { start: number; end: number; name: string }[] = [];
  let start: number | undefined;
  let end = open;
  const finish = (): void => {
    if (start !== undefined) members.push({ start, end, name: keyAt(text, start).keys[0] ?? "" });
    start = undefined;
  };
  for (const { piece, at, depth } of tokens(text, open)) {
    if (at === open) continue;
    if (depth === 0) {
      finish();
      return { members, close: at };
    }
    if (piece.startsWith("#") || piece.trim() === "") continue;
    if (piece === "," && depth === 1) finish();
    else {
      start ??= at + piece.length - piece.trimStart().length;
      end = at + piece.trimEnd().length;
    }
  }
  throw new Error("inlineMembers() needs a file that parses");
}

/** The end of the statement's last character: strings and brackets may run over lines, comments end it. */
function endOfStatement(text: string, start: number): number {
  let end = start;
  for (const { piece, at, depth } of tokens(text, start)) {
    if (depth === 0 && (piece === "\n" || piece.startsWith("#"))) break;
    if (!piece.startsWith("#") && piece.trim() !== "") end = at + piece.trimEnd().length;
  }
  return end;
}

/** `depth` counts the brackets that are open behind the piece. */
function* tokens(text: string, start: number): Generator<{ piece: string; at: number; depth: number }> {
  const token =
    /"""[^]*?"{3,5}|'''[^]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[[{]|[\]}]|,|\n|[^"'#[\]{},\n]+/y;
  token.lastIndex = start;
  let depth = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [piece] = match;
    if (piece === "[" || piece === "{") depth++;
    if (piece === "]" || piece === "}") depth--;
    yield { piece, at: match.index, depth };
  }
}

/** The keys of `a."b.c" = …`: a, b.c. */
function keyAt(text: string, start: number): { keys: string[]; valueStart: number } {
  const key = /(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^"'=])+/y;
  key.lastIndex = start;
  const [written = ""] = key.exec(text) ?? [];
  const behind = start + written.length + 1;
  return {
    keys: keysOf(parse(`[${written.trim()}]`)),
    valueStart: behind + text.slice(behind).search(/\S|$/),
  };
}

/** The path down to the only key of each level: `[a."b.c"]` gives a, b.c. */
function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return keysOf(value[0]);
  if (!isObject(value)) return [];
  const [key] = Object.keys(value);
  return key === undefined ? [] : [key, ...keysOf(value[key])];
}
