import { isObject } from "../shared/is-object.ts";

const PLAIN = new Set(["string", "number", "integer", "boolean"]);

/**
 * The same JSON schema in fewer characters: it is read by a model with every request. Only what says nothing goes:
 * the bounds of safe integers, names that are strings, values that may be anything, and two schemas for "or null".
 */
export function leanSchema(schema: Record<string, unknown>): Record<string, unknown> {
  const lean: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "minimum" && value === Number.MIN_SAFE_INTEGER) continue;
    if (key === "maximum" && value === Number.MAX_SAFE_INTEGER) continue;
    if (key === "propertyNames" && isExactly(value, { type: "string" })) continue;
    if (key === "additionalProperties" && isExactly(value, {})) continue;
    lean[key] = key === "properties" && isObject(value) ? mapValues(value) : leanValue(value);
  }
  const [only, or, ...more] = Array.isArray(lean["anyOf"]) ? (lean["anyOf"] as unknown[]) : [];
  const isNullable = more.length === 0 && isExactly(or, { type: "null" });
  // Hosts take a list of types for plain values; of lists and choices some don't.
  if (!isNullable || !isObject(only) || "enum" in only || !PLAIN.has(String(only["type"]))) return lean;
  const { anyOf: _, ...rest } = lean;
  return { ...rest, ...only, type: [only["type"], "null"] };
}

function leanValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(leanValue);
  return isObject(value) ? leanSchema(value) : value;
}

/** The names in `properties` are the tool's own and never keywords. */
function mapValues(properties: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, leanValue(value)]));
}

function isExactly(value: unknown, expected: Record<string, unknown>): boolean {
  return JSON.stringify(value) === JSON.stringify(expected);
}
