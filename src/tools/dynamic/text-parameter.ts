import { z } from "zod";
import type { ToolDef } from "../tool.ts";
import { propertiesOf, requiredOf } from "./json-schema.ts";

/** Says of a name whether it is a text parameter of the tool. */
export function textParameters(tool: ToolDef): (name: string) => boolean {
  const properties = propertiesOf(schemaOf(tool));
  return (name) => properties[name]?.["type"] === "string";
}

function schemaOf(tool: ToolDef): Record<string, unknown> {
  return tool.inputSchema ?? z.toJSONSchema(tool.schema, { io: "input" });
}

/** The parameter that a plain text goes to: `input`, or the only required text parameter. */
export function textParameter(tool: ToolDef): string | undefined {
  const schema = schemaOf(tool);
  const properties = propertiesOf(schema);
  if (properties["input"]?.["type"] === "string") return "input";
  const texts = requiredOf(schema).filter((name) => properties[name]?.["type"] === "string");
  return texts.length === 1 ? texts[0] : undefined;
}

/** Whether a call without arguments would be refused. */
export function needsArguments(tool: ToolDef): boolean {
  return requiredOf(schemaOf(tool)).length > 0;
}
