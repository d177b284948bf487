import { expect, test } from "vitest";
import { z } from "zod";
import { leanSchema } from "../../src/server/lean-schema.ts";

const leanOf = (schema: z.ZodType): Record<string, unknown> => {
  const { $schema: _, ...rest } = leanSchema(z.toJSONSchema(schema, { io: "input" }));
  return rest;
};

test("bounds of safe integers go, real ones stay", () => {
  expect(leanOf(z.int())).toEqual({ type: "integer" });
  expect(leanOf(z.int().min(1))).toEqual({ type: "integer", minimum: 1 });
  expect(leanOf(z.int().nullable().describe("n"))).toEqual({ type: ["integer", "null"], description: "n" });
});

test("choices and lists that may be null stay as they are", () => {
  expect(leanOf(z.enum(["a"]).nullable())["anyOf"]).toHaveLength(2);
  expect(leanOf(z.array(z.string()).nullable())["anyOf"]).toHaveLength(2);
});

test("a parameter that is called like a keyword is a parameter", () => {
  const schema = z.object({
    propertyNames: z.string(),
    anyOf: z.int(),
    minimum: z.record(z.string(), z.unknown()),
  });
  expect(leanOf(schema)["properties"]).toEqual({
    propertyNames: { type: "string" },
    anyOf: { type: "integer" },
    minimum: { type: "object" },
  });
});
