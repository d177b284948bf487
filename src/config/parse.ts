import { readFile } from "node:fs/promises";
import { LineCounter, parseDocument, type Document } from "yaml";
import type { z } from "zod";
import { configSchema, type Config, type ConfigInput, type Rule } from "./schema.ts";
import { exampleMatches } from "../pipeline/rules.ts";
import { CamelError, messageOf } from "../shared/errors.ts";
import { closest } from "../shared/glob.ts";
import { VERSION } from "../shared/version.ts";

export interface ParsedConfig {
  config: Config;
  /** What the file itself says, without the defaults. */
  given: ConfigInput;
}

/** The text of a config file, checked; every complaint names file, line, column and key. */
export async function parseConfig(
  text: string,
  path: string,
  /** Throws on what this file may not say. */
  check: (config: Config, path: string) => void = () => {},
): Promise<ParsedConfig> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const [broken] = document.errors;
  if (broken !== undefined) throw yamlError(broken.message, lines.linePos(broken.pos[0]), path);
  const given = valueOf(document, path) ?? {};
  const parsed = configSchema.safeParse(given);
  if (!parsed.success) throw configError(parsed.error, document, lines, path);
  check(parsed.data, path);
  checkRuleExamples(parsed.data, (key) => positionOf(key, document, lines), path);
  if (parsed.data.cron.jobs.length > 0) {
    const { checkJobs } = await import("./jobs.ts");
    checkJobs(parsed.data, (key) => positionOf(key, document, lines), path);
  }
  return { config: parsed.data, given };
}

/** `file:line` of a key in a config file as it is now; the file alone where the key can't be found. */
export async function locateInConfig(path: string, key: readonly PropertyKey[]): Promise<string> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return path;
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  return `${path}:${positionOf(key, document, lines).line}`;
}

/** An alias may lead nowhere, or be a few lines that unfold to gigabytes: the parser sees neither before. */
function valueOf(document: Document, path: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 50 });
  } catch (error) {
    throw yamlError(messageOf(error), { line: 1, col: 1 }, path);
  }
}

function yamlError(message: string, { line, col }: { line: number; col: number }, path: string): CamelError {
  return new CamelError("invalid_config", `${path}:${line}:${col}: ${message}`, {
    next: "Fix the YAML there and save; the file is read again by itself.",
    details: { file: path, line, column: col },
  });
}

/** All that zod complains about as one error; the first with its place, and the nearest key for an unknown one. */
function configError(error: z.ZodError, document: Document, lines: LineCounter, path: string): CamelError {
  const complaints = error.issues.flatMap((issue) => {
    if (issue.code !== "unrecognized_keys") return [{ key: issue.path, text: issue.message }];
    const known = knownKeys(issue.path);
    return issue.keys.map((key) => {
      const guess = closest(key, known);
      const hint = guess === undefined ? `Known here: ${known.join(", ")}.` : `Did you mean "${guess}"?`;
      return { key: [...issue.path, key], text: `unknown key. ${hint}` };
    });
  });
  const [first = { key: [], text: "invalid" }, ...rest] = complaints;
  const at = positionOf(first.key, document, lines);
  const isUnknown = error.issues.some((issue) => issue.code === "unrecognized_keys");
  const more =
    rest.length === 0 ? "" : ` (and ${rest.length} more: ${rest.map((one) => one.key.join(".")).join(", ")})`;
  return new CamelError(
    "invalid_config",
    `${path}:${at.line}:${at.column}: ${first.key.join(".") || "config"}: ${first.text}${more}`,
    {
      next: `Fix the key there and save; the file is read again by itself.${isUnknown ? ` A key that a newer camel-mcp brought is not known to ${VERSION}.` : ""}`,
      details: { file: path, line: at.line, column: at.column, key: first.key.join(".") },
    },
  );
}

/** The keys that may stand at a place in the file, read off the schema so that they can't drift from it. */
function knownKeys(path: readonly PropertyKey[]): string[] {
  // zod's own shape walk: unwrap defaults and arrays down to the object that refused the key.
  let node: unknown = configSchema;
  const unwrap = (value: unknown): unknown => {
    let current = value;
    for (let i = 0; i < 8; i++) {
      if (typeof current !== "object" || current === null || !("_zod" in current)) return current;
      const def = (current as { _zod: { def: { innerType?: unknown; element?: unknown } } })._zod.def;
      if (def.innerType !== undefined) current = def.innerType;
      else if (def.element !== undefined) current = def.element;
      else return current;
    }
    return current;
  };
  for (const part of path) {
    node = unwrap(node);
    if (typeof part === "number") continue;
    node = (node as { shape?: Record<string, unknown> }).shape?.[String(part)];
  }
  return Object.keys((unwrap(node) as { shape?: Record<string, unknown> })?.shape ?? {});
}

function positionOf(
  key: readonly PropertyKey[],
  document: Document,
  lines: LineCounter,
): { line: number; column: number } {
  for (let depth = key.length; depth >= 0; depth--) {
    const parent =
      depth === 0 ? document.contents : (document.getIn(key.slice(0, depth - 1), true) ?? document.contents);
    const range = rangeOf(parent, depth === 0 ? undefined : key[depth - 1]);
    if (range !== undefined) {
      const at = lines.linePos(range);
      return { line: at.line, column: at.col };
    }
  }
  return { line: 1, column: 1 };
}

/** Where a key itself stands (not its value), or where a list's item begins. */
function rangeOf(node: unknown, key: PropertyKey | undefined): number | undefined {
  const startOf = (value: unknown): number | undefined =>
    typeof value === "object" && value !== null && "range" in value && Array.isArray(value.range)
      ? Number(value.range[0])
      : undefined;
  if (key === undefined) return startOf(node);
  const items =
    typeof node === "object" && node !== null && "items" in node && Array.isArray(node.items)
      ? node.items
      : [];
  if (typeof key === "number") return startOf(items[key]);
  for (const pair of items) {
    const name = (pair as { key?: { value?: unknown } }).key;
    if (name?.value === key) return startOf(name);
  }
  return undefined;
}

function checkRuleExamples(
  config: Config,
  position: (key: readonly PropertyKey[]) => { line: number; column: number },
  path: string,
): void {
  const groups: [readonly Rule[], PropertyKey[]][] = [
    [config.rules, ["rules"]],
    ...config.scopes.map((scope, index): [readonly Rule[], PropertyKey[]] => [
      scope.rules,
      ["scopes", index, "rules"],
    ]),
  ];
  for (const [rules, prefix] of groups) {
    for (const [index, rule] of rules.entries()) {
      const examples = [
        ...(rule.match ?? []).map((text, at) => ({ text, wanted: true, key: ["match", at] })),
        ...(rule.notMatch ?? []).map((text, at) => ({ text, wanted: false, key: ["notMatch", at] })),
      ];
      for (const example of examples) {
        if (exampleMatches(rule, example.text) === example.wanted) continue;
        const at = position([...prefix, index, ...example.key]);
        const fault = example.wanted ? "should match but doesn't" : "shouldn't match but does";
        throw new CamelError(
          "invalid_config",
          `${path}:${at.line}:${at.column}: ${prefix.join(".")}.${index}: the example "${example.text}" ${fault}.`,
          { next: "Correct the rule's pattern or the example.", details: { file: path, ...at } },
        );
      }
    }
  }
}
