import { CamelError } from "../../../shared/errors.ts";
import type { ToolContext } from "../../context.ts";
import type { ToolOutput } from "../../tool.ts";
import { withoutCredentials } from "../credentials.ts";
import { card } from "../envelope.ts";
import type { Library } from "../library.ts";
import { noSuchTool } from "../plan.ts";
import { rank, significantWords } from "../search.ts";
import { activeVersion, callsOf, type StoredTool, type ToolVersion } from "../stored.ts";
import type { ToolCreateInput } from "../tool.ts";

export async function listTools(_input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const library = await context.dynamicTools.library();
  const usable = context.dynamicTools.usable(context.caller);
  const tools = await Promise.all(
    library
      .all(context.caller)
      .filter((tool) => usable.has(tool.name))
      .map((tool) => summary(tool, library)),
  );
  const refused = library.refused();
  const lines = tools.map(
    (tool) =>
      `${tool.name} (${tool.strategy}, ${tool.scope}, version ${tool.version}${tool.uses === 0 ? "" : `, ${tool.failures} of ${tool.uses} calls failed`}): ${tool.description}`,
  );
  const wanted = (await library.quality.gaps()).filter((one) => one.count >= GAP);
  const complaints = refused.map(
    (one) => `Not usable: ${one.name}: ${one.why}. The file is kept as ${one.file}.`,
  );
  return {
    // First what would be missed: a long list is cut at its end.
    text: [
      ...complaints,
      ...wanted.map((one) => `Looked for ${one.count} times in vain: ${one.pattern}.`),
      ...(lines.length === 0 ? ["No tools were made yet."] : lines),
    ].join("\n"),
    structured: { action: "list", refused, wanted, tools },
  };
}

interface Summary {
  name: string;
  description: string;
  strategy: string;
  scope: string;
  version: number;
  uses: number;
  failures: number;
}

async function summary(tool: StoredTool, library: Library): Promise<Summary> {
  const { definition, version } = activeVersion(tool);
  const { failures, uses } = await library.quality.of(tool.name, version);
  return {
    name: tool.name,
    description: definition.description,
    strategy: definition.strategy.type,
    scope: tool.scope,
    version,
    uses,
    failures,
  };
}

/** So often has the same thing been looked for in vain that a tool for it is missing. */
const GAP = 3;

export async function searchTools(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const library = await context.dynamicTools.library();
  const query = input.query ?? input.description ?? input.name ?? "";
  if (query.trim() === "")
    throw new CamelError("invalid_input", "query is missing: what should the tool do?", {
      next: 'Send words to look for, or see all with tool_create {"action": "list"}.',
    });
  const usable = context.dynamicTools.usable(context.caller);
  const found = rank(query, library.all(context.caller))
    .filter((one) => usable.has(one.name))
    .slice(0, 10);
  if (found.length === 0) {
    const pattern = significantWords(query).slice(0, 6).join(" ");
    const times = pattern === "" ? 0 : await library.quality.countGap(pattern);
    const gap =
      times < GAP
        ? ""
        : ` This was looked for ${times} times in vain: make a tool for it, tool_create {"action": "create", "description": ${JSON.stringify(query.slice(0, 200))}}.`;
    return {
      text: `No tool matches "${query.slice(0, 100)}".${gap}`,
      structured: { action: "search", tools: [], timesWanted: times, gap: times >= GAP },
    };
  }
  return {
    text: found.map((one) => `${one.name}: ${one.description}`).join("\n"),
    structured: { action: "search", tools: found.map(({ description, name }) => ({ name, description })) },
  };
}

async function found(input: ToolCreateInput, context: ToolContext): Promise<StoredTool> {
  const library = await context.dynamicTools.library();
  const stored = library.find(input.name ?? "", context.caller);
  if (stored === undefined) throw noSuchTool(input.name ?? "", context.dynamicTools.usable(context.caller));
  return stored;
}

/** What policy keeps from a caller isn't shown to it either. */
async function foundUsable(input: ToolCreateInput, context: ToolContext): Promise<StoredTool> {
  const stored = await found(input, context);
  if (!context.dynamicTools.usable(context.caller).has(stored.name)) throw noSuchTool(stored.name);
  return stored;
}

