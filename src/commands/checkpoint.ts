import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { camelOptions, unknownAction, usageError } from "./options.ts";
import { printResult, shellCall } from "./shell-call.ts";

/** `checkpoint list [PATH] | show ID [PATH…] | restore ID [PATH…]`: the checkpoint tool from the shell, policy included. */
export async function checkpoint(context: CommandContext): Promise<number> {
  const call = shellCall(context, "checkpoint", argsOf(context));
  const workspace = context.flags.workspace ?? process.cwd();
  const camel = await createCamel({ ...camelOptions(context), workspace });
  const result = await camel.dispatcher.call(call);
  await camel.close();
  return printResult(context, result);
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
