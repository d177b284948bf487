import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import type { Call } from "../pipeline/call.ts";
import { messageOf } from "../shared/errors.ts";
import { readNamedFile, readStdin } from "./input.ts";
import { camelOptions, usageError } from "./options.ts";
import { shellCall } from "./shell-call.ts";

/** Through the same dispatcher and policy as a host's call. Exit 0 for a result, 1 for an error. */
export async function call(context: CommandContext): Promise<number> {
  const request = await callFromWords(context);
  const camel = await createCamel(camelOptions(context));
  const result = await camel.dispatcher.call(request);
  await camel.close();
  context.print(`${context.flags.json === true ? JSON.stringify(result, null, 2) : result.text}\n`);
  return result.isError === true ? 1 : 0;
}

/** `TOOL JSON`, `TOOL @file` or `TOOL -` (stdin). */
export async function callFromWords(context: CommandContext): Promise<Call> {
  const [name, given = "{}"] = context.words;
  if (name === undefined) throw usageError("Which tool? Give its name and its arguments as JSON.");
  const source =
    given === "-"
      ? await readStdin("the arguments as JSON")
      : given.startsWith("@")
        ? await readNamedFile(given.slice(1))
        : given;
  let args: unknown;
  try {
    // Windows editors and PowerShell put a mark before the text.
    args = JSON.parse(source.toString().replace(/^\uFEFF/, ""));
  } catch (error) {
    throw usageError(`The arguments are not JSON: ${messageOf(error)}.`);
  }
  return shellCall(context, name, args);
}
