import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { CamelError, toCamelError } from "../../shared/errors.ts";
import { closest } from "../../shared/glob.ts";
import type { ToolContext } from "../context.ts";
import type { Touches } from "../tool.ts";
import { checkDefinition, type CheckedDefinition } from "./check-definition.ts";
import { judgeArgv } from "./command-policy.ts";
import { parseDefinition, type Definition } from "./definition.ts";
import {
  approvalReasons,
  argvOf,
  card,
  commandTemplates,
  envelopeOf,
  widening,
  type Envelope,
} from "./envelope.ts";
import { activeVersion, type StoredTool } from "./stored.ts";
import { definitionOf, type ToolCreateInput } from "./tool.ts";
import { isDefinition } from "./usual-spellings.ts";

/** A tool or version about to be made: checked, with all it would be able to do and why that needs approval. */
export interface Plan extends CheckedDefinition {
  envelope: Envelope;
  reasons: string[];
  sha256: string | undefined;
  before: StoredTool | undefined;
}

/**
 * What policy and a person judged is what is then made: the plan of one call is worked out once, so that neither
 * the definition nor the program it was resolved to can change between the question and the answer.
 */
const planned = new WeakMap<ToolCreateInput, Promise<Plan[]>>();

export function plansFor(input: ToolCreateInput, context: ToolContext): Promise<Plan[]> {
  let plans = planned.get(input);
  if (plans === undefined) {
    plans = makePlans(input, context);
    planned.set(input, plans);
  }
  return plans;
}

async function makePlans(input: ToolCreateInput, context: ToolContext): Promise<Plan[]> {
  await context.dynamicTools.refresh();
  const definitions = definitionsIn(await wholeDefinition(input, context));
  const plans: Plan[] = [];
  for (const [index, one] of definitions.entries()) {
    try {
      const definition = parseDefinition(one);
      if (plans.some((plan) => plan.definition.name === definition.name))
        throw new CamelError("invalid_input", `"${definition.name}" is in the list twice.`, {
          next: "Send each tool once.",
        });
      plans.push(await planOne(input, definition, context));
    } catch (error) {
      throw definitions.length === 1 ? error : ofOne(index, error);
    }
  }
  return plans;
}

/** An update keeps what it doesn't name; only the parameters belong to the way in which the tool works. */
async function wholeDefinition(input: ToolCreateInput, context: ToolContext): Promise<ToolCreateInput> {
  const { action, name } = input;
  const given = definitionOf(input);
  const definition = typeof given === "string" ? parseJson(given) : given;
  if (action !== "update" || typeof definition !== "object" || definition === null) return input;
  const library = await context.dynamicTools.library();
  const named: unknown = "name" in definition ? definition.name : undefined;
  const before = library.find(name ?? String(named), context.caller);
  if (before === undefined) return input;
  const { input_schema, strategy, ...kept } = activeVersion(before).definition;
  const isNewWay = isDefinition({ ...definition });
  return {
    ...input,
    definition: { ...kept, ...(isNewWay ? {} : { strategy, input_schema }), ...definition },
  };
}

function definitionsIn(input: ToolCreateInput): unknown[] {
  const given = input.action === "import" ? (input.json ?? input.definition) : definitionOf(input);
  const value = typeof given === "string" ? parseJson(given) : given;
  const list = Array.isArray(value) && input.action === "import" ? value : [value];
  if (list.length === 0 || list.length > MOST_IMPORTED)
    throw new CamelError("invalid_input", `Send between 1 and ${MOST_IMPORTED} definitions at a time.`);
  return list.map((one) => withName(one, input));
}

/** What is wrong with one of many says which one it is. */
function ofOne(index: number, error: unknown): unknown {
  if (!(error instanceof CamelError)) return error;
  const { code, details, message, next } = error;
  return new CamelError(code, `json[${index}]: ${message}`, {
    ...(next === undefined ? {} : { next }),
    ...(details === undefined ? {} : { details }),
  });
}

const MOST_IMPORTED = 100;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CamelError("invalid_input", `The definition is not JSON: ${toCamelError(error).message}.`, {
      next: "Send the definition as a JSON object.",
    });
  }
}

/** The name may stand beside the definition, as in every other action; and what others exported has extras. */
function withName(value: unknown, { action, name, description }: ToolCreateInput): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const strategy: unknown = "strategy" in value ? value.strategy : undefined;
  if (
    typeof strategy === "object" &&
    strategy !== null &&
    "type" in strategy &&
    strategy.type === "codegen"
  ) {
    throw new CamelError("invalid_input", "Compiled tools (strategy codegen) can't be imported.", {
      next: 'Write it as {type: "js", source} instead.',
    });
  }
  return {
    ...(name == null || action === "import" ? {} : { name }),
    ...(description == null || action === "import" ? {} : { description }),
    ...value,
  };
}

