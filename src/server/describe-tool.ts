import type { Tool } from "@modelcontextprotocol/server";
import { z } from "zod";
import { builtinTools } from "../tools/index.ts";
import type { ToolDef } from "../tools/tool.ts";
import { finishedSchemas } from "./finished-schemas.ts";
import { leanSchema } from "./lean-schema.ts";
import { textHost } from "./text-hosts.ts";

/** How tools look to this client. */
export function describeFor(client: string, prefix: string | undefined): (tool: ToolDef) => Tool {
  return (tool) => {
    const { outputSchema, ...rest } = describeTool(tool, prefix);
    // Who is promised structured content takes its absence for an error.
    return outputSchema === undefined || textHost(client) !== undefined ? rest : { ...rest, outputSchema };
  };
}

const described = new WeakMap<ToolDef, Omit<Tool, "name">>();

/** A tool as hosts see it; every annotation explicit, because hosts decide on missing ones differently. */
export function describeTool(tool: ToolDef, prefix = ""): Tool {
  let rest = described.get(tool);
  if (rest === undefined) {
    rest = {
      title: tool.title,
      description: tool.description,
      ...schemasOf(tool),
      annotations: {
        title: tool.title,
        readOnlyHint: tool.effect === "read",
        destructiveHint: tool.destructive ?? tool.effect !== "read",
        idempotentHint: tool.idempotent ?? false,
        openWorldHint: tool.openWorld ?? (tool.effect === "network" || tool.effect === "exec"),
      },
    };
    described.set(tool, rest);
  }
  return { name: prefix + tool.name, ...rest };
}

/** A tool in the words of function calling, as chat endpoints take it. */
export function functionOf(tool: ToolDef) {
  const { name, description = "", inputSchema: parameters } = describeTool(tool);
  return { name, description, parameters };
}

type JsonSchema = { type: "object"; [key: string]: unknown };

export interface JsonSchemas {
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
}

function schemasOf(tool: ToolDef): JsonSchemas {
  const finished = finishedSchemas[tool.name];
  if (finished !== undefined && builtinTools.includes(tool)) return finished;
  return {
    inputSchema:
      tool.inputSchema === undefined
        ? jsonSchema(tool.schema, "input")
        : { ...tool.inputSchema, type: "object" },
    ...(tool.output === undefined ? {} : { outputSchema: outputSchemaOf(tool.output) }),
  };
}

function jsonSchema(schema: z.ZodObject, io: "input" | "output"): JsonSchema {
  const { $schema: _, additionalProperties: _unused, ...rest } = leanSchema(z.toJSONSchema(schema, { io }));
  // No additionalProperties: a boolean or empty schema makes some hosts drop every tool of the server.
  return { ...rest, type: "object" };
}

/**
 * Nothing is required in it: 1.x clients check the structured content of errors against it too, and would turn an
 * error that says what to do next into one of the protocol that doesn't.
 */
function outputSchemaOf(output: z.ZodObject): JsonSchema {
  const { required: _, ...rest } = jsonSchema(output, "output");
  return rest;
}
