import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";

export type Form = ElicitRequestFormParams["requestedSchema"];

export function field(name: string, type: "string" | "boolean"): Form {
  const property = type === "string" ? ({ type: "string" } as const) : ({ type: "boolean" } as const);
  return { type: "object", properties: { [name]: property }, required: [name] };
}

/** What the suite's client fills in. */
export const contact: Form = {
  type: "object",
  properties: { username: { type: "string" }, email: { type: "string" } },
  required: ["username", "email"],
};

/** A default on every primitive type. */
export const defaults: Form = {
  type: "object",
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
  required: [],
};

const PLAIN = ["option1", "option2", "option3"];
const TITLED = [
  { const: "value1", title: "First" },
  { const: "value2", title: "Second" },
  { const: "value3", title: "Third" },
];

/** Every way to write an enumeration. */
export const choices: Form = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: PLAIN },
    titledSingle: { type: "string", oneOf: TITLED },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", minItems: 1, maxItems: 3, items: { type: "string", enum: PLAIN } },
    titledMulti: { type: "array", minItems: 1, maxItems: 3, items: { anyOf: TITLED } },
  },
  required: [],
};
