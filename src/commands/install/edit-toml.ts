import { parse, stringify, TomlError } from "smol-toml";
import { brokenFile, eolOf, isRecord, isSame, type Format, type Place } from "./format.ts";
import type { Entry } from "./hosts.ts";

/**
 * TOML. smol-toml reads; there is no TOML library for Node that keeps comments when it writes, so a table is
 * changed line by line. The caller reads the result again and refuses it if anything else changed.
 */
export const toml: Format = {
  read(text, file) {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      const [why = ""] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
      throw brokenFile(file, { line: error.line, column: error.column }, `not valid TOML (${why}).`);
    }
  },

  set(text, { key, name }: Place, entry: Entry) {
    const eol = eolOf(text);
    const statements = scan(text);
    const header = statements.find((one) => isSame(one.table, [key, name]));
    const lines = (fields: Entry): string => stringify(fields).trimEnd().replaceAll("\n", eol);
    if (header === undefined) {
      const gap = text.trim() === "" ? "" : text.endsWith("\n") ? eol : eol + eol;
      const title = `[${[key, name].map(bare).join(".")}]`;
      return `${text}${gap}${title}${eol}${lines(entry)}${eol}`;
    }
    const present = (parse(text)[key] as Record<string, Entry>)[name] ?? {};
    const own = statements.slice(statements.indexOf(header) + 1);
    const body = own.slice(0, endOfTable(own));
    let result = text;
    // From the end to the start, so that offsets stay right.
    const last = body.at(-1) ?? header;
    const added = Object.fromEntries(Object.entries(entry).filter(([field]) => !(field in present)));
    if (Object.keys(added).length > 0)
      result = result.slice(0, last.lineEnd) + eol + lines(added) + result.slice(last.lineEnd);
    for (const { field, start, end, lineEnd } of body.toReversed()) {
      if (field === undefined || isSame(present[field], entry[field])) continue;
      result =
        field in entry
          ? result.slice(0, start) + lines({ [field]: entry[field] }) + result.slice(end)
          : result.slice(0, start) + result.slice(lineEnd).replace(/^\r?\n/, "");
    }
    const stale = Object.keys(present).filter((field) => !(field in entry));
    return stale.reduce((rest, field) => removeTables(rest, [key, name, field]), result);
  },

  remove: (text, { key, name }: Place) => removeTables(text, [key, name]),
};

/** Removes the table at `path` and those below it; comments between tables stay. */
function removeTables(text: string, path: readonly string[]): string {
  const statements = scan(text);
  let result = text;
  for (const [index, header] of [...statements.entries()].toReversed()) {
    if (!path.every((part, depth) => header.table?.[depth] === part)) continue;
    const following = statements.slice(index + 1);
    const last = following[endOfTable(following) - 1] ?? header;
    const before = result.slice(0, header.start).replace(/(\r?\n)\r?\n$/, "$1");
    const after = result.slice(last.lineEnd).replace(before === "" ? /^(?:\r?\n)+/ : /^\r?\n/, "");
    result = before + after;
  }
  return result;
}

/** A `[header]` or a `key = value`, by offsets. `lineEnd` is behind a comment on its last line. */
interface Statement {
  start: number;
  end: number;
  lineEnd: number;
  table?: string[];
  field?: string;
}

const endOfTable = (statements: readonly Statement[]): number => {
  const next = statements.findIndex((one) => one.table !== undefined);
  return next === -1 ? statements.length : next;
};

const bare = (key: string): string => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key));

function scan(text: string): Statement[] {
  const statements: Statement[] = [];
  const blank = /(?:\s|#[^\n]*)*/y;
  for (let at = 0; ;) {
    blank.lastIndex = at;
    const start = at + (blank.exec(text)?.[0].length ?? 0);
    if (start >= text.length) return statements;
    const end = endOfStatement(text, start);
    const newline = /\r?\n|$/g;
    newline.lastIndex = end;
    const lineEnd = newline.exec(text)?.index ?? text.length;
    const source = text.slice(start, end);
    statements.push({
      start,
      end,
      lineEnd,
      ...(source.startsWith("[")
        ? { table: keysOf(parse(source)) }
        : { field: keysOf(parse(source))[0] ?? "" }),
    });
    at = lineEnd;
  }
}

/** The end of the statement's last character: strings and brackets may run over lines, comments end it. */
function endOfStatement(text: string, start: number): number {
  const token =
    /"""[^]*?"{3,5}|'''[^]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[[{]|[\]}]|\n|[^"'#[\]{}\n]+/y;
  token.lastIndex = start;
  let depth = 0;
  let end = start;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [piece] = match;
    if (piece === "\n" && depth === 0) break;
    if (piece.startsWith("#")) {
      if (depth === 0) break;
      continue;
    }
    if (piece === "[" || piece === "{") depth++;
    if (piece === "]" || piece === "}") depth--;
    if (piece.trim() !== "") end = match.index + piece.trimEnd().length;
  }
  return end;
}

/** The path down to the only key of each level: `[a."b.c"]` gives a, b.c. */
function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return keysOf(value[0]);
  if (!isRecord(value)) return [];
  const [key] = Object.keys(value);
  return key === undefined ? [] : [key, ...keysOf(value[key])];
}
