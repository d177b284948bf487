import { isMap, isNode, isPair, isSeq, parseDocument, stringify } from "yaml";
import type { Document, Pair, YAMLMap, YAMLSeq } from "yaml";
import { canonicalJson } from "./canonical.ts";

/**
 * Changes YAML as text. `yaml` finds the places; the lines are changed here, because printing a whole document moves
 * comments, folds long lines and indents anew what isn't ours. What is in flow style (`{ … }`) stays so.
 */

/** Adds items to the list that `keys` leads to, and makes what is missing of the way there. */
export function addToList(text: string, keys: readonly string[], items: readonly unknown[]): string {
  return inLf(text, (lf) => {
    const inserted = insertAt(lf, parseDocument(lf).contents, keys, items);
    const wanted = parseDocument(lf);
    if (isSeq(wanted.getIn(keys))) for (const item of items) wanted.addIn(keys, item);
    else wanted.setIn(keys, items);
    // Where the text is too unusual for that (an alias on the way, say), the printed document is right at least.
    return inserted !== undefined && isSame(parseDocument(inserted), wanted)
      ? inserted
      : wanted.toString({ lineWidth: 0 });
  });
}

function insertAt(
  text: string,
  node: unknown,
  keys: readonly string[],
  items: readonly unknown[],
): string | undefined {
  const [key, ...rest] = keys;
  if (key === undefined) {
    if (!isSeq(node)) return undefined;
    if (node.flow === true)
      return insertFlow(text, node, items.map((item) => JSON.stringify(item)).join(", "));
    return insertBlock(text, node, items);
  }
  const value = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), items);
  const pair = pairOf(node, key);
  if (pair !== undefined) return insertAt(text, pair.value, rest, items);
  if (node === null) return `${endedLine(text)}${block({ [key]: value }, 0)}`;
  if (!isMap(node)) return undefined;
  return node.flow === true
    ? insertFlow(text, node, JSON.stringify({ [key]: value }).slice(1, -1))
    : insertBlock(text, node, { [key]: value });
}

/** After the last item of a block. */
export function insertBlock(text: string, container: YAMLMap | YAMLSeq, value: unknown): string {
  const end = behindComments(text, lineEnd(text, endOf(container.items.at(-1))));
  return `${text.slice(0, end)}\n${block(value, indentOf(text, container)).trimEnd()}${text.slice(end)}`;
}

/** JSON is YAML's flow style. */
export function insertFlow(text: string, container: YAMLMap | YAMLSeq, item: string): string {
  const last = container.items.at(-1);
  const end = last === undefined ? rangeOf(container)[0] + 1 : endOf(last);
  const comma = /\s*,/y;
  comma.lastIndex = end;
  const at = comma.test(text) ? comma.lastIndex : end;
  const before = last === undefined ? "" : at === end ? ", " : " ";
  return `${text.slice(0, at)}${before}${item}${text.slice(at)}`;
}

function isSame(one: Document, other: Document): boolean {
  return one.errors.length === 0 && canonicalJson(one.toJS()) === canonicalJson(other.toJS());
}

export function inLf(text: string, edit: (text: string) => string): string {
  if (!text.includes("\r\n")) return edit(text);
  return edit(text.replaceAll("\r\n", "\n")).replaceAll("\n", "\r\n");
}

export function pairOf(map: unknown, key: string): Pair | undefined {
  if (!isMap(map)) return undefined;
  return map.items.find((pair) => isNode(pair.key) && pair.key.toJSON() === key);
}

export function rangeOf(node: unknown): [number, number] {
  const range = isNode(node) ? node.range : undefined;
  return [range?.[0] ?? 0, range?.[1] ?? 0];
}

export const startOf = (item: unknown): number => rangeOf(isPair(item) ? item.key : item)[0];
export const endOf = (item: unknown): number =>
  isPair(item) ? Math.max(rangeOf(item.key)[1], rangeOf(item.value)[1]) : rangeOf(item)[1];

export function afterColon(text: string, pair: Pair): number {
  return text.indexOf(":", rangeOf(pair.key)[1]) + 1;
}

/** The end of the line that holds the last character before `end`, comment included. */
export function lineEnd(text: string, end: number): number {
  const last = text.slice(0, end).trimEnd().length;
  const newline = text.indexOf("\n", last);
  return newline === -1 ? text.length : newline;
}

/** Indented comments below the last item belong to it, not to what is put behind it. */
function behindComments(text: string, end: number): number {
  const comments = /(?:\s*\n +#[^\n]*)*/y;
  comments.lastIndex = end;
  return end + (comments.exec(text)?.[0].length ?? 0);
}

export function endedLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/** Where the items of a block begin: the first key, or the dash of the first item. */
function indentOf(text: string, container: { items: readonly unknown[] }): number {
  const start = startOf(container.items[0]);
  const line = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  return line.length - line.trimStart().length;
}

export function block(value: unknown, indent: number): string {
  return stringify(value, { lineWidth: 0 }).replaceAll(/^(?=.)/gm, " ".repeat(indent));
}
