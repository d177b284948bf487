import { isMap, isSeq, LineCounter, parseDocument, type Document, type YAMLMap, type YAMLSeq } from "yaml";
import { brokenFile, eolOf, isRecord, isSame, type Format, type Place } from "./format.ts";
import type { Entry } from "./hosts.ts";

/** YAML through the Document API, which keeps comments, blank lines and the order of keys. */
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

  set(text, place, entry) {
    const document = parseDocument(text);
    if (document.contents === null) document.contents = document.createNode({}) as never;
    const present = nodeOf(document, place);
    if (present !== undefined) {
      const before = present.toJSON() as Entry;
      for (const field of Object.keys(before)) if (!(field in entry)) present.delete(field);
      for (const [field, value] of Object.entries(entry))
        if (!isSame(before[field], value)) present.set(field, document.createNode(value));
    } else {
      const path = place.list ? [place.key] : [place.key, place.name];
      const container: unknown = document.get(place.key, true);
      // A key without a value (`extensions:`) is null, not yet a collection; an empty `{}` would stay on one line.
      if (!isMap(container) && !isSeq(container))
        document.set(place.key, document.createNode(place.list ? [] : {}));
      else if (container.items.length === 0) container.flow = false;
      if (place.list) document.addIn(path, document.createNode(entry));
      else document.setIn(path, document.createNode(entry));
    }
    return print(document, text);
  },

  remove(text, place) {
    const document = parseDocument(text);
    if (!place.list) document.deleteIn([place.key, place.name]);
    else {
      const list = document.get(place.key, true) as YAMLSeq | undefined;
      const present = nodeOf(document, place);
      if (list !== undefined && present !== undefined) list.delete(list.items.indexOf(present));
    }
    return print(document, text);
  },
};

function nodeOf(document: Document, { key, name, list }: Place): YAMLMap | undefined {
  const container: unknown = document.get(key, true);
  if (!list) {
    const node: unknown = isMap(container) ? container.get(name, true) : undefined;
    return isMap(node) ? node : undefined;
  }
  if (!isSeq(container)) return undefined;
  return container.items.find((item): item is YAMLMap => isMap(item) && item.get("name") === name);
}

function print(document: Document, before: string): string {
  const text = document.toString({
    lineWidth: 0, // never fold the user's long lines
    indent: /^( +)(?![ #-])\S/m.exec(before)?.[1]?.length ?? 2,
    // `- item` may stand below its key with or without indentation.
    indentSeq: !/^[^\s#-].*:[ \t]*\r?\n- /m.test(before),
    flowCollectionPadding: !/\{\S/.test(before),
  });
  return eolOf(before) === "\n" ? text : text.replaceAll("\n", "\r\n");
}
