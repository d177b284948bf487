import { CamelError, type ErrorCode } from "../../../shared/errors.ts";
import type { ToolContext } from "../../context.ts";
import type { ToolOutput } from "../../tool.ts";
import { STRATEGIES, type StrategyType } from "../definition.ts";
import { jsonIn } from "../json-in-text.ts";
import { rank } from "../search.ts";
import type { ToolCreateInput } from "../tool.ts";
import { asError } from "./run.ts";

/** A tool from a description: the runner writes the definition where there is one, else the caller gets the form. */
export async function derive(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const description = input.description?.trim() ?? "";
  if (description === "") {
    throw new CamelError(
      "invalid_input",
      "create needs a definition, or a description of what the tool should do.",
      {
        next: 'Send tool_create {"action": "create", "description": "…", "strategy_hint": "shell"} to get the form.',
      },
    );
  }
  const told = input.strategy_hint ?? input["strategy"] ?? input["type"];
  const hinted = typeof told === "string" ? told : undefined;
  const wanted = STRATEGIES.find((one) => one === hinted);
  const hint = wanted ?? (REACHES_THE_WEB.test(description) ? "http" : "shell");
  const form = formFor(description, hint, input.name ?? undefined);
  const runner = context.caller.depth === 0 ? await context.runner() : undefined;
  const task = `Write the definition of a tool as one JSON object and nothing else.\nThe tool: ${description}\nThe form:\n${JSON.stringify(form, null, 2)}\nRules:\n${RULES.join("\n")}`;
  let refused = "";
  for (let attempt = 0; runner !== undefined && attempt < MOST_ATTEMPTS; attempt += 1) {
    const { agentId, depth } = context.caller;
    const answer = await runner(`${task}${refused}`, { agentId, depth: depth + 1 }, context.signal);
    const definition = jsonIn(answer.text);
    if (definition === undefined) break;
    // Through the door again: what the runner wrote is judged like what anybody else wrote.
    const result = await context.callTool("tool_create", { action: "create", definition }, { own: true });
    if (result.isError !== true)
      return { text: result.text, structured: { ...result.structured, action: "create" } };
    const error = asError(result);
    if (!CORRECTABLE.includes(error.code)) throw error;
    refused = `\nYour last answer was refused: ${error.message} ${error.next ?? ""}\nIt was: ${JSON.stringify(definition)}`;
  }
  const library = await context.dynamicTools.library();
  const [closest] = rank(description, library.all(context.caller));
  const close =
    closest === undefined
      ? ""
      : `\nThe closest tool there is: ${closest.name}: ${closest.description}. If it does what you need, use it instead.`;
  return {
    text: `${unknownHint(wanted === undefined ? hinted : undefined)}${refused === "" ? "" : `The runner found no definition that can be used.${refused}\n`}Fill in this form and send it as tool_create {"action": "create", "definition": {…}}:\n${JSON.stringify(form, null, 2)}\n\nRules that are checked:\n${RULES.map((rule) => `- ${rule}`).join("\n")}${close}`,
    structured: {
      action: "create",
      form,
      rules: RULES,
      ...(closest === undefined ? {} : { closest: { name: closest.name, description: closest.description } }),
    },
  };
}

/** A definition that is wrong goes back to the runner with the reason, so often at most. */
const MOST_ATTEMPTS = 3;
const CORRECTABLE: readonly ErrorCode[] = ["invalid_input", "not_found", "already_exists", "tool_failed"];

/** Words of a wish that a request fulfils and not a program. */
const REACHES_THE_WEB =
  /https?:|\b(?:api|url|fetch|http|web|website|weather|endpoint|rest)\b|\.(?:com|org|net|io|dev|in)\b/i;

function unknownHint(hint: string | undefined): string {
  return hint === undefined
    ? ""
    : `"${hint.slice(0, 40)}" is no strategy; there are ${STRATEGIES.join(", ")} (a script for an interpreter is a shell command: "python3 script.py {{input}}").\n`;
}

const RULES = [
  "name: 3 to 49 characters, a small letter first, then small letters, digits, underscores; not the name of another tool.",
  "shell: no shell runs it. Each {{placeholder}} is one whole argument. ; & | > < $ and line breaks only inside quotes, backticks never. Several commands connected by pipes: pipeline as a list instead of command_template.",
  'shell: a value that begins with "-" is refused unless -- stands before the placeholder or it is listed in dash_values.',
  "shell: programs that aren't in the user's allowlist need the user's approval, once.",
  "http: only http and https; private, loopback and metadata addresses are refused. Credentials as secret://name in a header, never as text.",
  "composite: every step names an existing tool; {{input}}, {{prev}} and {{steps.ID.json.path}} may be used in input_override.",
  "js: the source ends with `export default function (input, tools) { … }` or is a function body with return; no files, no network; `input` is an object of the parameters; await tools.call(name, args) for the tools listed in `tools` gives {text, output, data}.",
  "input_schema: type object, no $ref; every placeholder is a required parameter or has a default. Without it each placeholder is a required text.",
  "examples are run when the tool is made, and have to pass.",
];

function formFor(description: string, hint: StrategyType, name: string | undefined): Record<string, unknown> {
  const strategies: Record<StrategyType, Record<string, unknown>> = {
    shell: { type: "shell", command_template: "PROGRAM --option {{input}}" },
    http: {
      type: "http",
      method: "GET",
      url: "https://HOST/path",
      query: { q: "{{input}}" },
      json_path: "data",
    },
    llm: { type: "llm", system_prompt: "What the model has to do with the input" },
    composite: {
      type: "composite",
      steps: [{ tool_name: "FIRST" }, { tool_name: "SECOND", input_override: "{{prev}}" }],
    },
    js: {
      type: "js",
      source: "export default function (input) {\n  return input.input.toUpperCase();\n}",
      tools: [],
    },
  };
  return {
    name: name ?? suggestedName(description),
    description,
    input_schema: {
      type: "object",
      properties: { input: { type: "string", description: "WHAT IT IS" } },
      required: ["input"],
    },
    strategy: strategies[hint],
    examples: [{ input: { input: "AN INPUT" }, expect: { contains: "A PART OF THE OUTPUT" } }],
    scope: "global",
  };
}

const FILLERS = new Set(
  "a an the that which tool using use uses with to for and or of from in on into files file".split(" "),
);

function suggestedName(description: string): string {
  const words = (description.toLowerCase().match(/[a-z][a-z0-9]*/g) ?? []).filter(
    (word) => !FILLERS.has(word),
  );
  const name = words.slice(0, 3).join("_").slice(0, 40);
  return name.length >= 3 ? name : "new_tool";
}
