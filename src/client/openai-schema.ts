import { isObject } from "../shared/is-object.ts";

type Schema = Record<string, unknown>;

/** What strict function calling takes; everything else is dropped, and the server checks it anyway. */
const KEPT = new Set(
  "type description enum const pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems $ref".split(
    " ",
  ),
);
const FORMATS = new Set("date-time time date duration email hostname ipv4 ipv6 uuid".split(" "));

/** No `$schema`: the API refuses it. */
export function plainParameters(schema: Schema): Schema {
  const { $schema: _, ...rest } = schema;
  return { type: "object", properties: {}, ...rest };
}

/**
 * The same parameters as strict mode wants them: every property required, optional ones nullable, no others
 * allowed. Undefined where that can't be said, as for an object with free keys.
 */
export function strictParameters(schema: Schema): Schema | undefined {
  return strict(plainParameters(schema));
}

function strict(schema: Schema): Schema | undefined {
  if ("allOf" in schema || "not" in schema || "patternProperties" in schema) return undefined;
  if (!["type", "anyOf", "oneOf", "enum", "const", "$ref"].some((key) => key in schema)) return undefined;
  const result: Schema = Object.fromEntries(Object.entries(schema).filter(([key]) => KEPT.has(key)));
  if (typeof schema["format"] === "string" && FORMATS.has(schema["format"]))
    result["format"] = schema["format"];

  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(choices)) {
    const parts = choices.map((part) => strict(part as Schema));
    if (parts.includes(undefined)) return undefined;
    result["anyOf"] = parts;
  }
  if (hasType(schema, "array")) {
    const items = isObject(schema["items"]) ? strict(schema["items"]) : undefined;
    if (items === undefined) return undefined;
    result["items"] = items;
  }
  if (hasType(schema, "object")) {
    const { properties, additionalProperties = false } = schema;
    if (!isObject(properties) || additionalProperties !== false) return undefined;
    const converted = strictProperties(properties, requiredOf(schema));
    if (converted === undefined) return undefined;
    Object.assign(result, {
      properties: converted,
      required: Object.keys(converted),
      additionalProperties: false,
    });
  }
  if (isObject(schema["$defs"])) {
    const defs = Object.entries(schema["$defs"]).map(([name, def]) => [name, strict(def as Schema)] as const);
    if (defs.some(([, def]) => def === undefined)) return undefined;
    result["$defs"] = Object.fromEntries(defs);
  }
  return result;
}

function strictProperties(properties: Schema, required: ReadonlySet<string>): Schema | undefined {
  const result: Schema = {};
  for (const [name, property] of Object.entries(properties)) {
    const converted = isObject(property) ? strict(property) : undefined;
    if (converted === undefined) return undefined;
    result[name] = required.has(name) ? converted : nullable(converted);
  }
  return result;
}

function nullable(schema: Schema): Schema {
  const { anyOf, description, ...rest } = schema;
  const choices = Array.isArray(anyOf) ? (anyOf as Schema[]) : [rest];
  if (choices.some((choice) => hasType(choice, "null"))) return schema;
  return { ...(description === undefined ? {} : { description }), anyOf: [...choices, { type: "null" }] };
}

/** Undoes what strict mode forces on the model: null for an optional property means that it wasn't given. */
export function withoutNulls(value: unknown, schema: unknown): unknown {
  if (!isObject(schema)) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, schema["items"]));
  const { properties } = schema;
  if (!isObject(value) || !isObject(properties)) return value;
  const required = requiredOf(schema);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, item]) => item !== null || required.has(name))
      .map(([name, item]) => [name, withoutNulls(item, properties[name])]),
  );
}

function requiredOf(schema: Schema): ReadonlySet<string> {
  return new Set(Array.isArray(schema["required"]) ? (schema["required"] as string[]) : []);
}

function hasType(schema: Schema, type: string): boolean {
  const declared = schema["type"];
  return declared === type || (Array.isArray(declared) && declared.includes(type));
}
