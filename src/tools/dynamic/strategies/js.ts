import { createHash } from "node:crypto";
import { systemClock } from "../../../shared/clock.ts";
import { CamelError, messageOf } from "../../../shared/errors.ts";
import type { StrategyOf } from "../definition.ts";
import { DEEPEST_CALL } from "./composite.ts";
import { checkSyntax, runInSandbox, type SandboxSource } from "./js-pool.ts";
import type { Engine, Run } from "./strategy.ts";

const MOST_COMPUTING_MS = 10_000;
const LONGEST_OUTPUT = 500_000;
const LONGEST_ANSWER = 500_000;

/** Source that an agent wrote, in an engine that has nothing but the language itself. */
export const js: Engine = {
  foresee: () => Promise.resolve({ touches: {}, outside: [] }),

  async execute(run) {
    const strategy = jsOf(run);
    if (run.context.caller.depth >= DEEPEST_CALL)
      throw new CamelError("limit_reached", `${run.definition.name} is called ${DEEPEST_CALL} levels deep.`, {
        next: "Let fewer tools call each other.",
      });
    const sha256 = createHash("sha256").update(strategy.source).digest("hex");
    if (sha256 !== run.version.sha256)
      throw new CamelError(
        "damaged",
        `The source of ${run.definition.name} isn't the one that was approved.`,
        {
          next: "Make the tool again.",
        },
      );
    const json = await runInSandbox(
      {
        ...asModule(strategy),
        input: JSON.stringify(run.input),
        tools: strategy.tools,
        memoryBytes: strategy.memory_mb * 2 ** 20,
        budgetMs: Math.min(run.definition.timeout_seconds * 1000, MOST_COMPUTING_MS),
        maxCalls: strategy.max_calls,
        maxOutput: LONGEST_OUTPUT,
      },
      run.context.caller.depth,
      {
        clock: run.context.clock,
        signal: run.signal,
        call: (name, args) => callTool(run, strategy, name, args),
      },
    );
    // What JSON can't say (a function, nothing at all) is nothing.
    const { value } = JSON.parse(json) as { value?: unknown };
    if (typeof value === "string") return { text: value, structured: { output: value } };
    const output = JSON.stringify(value ?? null);
    return {
      text: output,
      structured: { output, value: value ?? null, ...(value === undefined ? { notice: NOTHING } : {}) },
    };
  },
};

const NOTHING = "The source returned nothing; a function body needs a return.";

function jsOf(run: Run): StrategyOf<"js"> {
  const { strategy } = run.definition;
  if (strategy.type !== "js") throw new CamelError("internal", "not a js tool");
  return strategy;
}

/** Said when the tool is made: types that can't be taken off, and what isn't JavaScript. */
export async function checkSource(strategy: StrategyOf<"js">): Promise<void> {
  try {
    await checkSyntax(asModule(strategy), { clock: systemClock, signal: new AbortController().signal });
  } catch (error) {
    throw new CamelError("invalid_input", `The source can't be read: ${messageOf(error)}.`, {
      next: "Correct the source. It is a module with a default-exported function, or the body of a function (input, tools).",
      cause: error,
    });
  }
}

/** A module whose default export is the function to call; a mere function, or the body of one, is made one. */
function asModule({ language, source }: StrategyOf<"js">): SandboxSource {
  const isModule = /(?:^|[;}])\s*export(?:\s*[{*]|\s+(?:default|async|function|class|const|let|var)\b)/m.test(
    source,
  );
  if (isModule) return { language, source };
  return {
    language,
    source: `export default async function (input, tools) {\n${source}\n}`,
    // As a body, a function that nobody calls would give nothing.
    ...(FUNCTION.test(source) ? { asFunction: `export default (\n${source.replace(/[;\s]+$/, "")}\n)` } : {}),
  };
}

/** Begins like one function: `function f(input) {…}` or `(input) => …`. */
const FUNCTION =
  /^\s*(?:\/\/.*\n\s*|\/\*[\s\S]*?\*\/\s*)*(?:async\s+)?(?:function\b|\([^()]*\)\s*(?::[^=]*)?=>|[A-Za-z_$][\w$]*\s*=>)/;

/** Only the tools that the definition names, through the dispatcher like any other call. */
async function callTool(run: Run, strategy: StrategyOf<"js">, name: string, json: string): Promise<string> {
  if (!strategy.tools.includes(name))
    return JSON.stringify({ error: `the definition doesn't name the tool "${name.slice(0, 100)}"` });
  try {
    const args: unknown = JSON.parse(json);
    const result = await run.context.callTool(name, args, { approved: run.isApproved, signal: run.signal });
    if (result.isError === true) return JSON.stringify({ error: result.text.slice(0, LONGEST_ANSWER) });
    const output = result.structured?.["output"];
    const answer = JSON.stringify({
      text: result.text,
      output: typeof output === "string" ? output : result.text,
      data: result.structured ?? null,
    });
    return answer.length > LONGEST_ANSWER
      ? JSON.stringify({ error: "the tool's answer is too long" })
      : answer;
  } catch (error) {
    return JSON.stringify({ error: messageOf(error) });
  }
}
