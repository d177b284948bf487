import { z } from "zod";
import type { ToolDef } from "../tool.ts";
import { propertiesOf, requiredOf } from "./json-schema.ts";

/** The parameter that a plain text goes to: `input`, or the only required text parameter. */
export function textParameter(tool: ToolDef): string | undefined {
  const schema = tool.inputSchema ?? z.toJSONSchema(tool.schema, { io: "input" });
  const properties = propertiesOf(schema);
  if (properties["input"]?.["type"] === "string") return "input";
  const texts = requiredOf(schema).filter((name) => properties[name]?.["type"] === "string");
  return texts.length === 1 ? texts[0] : undefined;
}
