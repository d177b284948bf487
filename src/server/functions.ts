import { z } from "zod";
import type { ToolDef } from "../tools/tool.ts";

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
  } = z.toJSONSchema(tool.schema, { io: "input" });
  return { name: tool.name, description: tool.description, parameters };
}
