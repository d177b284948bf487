import { CamelError } from "../../../shared/errors.ts";
import type { ToolContext } from "../../context.ts";
import type { ToolOutput } from "../../tool.ts";
import { plainCredentials } from "../credentials.ts";
import type { Definition } from "../definition.ts";
import { union } from "../envelope.ts";
import type { Library } from "../library.ts";
import { sessionOf } from "../session.ts";
import { noSuchTool, plansFor, type Plan } from "../plan.ts";
import { MOST_VERSIONS, type StoredTool, type ToolVersion } from "../stored.ts";
import { definitionOf, type ToolCreateInput } from "../tool.ts";
import { derive } from "./derive.ts";
import { runExamples } from "./run.ts";

export async function createTool(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  if (definitionOf(input) === undefined) return derive(input, context);
  const [plan] = await plansFor(input, context);
  if (plan === undefined) throw new CamelError("invalid_input", "There is no definition.");
  const made = await make(plan, "create", context);
  // Many hosts list a new tool only in the next session: how to call it now is part of both forms of the answer.
  const summary = `Made the tool "${made.name}" (${plan.definition.strategy.type}, ${made.scope}). Call it by its name, or with tool_create {"action": "run", "name": "${made.name}", "input": ${sampleInput(plan)}}.${advice(plan.definition)}`;
  return {
    text: summary,
    structured: {
      action: "create",
      summary,
      name: made.name,
      version: 1,
      scope: made.scope,
      inputSchema: plan.inputSchema,
    },
  };
}

/** What is allowed and yet hardly meant. */
function advice(definition: Definition): string {
  const { strategy } = definition;
  const exposed = plainCredentials(definition);
  if (exposed.length > 0)
    return ` ${exposed.join(", ")} holds a credential as text: ask the user to run camel-mcp secret set NAME, and use secret://NAME instead.`;
  if (strategy.type === "js" && !/\breturn\b|=>|\bexport\b/.test(strategy.source))
    return " Its source never returns anything, so that it always answers null: update it with a return.";
  const single =
    strategy.type === "shell"
      ? /(?<=\s)["']?\{(\w+)\}["']?(?=\s|$)/.exec(
          (strategy.pipeline ?? [strategy.command_template]).join(" "),
        )
      : null;
  if (single === null) return "";
  return ` {${single[1]}} is passed on as it stands; if it stands for a value of the call, update it to {{${single[1]}}}.`;
}

export async function importTools(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const plans = await plansFor(input, context);
  const made: string[] = [];
  for (const plan of plans) {
    try {
      made.push((await make(plan, "import", context)).name);
    } catch (error) {
      if (made.length === 0) throw error;
      throw new CamelError(
        "tool_failed",
        `"${plan.definition.name}" couldn't be imported: ${String(error)}`,
        {
          next: `These are there already and needn't be sent again: ${made.join(", ")}.`,
          details: { imported: made },
        },
      );
    }
  }
  return {
    text: `Imported ${made.join(", ")}.`,
    structured: { action: "import", names: made },
  };
}

export async function updateTool(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  if (definitionOf(input) === undefined) {
    throw new CamelError("invalid_input", "update needs a definition: what changes, or all of it.", {
      next: `See tool_create {"action": "show", "name": "${input.name ?? ""}"} for what there is.`,
    });
  }
  const [plan] = await plansFor(input, context);
  if (plan?.before === undefined) throw noSuchTool(input.name ?? "");
  const version = await addVersion(plan, "update", context);
  return {
    text: `"${plan.before.name}" is now at version ${version.version}. Version ${plan.before.active} is kept: rollback brings it back.`,
    structured: { action: "update", name: plan.before.name, version: version.version },
  };
}

/** A variant stands beside the original under a name of its own, and is measured like any other tool. */
export async function proposeVariant(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  if (definitionOf(input) === undefined) {
    throw new CamelError("invalid_input", "propose needs the variant's whole definition.", {
      next: `See tool_create {"action": "show", "name": "${input.name ?? ""}"} for the present one.`,
    });
  }
  const [plan] = await plansFor(input, context);
  if (plan?.before === undefined) throw noSuchTool(input.name ?? "");
  const library = await context.dynamicTools.library();
  if (!library.evolution.mayEvolve(plan.before.name, sessionOf(context.caller))) {
    throw new CamelError("limit_reached", "A session may evolve a tool once, and five tools in all.", {
      next: "Use what there is for a while, or change the tool with action update.",
    });
  }
  const name = variantName(plan.before.name, (one) => library.find(one, context.caller) !== undefined);
  const variant: Plan = { ...plan, definition: { ...plan.definition, name }, before: undefined };
  const made = await make(variant, "variant", context);
  return {
    text: `Made the variant "${made.name}" of "${plan.before.name}". Use it in its place for a while; tool_create {"action": "list"} shows which does better.`,
    structured: { action: "propose", name: made.name, of: plan.before.name },
  };
}

