import { CamelError } from "../../../shared/errors.ts";
import type { NestedResult } from "../../context.ts";
import type { StrategyOf } from "../definition.ts";
import { getPath } from "../json-path.ts";
import { asText, fillJson } from "../template.ts";
import { textParameter, textParameters } from "../text-parameter.ts";
import type { Engine, Run } from "./strategy.ts";

/** A step that calls a tool that calls a tool ends somewhere. */
export const DEEPEST_CALL = 6;

interface StepResult {
  id: string;
  tool: string;
  output: string;
  json: unknown;
}

export const composite: Engine = {
  // Each step passes the whole pipeline on its own; the tool itself touches nothing.
  foresee: () => Promise.resolve({ touches: {}, outside: [] }),

  async execute(run) {
    const { strategy } = run.definition;
    if (strategy.type !== "composite") throw new CamelError("internal", "not a composite tool");
    const { context } = run;
    if (context.caller.depth >= DEEPEST_CALL) {
      throw new CamelError("limit_reached", `${run.definition.name} is called ${DEEPEST_CALL} levels deep.`, {
        next: "Let fewer tools call each other.",
      });
    }
    const done: StepResult[] = [];
    for (const [index, step] of strategy.steps.entries()) {
      const id = stepId(strategy, index);
      if (run.signal.aborted) throw stepFailed(run, id, "the time was over", done);
      context.progress({ progress: index, total: strategy.steps.length, message: step.tool_name });
      const result = await context.callTool(step.tool_name, argumentsOf(run, strategy, index, done), {
        approved: run.isApproved,
        signal: run.signal,
      });
      if (result.isError === true) throw stepFailed(run, id, result.text, done);
      done.push({ id, tool: step.tool_name, output: outputOf(result), json: jsonOf(result) });
    }
    const last = done.at(-1);
    return {
      text: last?.output ?? "",
      structured: {
        output: last?.output ?? "",
        steps: done.map(({ id, tool, output }) => ({ id, tool, output })),
      },
    };
  },
};

export function stepId(strategy: StrategyOf<"composite">, index: number): string {
  const step = strategy.steps[index];
  return step?.id ?? step?.tool_name ?? String(index);
}

/** With an override that; else the text before it goes to the tool's one text parameter. */
function argumentsOf(
  run: Run,
  strategy: StrategyOf<"composite">,
  index: number,
  done: readonly StepResult[],
): unknown {
  const step = strategy.steps[index];
  const previous = done.at(-1)?.output ?? inputText(run.input);
  const lookup = (name: string): unknown => valueOf(name, run.input, previous, done);
  const override = step?.input_override;
  const tool = run.context.dynamicTools.known(step?.tool_name ?? "", run.context.caller);
  if (override !== undefined && typeof override !== "string") {
    const isText = tool === undefined ? () => false : textParameters(tool);
    // A number that a step gave is text where the next one wants text.
    return Object.fromEntries(
      Object.entries(override).map(([name, template]) => {
        const value = fillJson(template, lookup);
        return [name, isText(name) ? asText(value) : value];
      }),
    );
  }
  // Nothing came in, and the first tool needs nothing.
  if (override === undefined && done.length === 0 && Object.keys(run.input).length === 0) return {};
  const text = override === undefined ? previous : asText(fillJson(override, lookup));
  const parameter = tool === undefined ? "input" : (textParameter(tool) ?? "input");
  return { [parameter]: text };
}

function inputText(input: Record<string, unknown>): string {
  return typeof input["input"] === "string" ? input["input"] : JSON.stringify(input);
}

function valueOf(
  name: string,
  input: Record<string, unknown>,
  previous: string,
  done: readonly StepResult[],
): unknown {
  if (name === "prev") return previous;
  const [head = "", id = "", kind, ...rest] = name.split(".");
  if (head === "steps") {
    const step = done.find((one) => one.id === id);
    if (kind === undefined || kind === "text" || kind === "output") return step?.output ?? "";
    // `steps.a.json.path` and, shorter, `steps.a.path`.
    const path = kind === "json" ? rest : [kind, ...rest];
    return path.length === 0 ? step?.json : getPath(step?.json, path.join("."));
  }
  if (name === "input" && !Object.hasOwn(input, "input")) return input;
  return getPath(input, name.startsWith("input.") ? name.slice("input.".length) : name);
}

function outputOf(result: NestedResult): string {
  const output = result.structured?.["output"];
  return typeof output === "string" ? output : result.text;
}

/** What a step gave, as data: JSON in its output, else its structured result. */
function jsonOf(result: NestedResult): unknown {
  try {
    return JSON.parse(outputOf(result)) as unknown;
  } catch {
    return result.structured;
  }
}

function stepFailed(run: Run, id: string, why: string, done: readonly StepResult[]): CamelError {
  const before = done.map((step) => `${step.id}: ${step.output.slice(0, 1_000)}`).join("\n");
  return new CamelError(
    "tool_failed",
    `${run.definition.name}: step "${id}" failed: ${why}${before === "" ? "" : `\nThe steps before it gave:\n${before}`}`,
    {
      next: "Correct the input or that step; what the earlier steps did is done.",
      details: {
        step: id,
        steps: done.map(({ id: name, tool, output }) => ({ id: name, tool, output: output.slice(0, 4_000) })),
      },
    },
  );
}
