import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { describeTool } from "../server/mcp.ts";
import { newId } from "../shared/ids.ts";
import { closest } from "../shared/glob.ts";
import { camelOptions, usageError } from "./options.ts";

export async function tools(context: CommandContext): Promise<number> {
  const [action = "list", name] = context.words;
  const camel = await createCamel(camelOptions(context));
  const caller = {
    agentId: context.agentId,
    depth: 0,
    client: "cli",
    transport: "cli",
    sessionId: newId("ses"),
  } as const;
  await camel.refresh();
  const found = camel.dispatcher.list(caller);
  if (action === "list") {
    context.print(
      context.flags.json === true
        ? `${JSON.stringify(
            found.map((tool) => describeTool(tool)),
            null,
            2,
          )}\n`
        : found
            .map(
              (tool) =>
                `${tool.name.padEnd(20)} ${tool.effect.padEnd(9)} ${tool.description.split(/(?<=\.)\s/)[0] ?? ""}\n`,
            )
            .join(""),
    );
    return 0;
  }
  if (action !== "schema") throw usageError(`tools: "${action}" is not an action. Use list or schema NAME.`);
  const tool = found.find((one) => one.name === name);
  if (tool === undefined) {
    const guess = closest(
      name ?? "",
      found.map((one) => one.name),
    );
    throw usageError(
      `There is no tool "${name ?? ""}".${guess === undefined ? "" : ` Did you mean "${guess}"?`}`,
    );
  }
  context.print(
    `${JSON.stringify(describeTool(tool).inputSchema, null, context.flags.pretty === true ? 2 : undefined)}\n`,
  );
  return 0;
}
