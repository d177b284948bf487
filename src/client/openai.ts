import { messageOf } from "../shared/errors.ts";
import { isObject } from "../shared/is-object.ts";
import { CamelClientError } from "./errors.ts";
import { plainParameters, strictParameters, withoutNulls } from "./openai-schema.ts";
import type { CallOptions, CamelClient, CamelTool } from "./types.ts";

/** A tool as chat-completions endpoints take it. */
export interface OpenAITool {
  type: "function";
  function: { name: string; description: string; parameters: Record<string, unknown>; strict?: true };
}

/** An entry of a model message's `tool_calls`. */
export interface OpenAIToolCall {
  id: string;
  type?: string;
  function: { name: string; arguments: string };
}

export interface OpenAIToolMessage {
  role: "tool";
  tool_call_id: string;
  content: string;
}

export interface OpenAIToolset {
  tools: OpenAITool[];
  /**
   * Runs what the model asked for and gives the message to append. What went wrong is told to the model in it, so
   * that it can do better; only your own cancelling, and a closed client, throw.
   */
  dispatch: (call: OpenAIToolCall, options?: CallOptions) => Promise<OpenAIToolMessage>;
}

/** `strict`: schemas for strict function calling, for each tool that can have one. */
export async function toOpenAITools(
  client: CamelClient,
  { strict = false }: { strict?: boolean } = {},
): Promise<OpenAIToolset> {
  const byName = new Map<string, CamelTool>();
  for (const tool of await client.tools()) byName.set(openAIName(tool.name), tool);

  return {
    tools: [...byName].map(([name, tool]) => describe(name, tool, strict)),
    async dispatch(call, options) {
      const answer = (content: string): OpenAIToolMessage => ({
        role: "tool",
        tool_call_id: call.id,
        content,
      });
      // A name that wasn't listed may be a tool made since; the server knows, and says so if there is none.
      const { name, inputSchema = {} }: Partial<CamelTool> = byName.get(call.function.name) ?? {};
      const args = parseArguments(call.function.arguments);
      if (typeof args === "string")
        return answer(
          `Error (invalid_input): The arguments of ${call.function.name} are ${args}.\nNext: Call it again with one JSON object that follows its schema.`,
        );
      try {
        const { text } = await client.call(
          name ?? call.function.name,
          withoutNulls(args, inputSchema) as Record<string, unknown>,
          options,
        );
        return answer(text);
      } catch (error) {
        if (!(error instanceof CamelClientError) || error.code === "cancelled" || error.code === "closed")
          throw error;
        return answer(
          `Error (${error.code}): ${error.message}${error.next === undefined ? "" : `\nNext: ${error.next}`}`,
        );
      }
    },
  };
}

function describe(name: string, tool: CamelTool, strict: boolean): OpenAITool {
  const { description = "", inputSchema } = tool;
  const parameters = strict ? strictParameters(inputSchema) : undefined;
  return {
    type: "function",
    function:
      parameters === undefined
        ? { name, description, parameters: plainParameters(inputSchema) }
        : { name, description, parameters, strict: true },
  };
}

/** Function names are narrower than tool names. */
function openAIName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);
}

/** The object, or what is wrong with it. Models leave the text empty, and some endpoints send it parsed. */
function parseArguments(source: unknown): Record<string, unknown> | string {
  try {
    const parsed: unknown = typeof source === "string" ? JSON.parse(source.trim() || "{}") : (source ?? {});
    return isObject(parsed) ? parsed : "JSON, but not an object";
  } catch (error) {
    return `not JSON (${messageOf(error)})`;
  }
}