async function planOne(input: ToolCreateInput, sent: Definition, context: ToolContext): Promise<Plan> {
  const library = await context.dynamicTools.library();
  const world = await library.world(context);
  const { shell } = context.settings();
  const before = library.find(sent.name, context.caller);
  // A new version has to pass what the old one passed.
  const definition =
    before !== undefined && sent.examples.length === 0
      ? { ...sent, examples: activeVersion(before).definition.examples }
      : sent;
  checkName(input, definition.name, before, context);
  const checked = await checkDefinition(definition, world);
  for (const tokens of commandTemplates(definition)) {
    const verdict = judgeArgv(argvOf(tokens), shell);
    if (verdict.decision === "deny") {
      throw new CamelError("denied_by_policy", `The command may not be run: ${verdict.why}.`, {
        next: "Don't try to get round it. Work without this, or tell the user.",
      });
    }
  }
  if (definition.strategy.type === "http") {
    const { checkTemplate } = await import("./strategies/http.ts");
    checkTemplate(definition, context.settings().urlAccess);
  }
  const envelope = envelopeOf(definition, checked.pins, shell);
  const reasons =
    before === undefined
      ? approvalReasons(envelope, definition, {
          workspace: world.workspace,
          shell,
          untrusted: input.action === "import",
        })
      : newReasons(before, envelope);
  const { strategy } = definition;
  const sha256 =
    strategy.type === "js" ? createHash("sha256").update(strategy.source).digest("hex") : undefined;
  return { ...checked, envelope, reasons, sha256, before };
}

/**
 * A version that stays inside one that was approved needs nothing new. Each is approved as a whole: a secret for one
 * host and another host without it don't add up to that secret for the other host.
 */
function newReasons(before: StoredTool, envelope: Envelope): string[] {
  if (before.versions.some((one) => widening(one.envelope, envelope).length === 0)) return [];
  return widening(activeVersion(before).envelope, envelope);
}

function checkName(
  input: ToolCreateInput,
  name: string,
  before: StoredTool | undefined,
  context: ToolContext,
): void {
  const { prefix } = context.settings().tools;
  const known = context.dynamicTools.known(name, context.caller);
  if (before === undefined && known !== undefined) {
    throw new CamelError("already_exists", `"${name}" is a tool already and can't be replaced.`, {
      next: "Choose another name.",
    });
  }
  if (prefix !== undefined && name.startsWith(prefix)) {
    throw new CamelError("invalid_input", `A tool's name can't begin with the prefix "${prefix}".`, {
      next: "Leave the prefix out; hosts see it added.",
    });
  }
  if (input.action === "create" || input.action === "import") {
    if (before !== undefined)
      throw new CamelError("already_exists", `There is a tool "${name}" already.`, {
        next: `Use it (tool_create {action: "run", name: "${name}"}), change it with action update, or choose another name.`,
      });
  } else if (before === undefined) throw noSuchTool(name);
}

export function noSuchTool(name: string, others: Iterable<string> = []): CamelError {
  if (name === "")
    return new CamelError("invalid_input", "name is missing: which tool?", {
      next: 'See tool_create {"action": "list"}.',
    });
  const near = closest(name, others);
  return new CamelError("not_found", `There is no tool "${name.slice(0, 100)}" made here.`, {
    next: `${near === undefined ? "" : `Did you mean "${near}"? `}See tool_create {"action": "list"}.`,
  });
}

/** What policy judges before anything is made. */
export async function foreseen(input: ToolCreateInput, context: ToolContext): Promise<Touches> {
  const plans = await plansFor(input, context);
  const workspace = await context.workspace("read");
  const reasons = plans.flatMap((plan) => plan.reasons);
  const paths = (access: "read" | "write"): NonNullable<Touches["paths"]> =>
    plans
      .flatMap((plan) => plan.envelope[access])
      .map((path) => ({ path: resolve(workspace, path), access }));
  return {
    paths: [...paths("read"), ...paths("write")],
    commands: plans.flatMap((plan) =>
      commandTemplates(plan.definition).map((tokens) => ({ argv: argvOf(tokens) })),
    ),
    urls: plans.flatMap(({ definition: { strategy } }) => (strategy.type === "http" ? [strategy.url] : [])),
    ...(reasons.length === 0
      ? {}
      : {
          approval: {
            state: "needed" as const,
            why: `a tool ${input.action === "import" ? "from elsewhere " : ""}is made that nobody approved yet: ${reasons.join("; ")}`,
          },
        }),
  };
}

export async function cards(input: ToolCreateInput, context: ToolContext): Promise<string> {
  const plans = await plansFor(input, context);
  return plans
    .map(({ before, definition, envelope }) => {
      const active = before === undefined ? undefined : activeVersion(before);
      return active === undefined ? card(definition, envelope) : card(definition, envelope, active);
    })
    .join("\n\n");
}
