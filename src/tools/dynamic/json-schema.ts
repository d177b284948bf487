import { Validator } from "@cfworker/json-schema";
import { CamelError } from "../../shared/errors.ts";
import { isObject } from "../../shared/is-object.ts";

/** Small and self-contained: nothing that is fetched, refers to itself, or is known to make hosts drop a tool. */
const REFUSED = ["$ref", "$dynamicRef", "$recursiveRef", "$id", "$anchor", "$defs", "definitions"];
const REFUSED_ON_TOP = ["anyOf", "oneOf", "allOf", "not", "if", "enum"];
const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
const DEEPEST = 12;
const MOST_NODES = 500;

/** Says what is wrong with a tool's input schema; empty when nothing is. */
export function inputSchemaProblems(schema: Record<string, unknown>): string[] {
  const problems: string[] = [];
  if (schema["type"] !== "object") problems.push('input_schema: "type" has to be "object"');
  for (const key of REFUSED_ON_TOP)
    if (key in schema) problems.push(`input_schema: no "${key}" at the top level`);
  let nodes = 0;
  const walk = (node: unknown, path: string, depth: number): void => {
    if (typeof node !== "object" || node === null) return;
    nodes += 1;
    if (nodes > MOST_NODES) return;
    if (depth > DEEPEST) {
      // What isn't looked at isn't accepted either.
      problems.push(`${path.slice(0, 100)}…: nested too deeply`);
      return;
    }
    if (Array.isArray(node)) {
      for (const [index, item] of node.entries()) walk(item, `${path}[${index}]`, depth + 1);
      return;
    }
    for (const [key, value] of Object.entries(node)) {
      const wanted = keywordProblem(key, value);
      if (wanted !== undefined) problems.push(`${path}.${key}: has to be ${wanted}`);
      if (REFUSED.includes(key)) problems.push(`${path}: "${key}" isn't supported; write the schema out`);
      if (key === "pattern" && (typeof value !== "string" || !isSafePattern(value)))
        problems.push(`${path}.pattern: only simple patterns, without a repeated group, are accepted`);
      if (key === "patternProperties") problems.push(`${path}: "patternProperties" isn't supported`);
      if (key === "properties" && typeof value === "object" && value !== null) {
        for (const [name, property] of Object.entries(value as Record<string, unknown>)) {
          if (!PROPERTY_NAME.test(name) || name === "__proto__")
            problems.push(`${path}.properties: "${name}" isn't a usable parameter name`);
          if (typeof property !== "object" || property === null)
            problems.push(`${path}.properties.${name}: has to be a schema object`);
          // The names in here are parameters, not keywords: one may well be called "pattern".
          walk(property, `${path}.properties.${name}`, depth + 1);
        }
        continue;
      }
      if (key !== "enum" && key !== "const" && key !== "default" && key !== "examples")
        walk(value, `${path}.${key}`, depth + 1);
    }
  };
  walk(schema, "input_schema", 0);
  if (nodes > MOST_NODES) problems.push("input_schema: too large");
  return problems;
}

const TYPES: readonly unknown[] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/** What the value of a keyword has to be, where it isn't: else nothing would be checked, or every call would fail. */
function keywordProblem(key: string, value: unknown): string | undefined {
  switch (key) {
    case "type": {
      const types: unknown[] = Array.isArray(value) ? value : [value];
      return types.length > 0 && types.every((one) => TYPES.includes(one))
        ? undefined
        : `one of ${TYPES.join(", ")}`;
    }
    case "enum":
    case "anyOf":
    case "oneOf":
    case "allOf":
    case "prefixItems":
      return Array.isArray(value) && value.length > 0 ? undefined : "a list";
    case "required":
      return Array.isArray(value) && value.every((one) => typeof one === "string")
        ? undefined
        : "a list of names";
    case "properties":
    case "items":
    case "contains":
    case "propertyNames":
    case "not":
      return isObject(value) ? undefined : "an object";
    case "additionalProperties":
      return isObject(value) || typeof value === "boolean" ? undefined : "true, false or a schema";
    case "uniqueItems":
      return typeof value === "boolean" ? undefined : "true or false";
    case "multipleOf":
      return typeof value === "number" && value > 0 ? undefined : "a number above 0";
    default:
      return /^(?:exclusive)?(?:min|max)(?:imum|Length|Items|Properties|Contains)?$/i.test(key) &&
        typeof value !== "number"
        ? "a number"
        : undefined;
  }
}

/**
 * A pattern can hang the whole server: `(a+)+$` takes time without end. Patterns here have no group that is
 * repeated, no reference back and no looking around, so time grows with the text's length to a small power, times
 * the ways there are to choose between alternatives and optional parts.
 */
function isSafePattern(pattern: string): boolean {
  if (pattern.length > 300) return false;
  try {
    new RegExp(pattern, "u");
  } catch {
    return false;
  }
  const plain = plainPattern(pattern);
  if (/\\[\dk]|\(\?[=!<]/.test(plain)) return false;
  if (/\)[*+{]/.test(plain)) return false;
  return powerOf(plain) <= 3 && waysThrough(plain) <= MOST_WAYS;
}

const MOST_WAYS = 64;

/** Without what is only a character: escapes and classes. */
function plainPattern(pattern: string): string {
  return pattern
    .replace(/\\[^\dk]/g, "x")
    .replace(/\[[^\]]*\]/g, "x")
    .replaceAll("(?:", "(");
}

