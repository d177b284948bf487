import type { CommandContext } from "../cli.ts";
import type { Call, ToolResult } from "../pipeline/call.ts";
import { newId } from "../shared/ids.ts";
import type { Caller } from "../tools/context.ts";
import { depthOf } from "./options.ts";

/** Who calls from a shell. Inside a job's run that is the run, with no more rights than it has. */
export function shellCaller(agentId: string): Caller {
  return {
    agentId,
    depth: depthOf(process.env),
    client: "cli",
    transport: "cli",
    sessionId: newId("ses"),
  };
}

export function shellCall({ agentId }: Pick<CommandContext, "agentId">, name: string, args: unknown): Call {
  return {
    id: newId("call"),
    name,
    args,
    caller: shellCaller(agentId),
    signal: new AbortController().signal,
  };
}

/** What a command has to tell: the facts for programs (`--json`), the words for a person. */
export function say({ flags, print }: CommandContext, facts: unknown, words: string): void {
  print(flags.json === true ? `${JSON.stringify(facts)}\n` : words);
}

/** For a person: the answer on stdout, an error on stderr; `--json` for programs. Returns the exit code. */
export function printResult(
  { flags, print }: CommandContext,
  { text, structured, isError }: ToolResult,
): number {
  if (flags.json === true) print(`${JSON.stringify(structured ?? { text })}\n`);
  else if (isError === true) process.stderr.write(`${text}\n`);
  else print(`${text}\n`);
  return isError === true ? 1 : 0;
}
