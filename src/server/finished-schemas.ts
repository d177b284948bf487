import type { JsonSchemas } from "./describe-tool.ts";

/**
 * The JSON schemas of the built-in tools by the tool's name. Empty here: the build puts them in this module's place
 * (scripts/build/schemas.mjs), so that no start has to make them from zod's.
 */
export const finishedSchemas: Record<string, JsonSchemas> = {};
