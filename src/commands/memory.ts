import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import type { ToolResult } from "../pipeline/call.ts";
import { memoryIndexTool } from "../tools/memory/memory-index-tool.ts";
import { readStdin } from "./input.ts";
import { camelOptions, unknownAction, usageError } from "./options.ts";
import { progressBar } from "./progress-bar.ts";
import { printResult, shellCall } from "./shell-call.ts";

/** `memory search|get|add|list|reindex|stats`: the memory tools for people, through the same policy as a host's call. */
export async function memory(context: CommandContext): Promise<number> {
  const { flags } = context;
  const [action = "", ...words] = context.words;
  const { name, args } = await requestOf(action, words, flags);
  const camel = await createCamel({ ...camelOptions(context), tools: [memoryIndexTool] });
  const bar = progressBar(process.stderr);
  // Waiting for another process's lock uses timers that don't keep a server alive; a command stays until it's done.
  const alive = setInterval(() => {}, 60_000);
  const result = await camel.dispatcher
    .call({ ...shellCall(context, name, args), progress: (update) => bar.show(update) })
    .finally(() => clearInterval(alive));
  bar.clear();
  await camel.close();
  if (result.isError === true || flags.json === true) return printResult(context, result);
  return printResult(context, { ...result, text: await forPerson(action, words, result) });
}

async function requestOf(
  action: string,
  words: readonly string[],
  flags: CommandContext["flags"],
): Promise<{ name: string; args: Record<string, unknown> }> {
  const given = words.join(" ");
  switch (action) {
    case "search": {
      if (given === "") throw usageError("Search for what? camel-mcp memory search WORDS");
      const { file, since, until } = flags;
      const maxResults = flags.max === undefined ? undefined : Number(flags.max);
      if (Number.isNaN(maxResults)) throw usageError(`--max: "${flags.max}" is not a number.`);
      return { name: "memory_search", args: { query: given, maxResults, file, since, until } };
    }
    case "get": {
      const [, filePath = given, from, to] = /^(.*\.md)(?::(\d+)(?:-(\d+))?)?$/i.exec(given) ?? [];
      if (filePath === "") throw usageError("Which file? camel-mcp memory get FILE[:FROM[-TO]]");
      const first = from === undefined ? undefined : Number(from);
      const lines = to === undefined ? undefined : Number(to) - Number(from) + 1;
      return { name: "memory_get", args: { filePath, from: first, lines } };
    }
    case "add": {
      const text = given === "" || given === "-" ? (await readStdin("the note")).toString() : given;
      if (text.trim() === "") throw usageError("Add what? camel-mcp memory add TEXT, or the text on stdin.");
      return {
        name: "memory_write",
        args: {
          text,
          file: flags.file,
          heading: flags.heading,
          allowSecrets: flags["allow-secrets"] === true,
        },
      };
    }
    case "list":
      return { name: "memory_index", args: { action, pattern: given === "" ? undefined : given } };
    case "reindex":
    case "stats":
      return { name: "memory_index", args: { action } };
    default:
      throw unknownAction("memory", action, ["search", "get", "add", "list", "reindex", "stats"]);
  }
}

async function forPerson(action: string, words: readonly string[], result: ToolResult): Promise<string> {
  // hasColors also hears NO_COLOR.
  const paints = process.stdout.isTTY && process.stdout.hasColors();
  if (action !== "search" || !paints) return result.text;
  const { highlight } = await import("../tools/memory/search/highlight.ts");
  return highlight(result.text, words.join(" "), (word) => `\u001B[1;33m${word}\u001B[0m`);
}
