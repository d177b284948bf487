import { z } from "zod";
import type { ToolDef } from "../tools/tool.ts";
import { leanSchema } from "./lean-schema.ts";

/** A tool in the words of function calling, as chat endpoints take it. */
export interface FunctionDef {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

export function functionOf(tool: ToolDef): FunctionDef {
  const {
    $schema: _,
    additionalProperties: _unused,
    ...parameters
  } = leanSchema(z.toJSONSchema(tool.schema, { io: "input" }));
  return { name: tool.name, description: tool.description, parameters };
}
