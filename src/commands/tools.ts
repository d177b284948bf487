import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { describeTool, functionOf } from "../server/describe-tool.ts";
import { closest } from "../shared/glob.ts";
import type { ToolDef } from "../tools/tool.ts";
import { camelOptions, unknownAction, usageError } from "./options.ts";
import { shellCaller } from "./shell-call.ts";

/** Shows the tools as this agent would see them: `list`, `info NAME`, `schema NAME`. */
export async function tools(context: CommandContext): Promise<number> {
  const { flags, print } = context;
  const [action = "list", name] = context.words;
  const camel = await createCamel(camelOptions(context));
  await camel.refresh();
  const found = camel.dispatcher.list(shellCaller(context.agentId));
  await camel.close();
  const json = (value: unknown, isPretty = true): number => {
    print(`${JSON.stringify(value, null, isPretty ? 2 : undefined)}\n`);
    return 0;
  };
  switch (action) {
    case "list":
      if (flags.openai === true) return json(found.map(openAiTool));
      if (flags.json === true)
        return json(found.map((tool) => described(tool, flags["with-schema"] === true)));
      for (const tool of found) {
        print(`${tool.name.padEnd(20)} ${tool.effect.padEnd(9)} ${firstSentence(tool.description)}\n`);
        if (flags["with-schema"] === true)
          print(`${JSON.stringify(describeTool(tool).inputSchema, null, 2).replaceAll(/^/gm, "    ")}\n`);
      }
      return 0;
    case "info": {
      const tool = pick(found, name);
      if (flags.json === true) return json(described(tool, true));
      print(infoPage(tool));
      return 0;
    }
    case "schema": {
      const tool = pick(found, name);
      const schema = flags.openai === true ? openAiTool(tool) : describeTool(tool).inputSchema;
      return json(schema, flags.pretty === true);
    }
    default:
      throw unknownAction("tools", action, ["list", "info", "schema"]);
  }
}

function described(tool: ToolDef, withSchema: boolean): Record<string, unknown> {
  const { inputSchema, outputSchema, ...rest } = describeTool(tool);
  return { ...rest, effect: tool.effect, ...(withSchema ? { inputSchema, outputSchema } : {}) };
}

/** The shape of the chat completions API: no `$schema`, parameters as they are. */
function openAiTool(tool: ToolDef): Record<string, unknown> {
  return { type: "function", function: functionOf(tool) };
}

function infoPage(tool: ToolDef): string {
  const { inputSchema, annotations } = describeTool(tool);
  const required = new Set(Array.isArray(inputSchema["required"]) ? inputSchema["required"] : []);
  const properties = (inputSchema["properties"] ?? {}) as Record<string, { description?: string }>;
  const parameters = Object.entries(properties).map(
    ([key, { description = "" }]) =>
      `  ${key}${required.has(key) ? " (required)" : ""}\n      ${description}\n`,
  );
  const hints = Object.entries(annotations ?? {}).filter(([, value]) => value === true);
  return `${tool.name}: ${tool.title}

${tool.description}

Effect: ${tool.effect}
Hints:  ${hints.map(([hint]) => hint.replace(/Hint$/, "")).join(", ") || "none"}

Parameters
${parameters.join("") || "  none\n"}
Its schema: camel-mcp tools schema ${tool.name} --pretty
Try it:     camel-mcp call ${tool.name} '{…}'
`;
}

function pick(found: readonly ToolDef[], name: string | undefined): ToolDef {
  if (name === undefined) throw usageError("Which tool? See camel-mcp tools list.");
  const tool = found.find((one) => one.name === name);
  if (tool !== undefined) return tool;
  const guess = closest(
    name,
    found.map((one) => one.name),
  );
  throw usageError(`There is no tool "${name}".${guess === undefined ? "" : ` Did you mean "${guess}"?`}`);
}

function firstSentence(text: string): string {
  return text.split(/(?<=\.)\s/)[0] ?? "";
}