function variantName(name: string, taken: (name: string) => boolean): string {
  const base = name.replace(/_v\d+$/, "").slice(0, 44);
  for (let number = 2; number < 100; number += 1)
    if (!taken(`${base}_v${number}`)) return `${base}_v${number}`;
  throw new CamelError("limit_reached", `"${name}" has too many variants.`, { next: "Delete some." });
}

async function make(plan: Plan, origin: ToolVersion["origin"], context: ToolContext): Promise<StoredTool> {
  const library = await context.dynamicTools.library();
  const { definition } = plan;
  const version = versionOf(plan, 1, 0, origin, context);
  const stored: StoredTool = {
    name: definition.name,
    scope: definition.scope,
    ...(definition.scope === "project" ? { project: await context.workspace("read") } : {}),
    created: version.created,
    active: 1,
    versions: [version],
    approved: plan.envelope,
    approvedBy: context.isApproved === true ? "person" : "policy",
    notes: [],
  };
  await examplesMustPass(library, stored, version, context);
  if (definition.scope === "session") {
    library.keepForSession(stored, context.caller);
    return stored;
  }
  await library.change(definition.name, (current) => {
    if (current !== undefined)
      throw new CamelError("already_exists", `There is a tool "${definition.name}" already.`, {
        next: "Choose another name; it may belong to another project.",
      });
    return stored;
  });
  return stored;
}

async function addVersion(
  plan: Plan,
  origin: ToolVersion["origin"],
  context: ToolContext,
): Promise<ToolVersion> {
  const library = await context.dynamicTools.library();
  const { before } = plan;
  if (before === undefined) throw noSuchTool(plan.definition.name);
  if (plan.definition.scope !== before.scope) {
    throw new CamelError(
      "invalid_input",
      `The scope of "${before.name}" is ${before.scope} and can't be changed.`,
      {
        next: "Make another tool with the other scope.",
      },
    );
  }
  const generation = origin === "repair" ? Math.max(...before.versions.map((one) => one.generation)) + 1 : 0;
  const number = Math.max(...before.versions.map((one) => one.version)) + 1;
  const version = versionOf(plan, number, generation, origin, context);
  const approved = union(before.approved, plan.envelope);
  const withVersion = (tool: StoredTool): StoredTool => ({
    ...tool,
    active: version.version,
    versions: [...tool.versions, version].slice(-MOST_VERSIONS),
    approved,
    approvedBy: context.isApproved === true ? "person" : tool.approvedBy,
  });
  await examplesMustPass(library, withVersion(before), version, context);
  if (before.scope === "session") {
    library.keepForSession(withVersion(before), context.caller);
    return version;
  }
  await library.change(before.name, (current) => {
    if (current === undefined) throw noSuchTool(before.name);
    if (current.versions.some((one) => one.version === number)) {
      throw new CamelError("conflict", `"${before.name}" was changed by somebody else meanwhile.`, {
        next: "Look at it with action show and send the update again.",
      });
    }
    return withVersion(current);
  });
  return version;
}

function versionOf(
  plan: Plan,
  version: number,
  generation: number,
  origin: ToolVersion["origin"],
  context: ToolContext,
): ToolVersion {
  const { agentId, client, depth, token } = context.caller;
  return {
    version,
    maker: { agentId, client, depth, ...(token === undefined ? {} : { token }) },
    created: new Date(context.clock.now()).toISOString(),
    origin,
    generation,
    definition: plan.definition,
    inputSchema: plan.inputSchema,
    pins: plan.pins,
    envelope: plan.envelope,
    ...(plan.sha256 === undefined ? {} : { sha256: plan.sha256 }),
  };
}

async function examplesMustPass(
  library: Library,
  stored: StoredTool,
  version: ToolVersion,
  context: ToolContext,
): Promise<void> {
  const { examples, name } = version.definition;
  if (examples.length === 0) return;
  const results = await runExamples(name, examples, context, library.onTrial(stored, version));
  const failed = results.flatMap((one, index) =>
    one.problem === undefined
      ? []
      : [`example ${index + 1} (${JSON.stringify(one.input).slice(0, 200)}): ${one.problem}`],
  );
  if (failed.length > 0) {
    throw new CamelError(
      "tool_failed",
      `The tool isn't kept, because its examples don't pass: ${failed.join("; ")}.`,
      {
        next: "Correct the definition or the examples, and send it again. A version without examples has to pass those of the one before.",
        details: { results },
      },
    );
  }
}

function sampleInput(plan: Plan): string {
  const [example] = plan.definition.examples;
  if (example !== undefined) return JSON.stringify(example.input);
  const { properties } = plan.inputSchema;
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, "…"])));
}
