import {
  isCollection,
  isMap,
  isNode,
  isPair,
  isSeq,
  LineCounter,
  parseDocument,
  stringify,
  type Document,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { brokenFile, eolOf, isRecord, isSame, type Format, type Place } from "./format.ts";
import type { Entry } from "./hosts.ts";

/**
 * YAML. `yaml` finds the places; the lines are changed here, because printing a whole document moves comments and
 * indents anew what isn't ours. What is in flow style (`{ … }`) stays so.
 */
export const yaml: Format = {
  read(text, file) {
    const lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
    const [first] = document.errors;
    if (first !== undefined) {
      const at = lines.linePos(first.pos[0]);
      throw brokenFile(file, { line: at.line, column: at.col }, `not valid YAML (${first.message}).`);
    }
    const value: unknown = document.toJS() ?? {};
    if (!isRecord(value)) throw brokenFile(file, { line: 1, column: 1 }, "the top level is not a map.");
    return value;
  },

  set: (text, place, entry) => inLf(text, (lf) => setEntry(lf, place, entry)),

  remove: (text, place) => inLf(text, (lf) => removeEntry(lf, place)),
};

function inLf(text: string, edit: (text: string) => string): string {
  if (eolOf(text) === "\n") return edit(text);
  return edit(text.replaceAll("\r\n", "\n")).replaceAll("\n", "\r\n");
}

function setEntry(text: string, place: Place, entry: Entry): string {
  const document = parseDocument(text);
  const present = entryNode(document, place);
  if (present !== undefined) return updateMap(text, place, present, entry);

  const holder = pairOf(document.contents, place.key);
  const value: unknown = place.list ? [entry] : { [place.name]: entry };
  const last = text === "" || text.endsWith("\n") ? "" : "\n";
  if (holder === undefined) {
    const root = document.contents;
    if (isMap(root) && root.flow === true)
      return insertFlow(text, root, JSON.stringify({ [place.key]: value }).slice(1, -1));
    return text + last + block({ [place.key]: value }, 0);
  }
  const container = holder.value;
  const isInFlow = isMap(document.contents) && document.contents.flow === true;
  if (!isInFlow && (!isCollection(container) || container.items.length === 0)) {
    // `key:`, `key: {}` or `key: []`
    const [start, end] = isCollection(container) ? rangeOf(container) : [afterColon(text, holder), 0];
    const head = text.slice(0, start).trimEnd();
    const tail = isCollection(container) ? text.slice(end) : text.slice(start);
    const line = tail.search(/\n|$/);
    return `${head}${tail.slice(0, line)}\n${block(value, 2).trimEnd()}${tail.slice(line) || "\n"}`;
  }
  if (!isCollection(container)) return text;
  if (container.flow === true)
    return insertFlow(
      text,
      container,
      place.list ? JSON.stringify(entry) : JSON.stringify(value).slice(1, -1),
    );
  const end = lineEnd(text, endOf(container.items.at(-1)));
  return `${text.slice(0, end)}\n${block(value, indentOf(text, container)).trimEnd()}${text.slice(end)}`;
}

/** JSON is YAML's flow style. */
function insertFlow(text: string, container: YAMLMap | YAMLSeq, item: string): string {
  const end = text.slice(0, rangeOf(container)[1] - 1).trimEnd().length;
  const last = endOf(container.items.at(-1));
  const isBehindComma = container.items.length === 0 || text.slice(last, end).trimStart().startsWith(",");
  return `${text.slice(0, end)}${isBehindComma ? "" : ", "}${item}${text.slice(end)}`;
}

function updateMap(text: string, place: Place, present: YAMLMap, entry: Entry): string {
  const before = present.toJSON() as Entry;
  const changed = Object.keys({ ...before, ...entry }).find((field) => !isSame(before[field], entry[field]));
  if (changed === undefined) return text;
  const [start, end] = rangeOf(present);
  if (present.flow === true) return text.slice(0, start) + JSON.stringify(entry) + text.slice(end);
  const pair = pairOf(present, changed);
  const indent = columnOf(text, start);
  let next: string;
  if (pair === undefined) {
    const at = lineEnd(text, endOf(present.items.at(-1)));
    next = `${text.slice(0, at)}\n${block({ [changed]: entry[changed] }, indent).trimEnd()}${text.slice(at)}`;
  } else if (changed in entry) {
    const rendered = block({ [changed]: entry[changed] }, indent).trim();
    next = text.slice(0, startOf(pair)) + rendered + text.slice(endOf(pair));
  } else next = withoutLines(text, startOf(pair), endOf(pair));
  // One field at a time, each on fresh offsets.
  const again = entryNode(parseDocument(next), place);
  return again === undefined ? next : updateMap(next, place, again, entry);
}

function removeEntry(text: string, place: Place): string {
  const document = parseDocument(text);
  const holder = pairOf(document.contents, place.key);
  const container = holder?.value;
  const present = entryNode(document, place);
  if (holder === undefined || !isCollection(container) || present === undefined) return text;
  const items: readonly unknown[] = container.items;
  const index = items.findIndex((item) => item === present || (isPair(item) && item.value === present));
  const [start, end] = [startOf(items[index]), endOf(items[index])];
  if (container.flow === true) {
    const next = items[index + 1];
    const previous = items[index - 1];
    if (next !== undefined) return text.slice(0, start) + text.slice(startOf(next));
    return text.slice(0, previous === undefined ? start : endOf(previous)) + text.slice(end);
  }
  const without = withoutLines(text, start, end);
  if (items.length > 1) return without;
  const colon = afterColon(text, holder);
  return `${without.slice(0, colon)} ${place.list ? "[]" : "{}"}${without.slice(colon)}`;
}

function entryNode(document: Document, { key, name, list }: Place): YAMLMap | undefined {
  const container = pairOf(document.contents, key)?.value;
  if (!list) {
    const node = pairOf(container, name)?.value;
    return isMap(node) ? node : undefined;
  }
  if (!isSeq(container)) return undefined;
  return container.items.find((item): item is YAMLMap => isMap(item) && item.get("name") === name);
}

function pairOf(map: unknown, key: string): Pair | undefined {
  if (!isMap(map)) return undefined;
  return map.items.find((pair) => isNode(pair.key) && pair.key.toJSON() === key);
}

function rangeOf(node: unknown): [number, number] {
  const range = isNode(node) ? node.range : undefined;
  return [range?.[0] ?? 0, range?.[1] ?? 0];
}

const startOf = (item: unknown): number => rangeOf(isPair(item) ? item.key : item)[0];
const endOf = (item: unknown): number =>
  isPair(item) ? Math.max(rangeOf(item.key)[1], rangeOf(item.value)[1]) : rangeOf(item)[1];

function afterColon(text: string, pair: Pair): number {
  return text.indexOf(":", rangeOf(pair.key)[1]) + 1;
}

/** The end of the line that holds the last character before `end`, comment included. */
function lineEnd(text: string, end: number): number {
  const last = text.slice(0, end).trimEnd().length;
  const newline = text.indexOf("\n", last);
  return newline === -1 ? text.length : newline;
}

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf("\n", offset - 1) + 1);
}

/** Where the items of a block begin: the first key, or the dash of the first item. */
function indentOf(text: string, container: { items: readonly unknown[] }): number {
  const start = startOf(container.items[0]);
  const line = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  return line.length - line.trimStart().length;
}

function withoutLines(text: string, start: number, end: number): string {
  const from = text.lastIndexOf("\n", start - 1) + 1;
  return text.slice(0, from) + text.slice(lineEnd(text, end) + 1);
}

function block(value: unknown, indent: number): string {
  return stringify(value, { lineWidth: 0 }).replaceAll(/^(?=.)/gm, " ".repeat(indent));
}
