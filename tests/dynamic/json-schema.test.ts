import { describe, expect, test } from "vitest";
import { createInputParser, inputSchemaProblems } from "../../src/tools/dynamic/json-schema.ts";

const withPattern = (pattern: string) => ({
  type: "object",
  properties: { text: { type: "string", pattern } },
});

describe("a schema that says nothing that can be checked", () => {
  test.each([
    { type: "strin" },
    { type: [] },
    { enum: "x" },
    { enum: [] },
    { type: "string", minLength: "1" },
    { type: "number", exclusiveMaximum: true },
    { type: "number", multipleOf: 0 },
    { type: "array", items: "string" },
    { type: "array", uniqueItems: "yes" },
    { type: "object", required: "a" },
    { type: "object", additionalProperties: "no" },
    { anyOf: {} },
  ])("%j is refused", (property) => {
    expect(inputSchemaProblems({ type: "object", properties: { a: property } })).toHaveLength(1);
  });

  test.each([
    { type: ["string", "null"], minLength: 1, maxLength: 5, description: "x", default: "a" },
    { type: "array", items: { type: "integer", minimum: 0 }, uniqueItems: true },
    {
      type: "object",
      properties: { type: { type: "string" }, enum: { type: "string" } },
      required: ["type"],
    },
    { enum: ["a", 1, null] },
    { anyOf: [{ type: "string" }, { type: "number" }] },
  ])("%j is accepted", (property) => {
    expect(inputSchemaProblems({ type: "object", properties: { a: property } })).toEqual([]);
  });
});

describe("a schema that would hang the server", () => {
  test.each([
    "a?".repeat(50) + "a".repeat(50),
    "^" + "(a|a)".repeat(40) + "$",
    "^" + "(?:a|a)".repeat(40) + "$",
    "^" + "(a|ab|b)?".repeat(20) + "$",
    "^" + "[ab]?".repeat(40) + "$",
    "^a*a*a*a*$",
    "a*a*a*b",
    "(a+)+$",
    "((a|b)|(a|b))((a|b)|(a|b))((a|b)|(a|b))",
  ])("%s is refused", (pattern) => {
    expect(inputSchemaProblems(withPattern(pattern))).toHaveLength(1);
  });

  test.each([
    "^[a-z]+$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^(red|green|blue|yellow)$",
    "^https?://[a-z.]+(/[a-z]*)?$",
    "^[^@]+@[^@]+\\.[a-z]{2,}$",
    "^v?\\d+\\.\\d+(\\.\\d+)?$",
    "^[A-Z]{2,5}-\\d+$",
  ])("%s is accepted", (pattern) => {
    expect(inputSchemaProblems(withPattern(pattern))).toEqual([]);
  });

  test("isn't hidden by being nested deeply", () => {
    let schema: Record<string, unknown> = { type: "string", pattern: "(a+)+$" };
    for (let depth = 0; depth < 20; depth += 1) schema = { type: "array", items: schema };
    expect(inputSchemaProblems({ type: "object", properties: { text: schema } })).not.toEqual([]);
  });

  test("the text it is held against is short where time grows with its length", () => {
    const parse = (pattern: string) => createInputParser("a_tool", withPattern(pattern));
    expect(() => parse("^a*a*a*$")({ text: `${"a".repeat(5_000)}b` })).toThrow("1000 are allowed");
    expect(parse("^a*$")({ text: "a".repeat(5_000) })).toEqual({ text: "a".repeat(5_000) });
    const unique = createInputParser("a_tool", {
      type: "object",
      properties: { list: { type: "array", uniqueItems: true } },
    });
    expect(() => unique({ list: Array.from({ length: 50_000 }, (_, index) => index) })).toThrow(
      "10000 are allowed",
    );
  });
});

describe("arguments sent as text", () => {
  const parse = createInputParser("a_tool", { ...withPattern(".*"), required: ["text"] });

  test.each([
    ['{"text":"abc"}', "abc"],
    ["abc", "abc"],
    ['{"other":1}', '{"other":1}'],
    ["{}", "{}"],
    ["{not JSON", "{not JSON"],
  ])("%s", (sent, text) => expect(parse(sent)).toEqual({ text }));
});
