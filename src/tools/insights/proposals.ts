import { shapeOf, type AgentFigures, type AlikeCalls } from "../../stores/insights.ts";

/** A need that comes up again and again without a tool of its own, and a definition to start from. */
export interface Proposal {
  why: string;
  count: number;
  /** `tool_create {"action": "create", "definition": …}` takes it as it is. */
  definition: {
    name: string;
    description: string;
    input_schema: Record<string, unknown>;
    strategy: Record<string, unknown>;
  };
}

/** So often must something come up before a tool for it is proposed. */
export const OFTEN = 3;

/** A mistake of the caller, or a limit somebody set: another tool would change nothing. */
const NO_GAP =
  /^Error \((?:invalid_input|denied_by_policy|approval_\w+|blocked_by_hook|rate_limited|limit_reached|cancelled)\)/;

export function proposalsOf({ tools, unknownTools, failures, requests }: AgentFigures): Proposal[] {
  const often = (calls: Record<string, AlikeCalls>): AlikeCalls[] =>
    Object.values(calls)
      .filter(({ count }) => count >= OFTEN)
      .sort((a, b) => b.count - a.count);
  const taken = new Set(Object.keys(tools));
  const name = (text: string): string => {
    const free = freeName(text, taken);
    taken.add(free);
    return free;
  };
  const missing = often(unknownTools).map((calls): Proposal => {
    const what = `what a tool called "${calls.tool}" is asked for`;
    return {
      why: `"${calls.tool}" was called ${calls.count} times and doesn't exist.`,
      count: calls.count,
      definition: answered(
        name(calls.tool),
        `Does ${what}.`,
        `Do ${what}, with the input as its arguments.`,
        calls,
      ),
    };
  });
  const failing = often(failures)
    .filter(({ error }) => !NO_GAP.test(error))
    .map((calls): Proposal => {
      const said = calls.error.split("\n")[0] ?? "";
      return {
        why: `${calls.tool} failed ${calls.count} times in the same way: ${said}`,
        count: calls.count,
        definition: answered(
          name(`${calls.tool}_instead`),
          `Does what ${calls.tool} was called for when it failed with: ${said.slice(0, 200)}`,
          `Do what the tool ${calls.tool} is called for, with the input as its arguments, another way than it: it fails with ${said}`,
          calls,
        ),
      };
    });
  const repeated = often(requests).flatMap((calls): Proposal[] => {
    const words = fixedWords(calls.args);
    // `{}`, `{"action":"list"}` or a file's name alone are nothing to make a tool of.
    if (words.length < FEWEST_WORDS) return [];
    return [
      {
        why: `${calls.tool} was called ${calls.count} times like this: ${JSON.stringify(calls.args).slice(0, 300)}`,
        count: calls.count,
        definition: shortened(name(`${calls.tool}_${words.slice(0, 4).join("_")}`), calls),
      },
    ];
  });
  return [...missing, ...failing, ...repeated];
}

const FEWEST_WORDS = 2;

/** The words that all requests of a shape have in common. What is done is in the tool's name already. */
function fixedWords(args: Record<string, unknown>): string[] {
  const { action: _action, ...rest } = args;
  const words: string[] = [];
  JSON.stringify(shapeOf(rest), (_key, value: unknown) => {
    if (typeof value === "string")
      words.push(...value.split(" ").filter((word) => !["", "…"].includes(word)));
    return value;
  });
  return words;
}

/** The runner does it, or the caller is told to: a start until somebody knows a program or an address for it. */
function answered(
  name: string,
  description: string,
  prompt: string,
  { args }: AlikeCalls,
): Proposal["definition"] {
  const names = Object.keys(args).filter((one) => PARAMETER.test(one));
  return {
    name,
    description,
    input_schema: inputSchema(args, names.length === 0 ? ["input"] : names),
    strategy: { type: "llm", system_prompt: prompt },
  };
}

/** The same call, with what changes from time to time as parameters. */
function shortened(name: string, { tool, args, varying }: AlikeCalls): Proposal["definition"] {
  const parameters = Object.keys(args).filter(
    (one) => PARAMETER.test(one) && (varying.includes(one) || isIncomplete(args[one])),
  );
  const override = Object.fromEntries(
    Object.entries(args).map(([one, value]) => [one, parameters.includes(one) ? `{{input.${one}}}` : value]),
  );
  return {
    name,
    description: `Calls ${tool} with ${JSON.stringify(override)}.`.slice(0, 500),
    input_schema: inputSchema(args, parameters),
    strategy: { type: "composite", steps: [{ tool_name: tool, input_override: override }] },
  };
}

const PARAMETER = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** The log leaves secrets out and cuts what is long; braces would be taken for placeholders. */
function isIncomplete(value: unknown): boolean {
  return /\[redacted\]|\[deep\]|… \(\d+ characters\)|\{\{/.test(JSON.stringify(value ?? null));
}

function inputSchema(args: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: typeOf(args[name]) }])),
    required: names,
  };
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  return type === "number" || type === "boolean" || (type === "object" && value !== null) ? type : "string";
}

const LONGEST_NAME = 49;

function freeName(text: string, taken: ReadonlySet<string>): string {
  const plain = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+|_+$/g, "");
  const name = (plain.length < 3 ? `tool_${plain || "new"}` : plain).slice(0, LONGEST_NAME);
  for (let index = 2; ; index++) {
    const tried = index === 2 ? name : `${name.slice(0, LONGEST_NAME - 4)}_${index - 1}`;
    if (!taken.has(tried)) return tried;
  }
}
