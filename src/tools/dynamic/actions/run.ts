import { CamelError, ERROR_CODES, type ErrorCode } from "../../../shared/errors.ts";
import { isObject } from "../../../shared/is-object.ts";
import type { NestedResult, ToolContext } from "../../context.ts";
import type { ToolDef, ToolOutput } from "../../tool.ts";
import type { Example } from "../definition.ts";
import { noSuchTool } from "../plan.ts";
import { propertiesOf } from "../json-schema.ts";
import { activeVersion, type StoredTool } from "../stored.ts";
import type { ToolCreateInput } from "../tool.ts";

/** The caller's own call, spelled differently: the same pipeline, under the tool's own name, at the same depth. */
export async function runTool(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const name = input.name ?? "";
  const library = await context.dynamicTools.library();
  const stored = library.find(name, context.caller);
  if (stored === undefined) throw noSuchTool(name, context.dynamicTools.usable(context.caller));
  const result = await context.callTool(name, argumentsOf(input, stored), {
    own: true,
    signal: context.signal,
  });
  if (result.isError === true) throw asError(result);
  // A tool's structured result is complete on its own; saying the text once more would only use up the caller's room.
  const answer = result.structured ?? { output: result.text };
  return { text: result.text, structured: { ...answer, action: "run", name } };
}

/** As `input`, under the names that models give it, or beside the action where the tool's own parameters say so. */
function argumentsOf(input: ToolCreateInput, stored: StoredTool): unknown {
  const given = input.input ?? input["arguments"] ?? input["args"];
  if (given != null) return given;
  const names = Object.keys(propertiesOf(activeVersion(stored).inputSchema));
  return Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(input, name) && !OURS.has(name) ? [[name, input[name]]] : [])),
  );
}

const OURS = new Set(["action", "name", "input"]);

export async function testTool(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const name = input.name ?? "";
  const library = await context.dynamicTools.library();
  const stored = library.find(name, context.caller);
  if (stored === undefined) throw noSuchTool(name);
  const { examples } = activeVersion(stored).definition;
  if (examples.length === 0) {
    throw new CamelError("not_found", `"${name}" has no examples to test with.`, {
      next: "Update it with examples: [{input, expect: {contains}}].",
    });
  }
  const results = await runExamples(name, examples, context);
  const failed = results.filter((one) => one.problem !== undefined).length;
  return {
    text: [
      `${results.length - failed} of ${results.length} examples pass.`,
      ...results.map(
        (one, index) => `${index + 1}. ${one.problem === undefined ? "passes" : `fails: ${one.problem}`}`,
      ),
    ].join("\n"),
    structured: { action: "test", name, passed: results.length - failed, failed, results },
  };
}

export interface ExampleResult {
  input: Example["input"];
  output: string;
  problem?: string;
}

/** Runs examples for real, through the pipeline; `trial` is a version that isn't active yet. */
export async function runExamples(
  name: string,
  examples: readonly Example[],
  context: ToolContext,
  trial?: ToolDef,
): Promise<ExampleResult[]> {
  const results: ExampleResult[] = [];
  for (const example of examples) {
    const result = await context.callTool(name, example.input, {
      own: true,
      signal: context.signal,
      ...(trial === undefined ? {} : { trial }),
    });
    const problem = problemWith(result, example);
    results.push({
      input: example.input,
      output: result.text.slice(0, 1_000),
      ...(problem === undefined ? {} : { problem }),
    });
  }
  return results;
}

function problemWith(result: NestedResult, { expect = {} }: Example): string | undefined {
  const failed = result.isError === true;
  if (failed !== (expect.error ?? false))
    return failed ? result.text.slice(0, 1_000) : "it should fail and doesn't";
  const main = result.structured?.["output"];
  const output = typeof main === "string" ? main : result.text;
  if (expect.equals !== undefined && output.trim() !== expect.equals.trim())
    return `it gives ${JSON.stringify(output.trim().slice(0, 200))} and not ${JSON.stringify(expect.equals.slice(0, 200))}`;
  if (expect.contains !== undefined && !result.text.includes(expect.contains))
    return `${JSON.stringify(expect.contains.slice(0, 200))} isn't in ${JSON.stringify(result.text.slice(0, 200))}`;
  return undefined;
}

/** The inner call's error as this one's own, so that the caller sees one message and not two. */
export function asError(result: NestedResult): CamelError {
  const error = result.structured?.["error"];
  const { code, message, next, details }: Record<string, unknown> = isObject(error) ? error : {};
  return new CamelError(
    typeof code === "string" && Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : "tool_failed",
    typeof message === "string" ? message : result.text,
    {
      ...(typeof next === "string" ? { next } : {}),
      ...(isObject(details) ? { details } : {}),
    },
  );
}
