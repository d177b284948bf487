import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { newId } from "../shared/ids.ts";
import { camelOptions, unknownAction, usageError } from "./options.ts";

/** `checkpoint list [PATH] | show ID [PATH…] | restore ID [PATH…]`: the checkpoint tool from the shell, policy included. */
export async function checkpoint(context: CommandContext): Promise<number> {
  const { flags, agentId } = context;
  const args = argsOf(context);
  const camel = await createCamel({ ...camelOptions(context), workspace: flags.workspace ?? process.cwd() });
  const result = await camel.dispatcher.call({
    id: newId("call"),
    name: "checkpoint",
    args,
    caller: { agentId, depth: 0, client: "cli", transport: "cli", sessionId: newId("ses") },
    signal: new AbortController().signal,
  });
  await camel.close();
  if (flags.json === true) context.print(`${JSON.stringify(result.structured)}\n`);
  else if (result.isError === true) process.stderr.write(`${result.text}\n`);
  else context.print(`${result.text}\n`);
  return result.isError === true ? 1 : 0;
}

function argsOf({ words, flags }: CommandContext): Record<string, unknown> {
  const [action = "list", first, ...rest] = words;
  if (action === "list") return { action, path: first, limit: 100 };
  if (action !== "show" && action !== "restore")
    throw unknownAction("checkpoint", action, ["list", "show", "restore"]);
  if (first === undefined)
    throw usageError(`checkpoint ${action}: which one? Give an id from camel-mcp checkpoint list.`);
  return { action, id: first, paths: rest, force: flags.force === true, dry_run: flags["dry-run"] === true };
}
