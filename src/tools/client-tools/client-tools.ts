import { resolve } from "node:path";
import { z } from "zod";
import type { Config } from "../../config/schema.ts";
import { canonicalJson } from "../../shared/canonical.ts";
import { CamelError } from "../../shared/errors.ts";
import { createInputParser, inputSchemaProblems, propertiesOf } from "../dynamic/json-schema.ts";
import type { ToolDef, ToolOutput } from "../tool.ts";
import { argumentProblems, argumentVariables } from "./environment.ts";

type Definition = Config["clientTools"][number];

/** The user's own scripts as tools, from `clientTools` in the config. */
export function createClientTools(
  definitions: readonly Definition[],
  taken: ReadonlySet<string>,
  env: NodeJS.ProcessEnv,
): { tools: ToolDef[]; warnings: string[] } {
  const warnings: string[] = [];
  const names = new Set(taken);
  const tools: ToolDef[] = [];
  for (const definition of definitions) {
    const { name } = definition;
    const inputSchema = definition.schema ?? { type: "object", properties: definition.properties ?? {} };
    const problems = inputSchemaProblems(inputSchema);
    if (names.has(name)) {
      warnings.push(`clientTools: "${name}" is ignored: there is a tool of that name already.`);
    } else if (problems.length > 0) {
      warnings.push(`clientTools: "${name}" is ignored: ${problems.join("; ")}.`);
    } else {
      names.add(name);
      if (definition.handler.injectArgsAs !== "argv")
        for (const problem of argumentProblems(Object.keys(propertiesOf(inputSchema)), env))
          warnings.push(`clientTools: in "${name}", ${problem}.`);
      tools.push(asTool(definition, inputSchema, env));
    }
  }
  return { tools, warnings };
}

function asTool(
  definition: Definition,
  inputSchema: Record<string, unknown>,
  env: NodeJS.ProcessEnv,
): ToolDef {
  const { name, description, handler, cwd, timeoutSeconds, outputBytes } = definition;
  const takesArgument = handler.injectArgsAs !== "env";
  const script = takesArgument ? withArgument(handler.bash) : handler.bash;
  return {
    name,
    title: name,
    description: description ?? name,
    tier: "core",
    schema: z.looseObject({}),
    inputSchema,
    parse: createInputParser(name, inputSchema),
    effect: "exec",
    fingerprint: canonicalJson(definition),
    limits: { timeoutSeconds },
    touches: () => ({ commands: [{ argv: ["bash", "-c", script] }] }),
    approvalPrompt: (input) => `runs: ${handler.bash}\nwith: ${JSON.stringify(input)}`,
    async execute(input, context): Promise<ToolOutput> {
      const { runProcesses } = await import("../dynamic/strategies/process.ts");
      const workspace = await context.workspace("read");
      const variables = handler.injectArgsAs === "argv" ? {} : argumentVariables(input, env);
      const argument = JSON.stringify(input);
      if (Object.values(variables).some((value) => value.includes("\0"))) {
        throw new CamelError("invalid_input", "An argument contains a NUL character.", {
          next: "Send it as plain text.",
        });
      }
      const result = await runProcesses(
        [{ path: "/bin/bash", args: ["-c", script, name, ...(takesArgument ? [argument] : [])] }],
        {
          cwd: cwd === undefined ? workspace : resolve(workspace, cwd),
          env: { ...definedOnly(env), ...variables },
          maxBytes: outputBytes,
          clock: context.clock,
          signal: context.signal,
        },
      );
      const [status] = result.statuses;
      if (status === 0 && result.stopped === undefined)
        return { text: result.stdout === "" ? "(no output)" : result.stdout };
      const how =
        result.stopped === "overflow"
          ? `wrote more than ${outputBytes} bytes and was stopped`
          : `ended with ${status}`;
      const said = [result.stderr, result.stdout].filter((text) => text.trim() !== "").join("\n");
      throw new CamelError(
        "tool_failed",
        `${name} ${how}.${said === "" ? "" : `\n${said.slice(0, 4_000)}`}`,
        {
          next: "Correct the arguments if the output says so; else tell the user.",
        },
      );
    },
  };
}

/**
 * A script that says where its argument goes is left as it is; any other gets it at the end of its last command, quoted,
 * so that it stays one whatever is in it. On a line of its own bash would run it.
 */
function withArgument(script: string): string {
  const read = script.replace(/'[^']*'/g, "");
  return /\$(?:[1@*]|\{[1@*])/.test(read) ? script : `${script.trimEnd()} "$@"`;
}

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
