import { parse, stringify, TomlError } from "smol-toml";
import { isObject } from "../../shared/is-object.ts";
import { brokenFile, eolOf, isSame, type Format, type Place } from "./format.ts";
import type { Entry } from "./hosts.ts";
import { inlineMembers, scan, type Statement } from "./scan-toml.ts";

/**
 * TOML. smol-toml reads; there is no TOML library for Node that keeps comments when it writes, so a table is
 * changed line by line. The caller reads the result again and refuses it if anything else changed.
 */
export const toml: Format = {
  read(text, file) {
    try {
      return parse(text, { integersAsBigInt: "asNeeded" });
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      const [why = ""] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
      throw brokenFile(file, { line: error.line, column: error.column }, `not valid TOML (${why}).`);
    }
  },

  set(text, place: Place, entry: Entry) {
    const statements = scan(text);
    const { key, name } = place;
    const container = containerIn(statements, key);
    if (container !== undefined) return setInline(removeInline(text, container, name), place, entry);
    const header = statements.find((one) => one.isHeader && isSame(one.path, [key, name]));
    if (header !== undefined) return updateTable(text, place, statements, header, entry);
    // An entry that isn't a table of its own (`camel.command = …`, `camel = { … }`) becomes one.
    const rest = removeAt(text, [key, name]);
    const eol = eolOf(text);
    const gap = rest.trim() === "" ? "" : rest.endsWith("\n") ? eol : eol + eol;
    return `${rest}${gap}${render({ [key]: { [name]: entry } }, eol)}${eol}`;
  },

  remove(text, { key, name }: Place) {
    const container = containerIn(scan(text), key);
    return container === undefined ? removeAt(text, [key, name]) : removeInline(text, container, name);
  },
};

function updateTable(
  text: string,
  { key, name }: Place,
  statements: readonly Statement[],
  header: Statement,
  entry: Entry,
): string {
  const eol = eolOf(text);
  const present = (parse(text)[key] as Record<string, Entry>)[name] ?? {};
  const own = statements.slice(statements.indexOf(header) + 1);
  const body = own.slice(0, endOfTable(own));
  let result = text;
  // From the end to the start, so that offsets stay right.
  const last = body.at(-1) ?? header;
  const added = Object.fromEntries(Object.entries(entry).filter(([field]) => !(field in present)));
  if (Object.keys(added).length > 0)
    result = result.slice(0, last.lineEnd) + eol + render(added, eol) + result.slice(last.lineEnd);
  for (const { path, start, end, lineEnd } of body.toReversed()) {
    const [, , field = ""] = path;
    if (isSame(present[field], entry[field])) continue;
    result =
      field in entry
        ? result.slice(0, start) + render({ [field]: entry[field] }, eol) + result.slice(end)
        : result.slice(0, start) + result.slice(lineEnd).replace(/^\r?\n/, "");
  }
  const stale = Object.keys(present).filter((field) => !(field in entry));
  return stale.reduce((rest, field) => removeAt(rest, [key, name, field]), result);
}

/** Removes what is at `path` and below it, however it is written; comments between tables stay. */
function removeAt(text: string, path: readonly string[]): string {
  const ranges: { start: number; lineEnd: number; isTable: boolean }[] = [];
  let table: { lineEnd: number } | undefined;
  for (const { path: at, start, lineEnd, isHeader } of scan(text)) {
    const isMeant = path.every((part, depth) => at[depth] === part);
    const range = { start, lineEnd, isTable: isHeader };
    if (isHeader) table = isMeant ? range : undefined;
    if (isMeant && (isHeader || table === undefined)) ranges.push(range);
    else if (table !== undefined) table.lineEnd = lineEnd;
  }
  let result = text;
  for (const { start, lineEnd, isTable } of ranges.toReversed()) {
    const line = result.slice(0, start).replace(/[ \t]+$/, "");
    // The blank line that stood before a table goes with it.
    const before = isTable ? line.replace(/(\r?\n)\r?\n$/, "$1") : line;
    const after = result.slice(lineEnd);
    result = before + after.replace(isTable && before === "" ? /^(?:\r?\n)+/ : /^\r?\n/, "");
  }
  return result;
}

function removeInline(text: string, container: Statement, name: string): string {
  const { members } = inlineMembers(text, container.valueStart);
  const index = members.findIndex((one) => one.name === name);
  const member = members[index];
  if (member === undefined) return text;
  const previous = members[index - 1];
  const rest =
    previous === undefined
      ? text.slice(0, member.start) + text.slice(members[index + 1]?.start ?? member.end)
      : text.slice(0, previous.end) + text.slice(member.end);
  // There may be more of it: `camel.command = …, camel.args = …`.
  return removeInline(rest, container, name);
}

function setInline(text: string, { key, name }: Place, entry: Entry): string {
  const container = containerIn(scan(text), key);
  if (container === undefined) return text;
  const { members, close } = inlineMembers(text, container.valueStart);
  const member = `${bare(name)} = ${inline(entry)}`;
  const last = members.at(-1);
  return last === undefined
    ? `${text.slice(0, container.valueStart)}{ ${member} }${text.slice(close + 1)}`
    : `${text.slice(0, last.end)}, ${member}${text.slice(last.end)}`;
}

/** A `mcp_servers = { … }` that holds every server. */
const containerIn = (statements: readonly Statement[], key: string): Statement | undefined =>
  statements.find((one) => !one.isHeader && isSame(one.path, [key]));

const endOfTable = (statements: readonly Statement[]): number => {
  const next = statements.findIndex((one) => one.isHeader);
  return next === -1 ? statements.length : next;
};

const render = (fields: Entry, eol: string): string => stringify(fields).trimEnd().replaceAll("\n", eol);

/** A value on one line; the library writes maps as tables. */
function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (!isObject(value) || value instanceof Date) return stringify({ v: value }).trim().slice("v = ".length);
  const fields = Object.entries(value).map(([field, inner]) => `${bare(field)} = ${inline(inner)}`);
  return `{ ${fields.join(", ")} }`;
}

const bare = (key: string): string => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key));