/** To which power time grows with the text: once a repetition, and once more where a match may begin anywhere. */
function powerOf(plain: string): number {
  const repeats = (plain.match(/[*+]|\{\d*,/g) ?? []).length;
  return repeats + (plain.startsWith("^") && !plain.includes("|") ? 0 : 1);
}

/** At most so many ways: each optional part doubles them, each group multiplies them by its alternatives. */
function waysThrough(plain: string): number {
  let ways = 2 ** (plain.match(/[^*+?}(]\?/g) ?? []).length;
  const open = [1];
  for (const character of plain) {
    if (character === "(") open.push(1);
    else if (character === "|") open[open.length - 1] = (open.at(-1) ?? 1) + 1;
    else if (character === ")") ways *= open.pop() ?? 1;
  }
  return ways * (open[0] ?? 1);
}

/** The text of one call's input is bounded, so that a pattern's time is too. */
const LONGEST_INPUT = 1_000_000;
/** Where time grows with the square of the text: patterns, and items that have to differ. */
const LONGEST_COMPARED = 10_000;
const LONGEST_FOR_CUBIC_PATTERN = 1_000;

/** Arguments in, checked input out. Unknown arguments are dropped: some hosts add one of their own to every call. */
export function createInputParser(
  tool: string,
  schema: Record<string, unknown>,
): (args: unknown) => Record<string, unknown> {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const textName = "input" in properties ? "input" : required.length === 1 ? required[0] : undefined;
  const validator = new Validator(schema, "2020-12", false);
  const longest = longestInput(schema);
  return (args) => {
    const given: unknown =
      typeof args === "string"
        ? (argumentsIn(args, properties) ?? (textName === undefined ? args : { [textName]: args }))
        : (args ?? {});
    const refuse = (problems: readonly string[]): never => {
      throw new CamelError("invalid_input", `${tool}: ${problems.join("; ")}.`, {
        next: `Parameters: ${describe(schema)}. Correct the call and repeat it.`,
        details: { issues: [...problems] },
      });
    };
    if (typeof given !== "object" || given === null || Array.isArray(given))
      return refuse([`the arguments have to be an object, such as ${sampleArguments(schema)}`]);
    const input: Record<string, unknown> = {};
    for (const [name, property] of Object.entries(properties)) {
      const value: unknown = Object.hasOwn(given, name) ? given[name as keyof typeof given] : undefined;
      // null is how some hosts say "not given".
      if (value !== undefined && !(value === null && !allowsNull(property))) input[name] = value;
      else if ("default" in property) input[name] = property["default"];
    }
    const size = JSON.stringify(input).length;
    if (size > longest) return refuse([`the arguments have ${size} characters; ${longest} are allowed`]);
    const result = validator.validate(input);
    if (result.valid) return input;
    // The validator reports the outer failure first and its causes after it; the causes say what to change.
    const causes = result.errors.filter(
      (error) => error.keyword !== "properties" && error.keyword !== "items",
    );
    return refuse(
      (causes.length > 0 ? causes : result.errors)
        .slice(0, 8)
        .map(
          (error) =>
            `${error.instanceLocation.replace(/^#\/?/, "") || "arguments"}: ${error.error.replace(/\.$/, "")}`,
        ),
    );
  };
}

/** Models send the arguments as JSON text too. Any other text, JSON or not, is what the one text parameter is for. */
function argumentsIn(text: string, properties: Record<string, unknown>): object | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const value = JSON.parse(text) as object;
    const names = Object.keys(value);
    return names.length > 0 && names.every((name) => Object.hasOwn(properties, name)) ? value : undefined;
  } catch {
    return undefined;
  }
}

function longestInput(schema: Record<string, unknown>): number {
  let longest = LONGEST_INPUT;
  // Looks at every key and value of the schema.
  JSON.stringify(schema, (key, value: unknown) => {
    if (key === "uniqueItems" || key === "pattern") longest = Math.min(longest, LONGEST_COMPARED);
    if (key === "pattern" && typeof value === "string" && powerOf(plainPattern(value)) > 2)
      longest = LONGEST_FOR_CUBIC_PATTERN;
    return value;
  });
  return longest;
}

export function propertiesOf(schema: Record<string, unknown>): Record<string, Record<string, unknown>> {
  const { properties } = schema;
  return typeof properties === "object" && properties !== null
    ? (properties as Record<string, Record<string, unknown>>)
    : {};
}

export function requiredOf(schema: Record<string, unknown>): string[] {
  const { required } = schema;
  return Array.isArray(required) ? required.filter((one): one is string => typeof one === "string") : [];
}

function allowsNull(property: Record<string, unknown>): boolean {
  const { type } = property;
  return type === undefined || type === "null" || (Array.isArray(type) && type.includes("null"));
}

function sampleArguments(schema: Record<string, unknown>): string {
  return JSON.stringify(Object.fromEntries(Object.keys(propertiesOf(schema)).map((name) => [name, "…"])));
}

function describe(schema: Record<string, unknown>): string {
  const required = requiredOf(schema);
  return (
    Object.keys(propertiesOf(schema))
      .map((name) => (required.includes(name) ? name : `${name} (optional)`))
      .join(", ") || "none"
  );
}
