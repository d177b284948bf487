import {
  isCollection,
  isMap,
  isPair,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type YAMLMap,
} from "yaml";
import { isObject } from "../../shared/is-object.ts";
import {
  afterColon,
  block,
  endOf,
  endedLine,
  inLf,
  insertBlock,
  insertFlow,
  lineEnd,
  pairOf,
  rangeOf,
  startOf,
} from "../../shared/yaml-text.ts";
import { brokenFile, isSame, type Format, type Place } from "./format.ts";
import type { Entry } from "./hosts.ts";

/** YAML, changed as text: see shared/yaml-text.ts. */
export const yaml: Format = {
  read(text, file) {
    const lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
    const [first] = document.errors;
    if (first !== undefined) {
      const at = lines.linePos(first.pos[0]);
      const isSeveral = first.code === "MULTIPLE_DOCS";
      const why = isSeveral ? "it holds several documents." : `not valid YAML (${first.message}).`;
      throw brokenFile(file, { line: at.line, column: at.col }, why);
    }
    const value: unknown = document.contents === null ? {} : document.toJS();
    if (!isObject(value)) throw brokenFile(file, { line: 1, column: 1 }, "the top level is not a map.");
    return value;
  },

  set: (text, place, entry) => inLf(text, (lf) => setEntry(lf, place, entry)),

  remove: (text, place) => inLf(text, (lf) => removeEntry(lf, place)),
};

function setEntry(text: string, place: Place, entry: Entry): string {
  const document = parseDocument(text);
  const present = entryNode(document, place);
  if (present !== undefined) return updateMap(text, place, present, entry);

  const holder = pairOf(document.contents, place.key);
  const value: unknown = place.list ? [entry] : { [place.name]: entry };
  if (holder === undefined) {
    const root = document.contents;
    if (isMap(root) && root.flow === true)
      return insertFlow(text, root, JSON.stringify({ [place.key]: value }).slice(1, -1));
    return endedLine(text) + block({ [place.key]: value }, 0);
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
  return insertBlock(text, container, value);
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
    if (previous === undefined) return text.slice(0, start) + text.slice(end);
    // A comment beside the previous one stays; the comma between the two goes.
    const between = text.slice(endOf(previous), start).replace(",", "").trimEnd();
    return text.slice(0, endOf(previous)) + between + text.slice(end);
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

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf("\n", offset - 1) + 1);
}

function withoutLines(text: string, start: number, end: number): string {
  const from = text.lastIndexOf("\n", start - 1) + 1;
  return text.slice(0, from) + text.slice(lineEnd(text, end) + 1);
}
