import { getNodeValue, parseTree, printParseErrorCode, type Node, type ParseError } from "jsonc-parser";
import { isObject } from "../../shared/is-object.ts";
import { brokenFile, eolOf, isSame, positionAt, type Format, type Place } from "./format.ts";
import type { Entry } from "./hosts.ts";

/**
 * JSON with comments and trailing commas. jsonc-parser finds the places; the edits are made here because its own
 * `modify` moves or drops comments that stand beside the edited property.
 */
export const json: Format = {
  read(text, file) {
    const body = withoutBom(text);
    if (holdsNothing(body)) return {};
    const errors: ParseError[] = [];
    const root = parseTree(body, errors, { allowTrailingComma: true });
    const [first] = errors;
    if (first !== undefined) {
      const what = printParseErrorCode(first.error).replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ");
      throw brokenFile(file, positionAt(body, first.offset), `not valid JSON (${what.toLowerCase()}).`);
    }
    const value: unknown = root === undefined ? {} : getNodeValue(root);
    if (!isObject(value)) throw brokenFile(file, { line: 1, column: 1 }, "the top level is not an object.");
    return value;
  },

  set(text, { key, name }: Place, entry: Entry) {
    const bom = text.startsWith(BOM) ? BOM : "";
    let body = withoutBom(text);
    if (body.trim() === "") body = `{}${eolOf(text)}`;
    else if (holdsNothing(body)) body = `${body.trimEnd()}${eolOf(text)}{}${eolOf(text)}`;
    const present = valueAt(body, [key, name]);
    if (!isObject(present)) return bom + setIn(body, [key, name], entry);
    for (const field of Object.keys(present)) {
      if (!(field in entry)) body = removeIn(body, [key, name, field]);
    }
    for (const [field, value] of Object.entries(entry)) {
      if (!isSame(present[field], value)) body = setIn(body, [key, name, field], value);
    }
    return bom + body;
  },

  remove: (text, { key, name }) =>
    text.startsWith(BOM) ? BOM + removeIn(withoutBom(text), [key, name]) : removeIn(text, [key, name]),
};

const BOM = "\uFEFF";
const withoutBom = (text: string): string => (text.startsWith(BOM) ? text.slice(1) : text);

/** Only blanks and comments. */
const holdsNothing = (text: string): boolean => skipTrivia(text, 0) === text.length;

function valueAt(text: string, path: readonly string[]): unknown {
  const { node, rest } = walk(text, path);
  return rest.length === 0 ? getNodeValue(node) : undefined;
}

/** Goes down `path` as far as it exists. */
function walk(text: string, path: readonly string[]): { node: Node; property?: Node; rest: string[] } {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) throw new Error("walk() needs a file that parses");
  let node: Node = root;
  let property: Node | undefined;
  const rest = [...path];
  while (rest.length > 0) {
    // The last of equal names is the one that counts for every JSON reader.
    const next: Node | undefined = node.children?.findLast((child) => child.children?.[0]?.value === rest[0]);
    const value: Node | undefined = next?.children?.[1];
    if (node.type !== "object" || value === undefined) break;
    property = next;
    node = value;
    rest.shift();
  }
  return { node, rest, ...(property === undefined ? {} : { property }) };
}

function setIn(text: string, path: readonly string[], value: unknown): string {
  const { node, rest } = walk(text, path);
  const [name, ...deeper] = rest;
  if (name === undefined) {
    const rendered = render(text, value, lineIndent(text, node.offset), isOneLine(text, node));
    return splice(text, node.offset, node.length, rendered);
  }
  return insert(
    text,
    node,
    name,
    deeper.reduceRight((inner: unknown, key) => ({ [key]: inner }), value),
  );
}

