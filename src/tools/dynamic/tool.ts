import { z } from "zod";
import { CamelError } from "../../shared/errors.ts";
import type { ToolContext } from "../context.ts";
import { defineTool, type ToolOutput, type Touches } from "../tool.ts";
import { isDefinition } from "./usual-spellings.ts";

export const ACTIONS = [
  "create",
  "list",
  "delete",
  "export",
  "import",
  "run",
  "search",
  "show",
  "update",
  "versions",
  "rollback",
  "test",
  "propose",
] as const;
export type Action = (typeof ACTIONS)[number];
const TAKES_FIELDS: readonly Action[] = ["create", "update", "propose", "run"];

const jsonObject = z.record(z.string(), z.unknown());
const objectOrText = z.union([z.string(), jsonObject], "expected an object");

const named = {
  action: z.enum(ACTIONS),
  name: z.string().nullable().optional(),
  description: z.string().nullable().optional(),
  strategy_hint: z.string().nullable().optional(),
  definition: objectOrText.nullable().optional(),
  json: z
    .union(
      [z.string(), jsonObject, z.array(jsonObject)],
      "expected JSON text, an object or an array of objects",
    )
    .nullable()
    .optional(),
  input: objectOrText.nullable().optional(),
  query: z.string().nullable().optional(),
  version: z.number().int().min(1).nullable().optional(),
};

// Loose: the fields of a definition, or the arguments of the tool to run, may stand beside the action.
const schema = z.looseObject(named).overwrite((input) => {
  if (input.definition == null && TAKES_FIELDS.includes(input.action)) return input;
  // What a host adds to every call would make another call of it, and an approval is bound to one.
  const kept = Object.entries(input).filter(([name]) => Object.hasOwn(named, name));
  return Object.fromEntries(kept) as typeof input;
});

export type ToolCreateInput = z.output<typeof schema>;

/** Written by hand: the definition's form is told in words, because hosts trip over open-ended object schemas. */
const inputSchema = {
  type: "object",
  properties: {
    action: {
      type: "string",
      enum: [...ACTIONS],
      description:
        "create, update: make or change a tool. run: call one by name. list, search, show, versions: look. test: run its examples. rollback: an earlier version. propose: a better variant. export, import: exchange. delete.",
    },
    name: { type: "string", description: "The tool's name; for all but create, list, search and import." },
    description: {
      type: "string",
      description: "create without a definition: what the tool should do. You get a form to fill in.",
    },
    strategy_hint: {
      type: "string",
      description: "create without a definition: shell, http, llm, composite or js.",
    },
    definition: {
      type: "object",
      description: "create, update, propose: the whole tool.",
      properties: {
        name: { type: "string", description: "Small letters, digits, underscores; 3 to 49." },
        description: { type: "string", description: "What it does, for whoever may call it." },
        strategy: {
          type: "object",
          description:
            'One of {type: "shell", command_template: "wc -l {{file}}"} or {type: "shell", pipeline: ["…", "…"]}; {type: "http", method, url, headers?, query?, body?, json_path?}; {type: "llm", system_prompt}; {type: "composite", steps: [{tool_name, id?, input_override?}]}; {type: "js", source, tools?}.',
          properties: {
            type: { type: "string", enum: ["shell", "http", "llm", "composite", "js"] },
          },
          required: ["type"],
        },
        input_schema: {
          type: "object",
          description: "JSON Schema of the parameters. Default: one text for each placeholder.",
          properties: { type: { type: "string", enum: ["object"] } },
        },
        examples: {
          type: "array",
          description: "Run when the tool is made; have to pass. [{input, expect: {contains | equals}}]",
          items: {
            type: "object",
            properties: { input: { type: "object", properties: { input: { type: "string" } } } },
          },
        },
        envelope: {
          type: "object",
          description:
            "{hosts, paths: {read, write}, network}: what it may reach beyond reading the workspace.",
          properties: { network: { type: "boolean" } },
        },
        sandbox: { type: "string", enum: ["required", "best-effort", "off"] },
        timeout_seconds: { type: "number" },
        scope: { type: "string", enum: ["session", "project", "global"] },
      },
      required: ["name", "description", "strategy"],
    },
    json: { type: "string", description: "import: one exported definition or an array of them, as JSON." },
    input: {
      type: "object",
      description:
        'run: the arguments of the tool. For a tool with the single text parameter: {"input": "text"}.',
      properties: { input: { type: "string" } },
    },
    query: { type: "string", description: "search: words to look for in names and descriptions." },
    version: { type: "integer", description: "rollback, show, export: which version." },
  },
  required: ["action"],
};

/** Nothing is required: some clients hold an error's structured content against this too. */
const output = z.object({ action: z.string().optional() }).loose();

const CHANGES: readonly Action[] = ["create", "delete", "import", "update", "rollback", "propose"];

export const toolCreate = defineTool({
  name: "tool_create",
  title: "Make and use tools",
  description:
    "Makes new tools that stay: a command, an HTTP request, a prompt, a chain of tools or sandboxed JavaScript. A new tool is usable at once, by its name or with action run.",
  tier: "core",
  schema,
  output,
  inputSchema,
  effect: "extend",
  // What it runs has its own time limit, and a person may have to be asked inside it.
  limits: { timeoutSeconds: 600 },
  effectOf: (input) => (changes(input) ? "extend" : "read"),
  async touches(input, context): Promise<Touches> {
    if (!definesTool(input)) return {};
    mustBeEnabled(context);
    mustBeRoot(input, context);
    const { foreseen } = await import("./plan.ts");
    return foreseen(input, context);
  },
  async approvalPrompt(input, context) {
    if (!definesTool(input)) {
      const version = input.version == null ? "" : `, version ${input.version}`;
      return `${input.action} the tool ${JSON.stringify(input.name ?? "")}${version}`;
    }
    const { cards } = await import("./plan.ts");
    return cards(input, context);
  },
  async execute(input, context): Promise<ToolOutput> {
    mustBeEnabled(context);
    if (changes(input)) mustBeRoot(input, context);
    const { perform } = await import("./actions/index.ts");
    return perform(input, context);
  },
});

/** Without a definition `create` only answers with a form. */
function changes(input: ToolCreateInput): boolean {
  if (input.action === "create") return definesTool(input);
  return CHANGES.includes(input.action);
}

function definesTool(input: ToolCreateInput): boolean {
  const { action } = input;
  if (action === "import") return true;
  return (
    (action === "create" || action === "update" || action === "propose") && definitionOf(input) !== undefined
  );
}

/** What was sent as a definition, also where its fields stand beside the action. */
export function definitionOf(input: ToolCreateInput): unknown {
  if (input.definition != null) return input.definition;
  const { action: _, json: _json, input: _input, query: _query, version: _version, ...fields } = input;
  return isDefinition(fields) ? fields : undefined;
}

function mustBeEnabled(context: ToolContext): void {
  if (context.settings().dynamicTools.enabled) return;
  throw new CamelError("denied_by_policy", "Tools made by agents are switched off (dynamicTools.enabled).", {
    next: "Work with the tools there are, or tell the user.",
  });
}

/** A tool, a job or a sandboxed script must not be able to make or change tools. */
function mustBeRoot(input: ToolCreateInput, context: ToolContext): void {
  if (context.caller.depth === 0) return;
  throw new CamelError(
    "denied_by_policy",
    `Only a host's own call may ${input.action} tools, not one made by a tool.`,
    {
      next: "Let the agent that talks to the user do it.",
    },
  );
}