function versionOf(stored: StoredTool, wanted: number | null | undefined): ToolVersion {
  if (wanted == null) return activeVersion(stored);
  const version = stored.versions.find((one) => one.version === wanted);
  if (version !== undefined) return version;
  throw new CamelError("not_found", `"${stored.name}" has no version ${wanted}.`, {
    next: `There are: ${stored.versions.map((one) => one.version).join(", ")}.`,
  });
}

export async function showTool(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const stored = await foundUsable(input, context);
  const version = versionOf(stored, input.version);
  const record = await (
    await context.dynamicTools.library()
  ).evolution.report(stored, version, context.caller.agentId);
  const text = [
    card(version.definition, version.envelope),
    `Version ${version.version} of ${stored.versions.length}, made ${version.created} by ${version.maker.agentId}.`,
    ...record.lines,
    ...stored.notes,
    JSON.stringify(withoutCredentials(version.definition), null, 2),
  ].join("\n");
  return {
    text,
    structured: {
      action: "show",
      name: stored.name,
      version: version.version,
      definition: withoutCredentials(version.definition),
      envelope: version.envelope,
      quality: record.quality,
      advice: record.lines.join("\n"),
      notes: stored.notes,
    },
  };
}

export async function showVersions(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const stored = await foundUsable(input, context);
  const versions = stored.versions.map((one) => ({
    version: one.version,
    created: one.created,
    origin: one.origin,
    active: one.version === stored.active,
  }));
  return {
    text: versions
      .map((one) => `${one.version}${one.active ? " (active)" : ""}: ${one.origin}, ${one.created}`)
      .join("\n"),
    structured: { action: "versions", name: stored.name, versions },
  };
}

/** A definition as it can be imported elsewhere: without what belongs to this machine. Secrets stay names. */
export async function exportTools(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const stored = await foundUsable(input, context);
  const { created, definition } = versionOf(stored, input.version);
  const exported = { ...withoutCredentials(definition), created_at: Math.floor(Date.parse(created) / 1000) };
  return {
    text: JSON.stringify(exported, null, 2),
    structured: { action: "export", name: stored.name, definition: exported },
  };
}

export async function rollBack(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const stored = await found(input, context);
  const earlier = stored.versions.filter((one) => one.version < stored.active).at(-1)?.version;
  const wanted = input.version ?? earlier;
  if (wanted === undefined) {
    throw new CamelError("not_found", `"${stored.name}" has no earlier version.`, {
      next: "Nothing to do; use update to change it.",
    });
  }
  const { version } = versionOf(stored, wanted);
  const library = await context.dynamicTools.library();
  const change = (tool: StoredTool): StoredTool => ({ ...tool, active: version });
  if (stored.scope === "session") library.keepForSession(change(stored), context.caller);
  else
    await library.change(stored.name, (current) => {
      if (current === undefined) throw noSuchTool(stored.name);
      versionOf(current, version);
      return change(current);
    });
  return {
    text: `"${stored.name}" is at version ${version} again.`,
    structured: { action: "rollback", name: stored.name, version },
  };
}

export async function removeTool(input: ToolCreateInput, context: ToolContext): Promise<ToolOutput> {
  const stored = await found(input, context);
  const library = await context.dynamicTools.library();
  if (stored.scope === "session") library.removeFromSession(stored.name, context.caller);
  else await library.change(stored.name, () => undefined);
  // A tool made later under this name starts with a clean record.
  await library.quality.forget(stored.name);
  const usedBy = library
    .all(context.caller)
    .filter((one) => callsOf(one).includes(stored.name))
    .map((one) => one.name);
  const warning =
    usedBy.length === 0 ? "" : ` It was called by ${usedBy.join(", ")}: update or delete that too.`;
  return {
    text: `Deleted "${stored.name}".${warning}`,
    structured: { action: "delete", name: stored.name, ...(usedBy.length === 0 ? {} : { usedBy }) },
  };
}