function insert(text: string, object: Node, name: string, value: unknown): string {
  const eol = eolOf(text);
  const indent = lineIndent(text, object.offset);
  const close = object.offset + object.length - 1;
  const last = object.children?.at(-1);
  if (last !== undefined && isOneLine(text, object)) {
    const comma = text[skipTrivia(text, last.offset + last.length)] === "," ? "" : ",";
    const end = last.offset + text.slice(last.offset, close).trimEnd().length;
    return splice(text, end, 0, `${comma} ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  }
  const childIndent = last === undefined ? indent + indentUnit(text) : lineIndent(text, last.offset);
  const line = `${eol}${childIndent}${JSON.stringify(name)}: ${render(text, value, childIndent, false)}`;
  if (last === undefined) {
    // Between the braces there may be comments.
    const inner = text.slice(object.offset + 1, close).trimEnd();
    const closing = text.slice(object.offset + 1 + inner.length, close).includes("\n") ? "" : eol + indent;
    return splice(text, object.offset + 1 + inner.length, 0, line + closing);
  }
  const end = last.offset + last.length;
  const hasComma = text[skipTrivia(text, end)] === ",";
  // Behind whatever follows the last property, so that a comment beside it stays beside it.
  const at = end + text.slice(end, close).trimEnd().length;
  const closing = text.slice(at, close).includes("\n") ? "" : eol + indent;
  const inserted = splice(text, at, 0, line + (hasComma ? "," : "") + closing);
  return hasComma ? inserted : splice(inserted, end, 0, ",");
}

function removeIn(text: string, path: readonly string[]): string {
  const { property, rest } = walk(text, path);
  const object = property?.parent;
  if (property === undefined || object === undefined || rest.length > 0) return text;
  const siblings = object.children ?? [];
  const previous = siblings[siblings.indexOf(property) - 1];
  const end = property.offset + property.length;
  const lineStart = text.lastIndexOf("\n", property.offset - 1) + 1;
  const hasOwnLine = text.slice(lineStart, property.offset).trim() === "";
  const comma = skipTrivia(text, end);
  if (text[comma] === ",") {
    const rest = text.slice(end, comma) + text.slice(comma + 1);
    // On a line with others, the blank between them goes with it.
    const without = text.slice(0, property.offset) + (hasOwnLine ? rest : rest.replace(/^[ \t]+/, ""));
    return tidy(without, property.offset, object);
  }
  const start = hasOwnLine ? property.offset : text.slice(0, property.offset).trimEnd().length;
  const without = splice(text, start, end - start, "");
  if (previous === undefined) return tidy(without, start, object);
  const before = skipTrivia(text, previous.offset + previous.length);
  return tidy(splice(without, before, 1, ""), start - 1, object);
}

/** Takes away the line that a removal left blank, or what is left inside braces that hold nothing more. */
function tidy(text: string, at: number, object: Node): string {
  const inner = /^\{\s*\}/.exec(text.slice(object.offset))?.[0];
  if (inner !== undefined) return splice(text, object.offset, inner.length, "{}");
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const newline = text.indexOf("\n", at);
  const stop = newline === -1 ? text.length : newline + 1;
  return text.slice(start, stop).trim() === "" ? splice(text, start, stop - start, "") : text;
}

/** The first offset from `at` on that is neither white space nor comment. */
function skipTrivia(text: string, at: number): number {
  const trivia = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
  trivia.lastIndex = at;
  return at + (trivia.exec(text)?.[0].length ?? 0);
}

function render(text: string, value: unknown, indent: string, oneLine: boolean): string {
  if (oneLine) return JSON.stringify(value);
  return JSON.stringify(value, null, indentUnit(text)).replaceAll("\n", eolOf(text) + indent);
}

function isOneLine(text: string, node: Node): boolean {
  return (
    (node.children?.length ?? 0) > 0 && !text.slice(node.offset, node.offset + node.length).includes("\n")
  );
}

function lineIndent(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? "";
}

function indentUnit(text: string): string {
  return /\n([ \t]+)"/.exec(text)?.[1] ?? "  ";
}

function splice(text: string, at: number, length: number, by: string): string {
  return text.slice(0, at) + by + text.slice(at + length);
}
