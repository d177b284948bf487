import { isDeepStrictEqual } from "node:util";
import { CamelError } from "../../shared/errors.ts";
import type { Entry } from "./hosts.ts";

/** Where an entry stands in a file: in the map under `key`, or in the list under `key`, found by its `name`. */
export interface Place {
  key: string;
  name: string;
  list: boolean;
}

/** One config format. Edits change the text as little as they can; comments and other entries stay. */
export interface Format {
  /** The file's content as plain data; an empty file is an empty object. Throws with line and column. */
  read(text: string, file: string): Entry;
  /** `entry` is the whole new entry; only what differs from the present one is written. */
  set(text: string, place: Place, entry: Entry): string;
  remove(text: string, place: Place): string;
}

export async function formatOf(name: "json" | "toml" | "yaml"): Promise<Format> {
  switch (name) {
    case "json":
      return (await import("./edit-json.ts")).json;
    case "toml":
      return (await import("./edit-toml.ts")).toml;
    case "yaml":
      return (await import("./edit-yaml.ts")).yaml;
  }
}

export function brokenFile(
  file: string,
  at: { line: number; column: number } | undefined,
  why: string,
  next = "Correct the file there and try again, or add by hand what --print shows.",
): CamelError {
  const where = at === undefined ? file : `${file}:${at.line}:${at.column}`;
  return new CamelError("invalid_config", `${where}: ${why} The file was left alone.`, {
    next,
    details: { file, ...at },
  });
}

/** Line and column, both from 1, of an offset. */
export function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: offset - before.lastIndexOf("\n") };
}

/** As data, whatever prototypes a parser gives its objects. */
export function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(plainData(one), plainData(other));
}

function plainData(value: unknown): unknown {
  const text = JSON.stringify(value, (_key, one: unknown) => (typeof one === "bigint" ? `${one}n` : one));
  return text === undefined ? undefined : JSON.parse(text);
}

export function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}
