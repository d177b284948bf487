import { toCamelError, type ErrorCode } from "../../shared/errors.ts";
import { percentile95, type Quality, type QualityStore } from "../../stores/quality.ts";
import type { ToolContext } from "../context.ts";
import { sessionOf } from "./session.ts";
import type { Outcome } from "./as-tool.ts";
import { withoutCredentials } from "./credentials.ts";
import type { StrategyType } from "./definition.ts";
import { jsonIn } from "./json-in-text.ts";
import { activeVersion, type StoredTool, type ToolVersion } from "./stored.ts";

/** A tool that fails is repaired, one that works may get a better variant, a version that does worse is taken back. */
const FAILING_RATE = 0.6;
const FAILING_USES = 5;
const WORKING_RATE = 0.8;
const WORKING_USES = 10;
const COMPARED_USES = 5;
/** So that one unlucky call doesn't take a version back. */
const CLEARLY_WORSE = 0.1;
const MOST_A_SESSION = 5;
const MOST_GENERATIONS = 3;
const LONGEST_BRIEF = 4_000;

export interface Evolution {
  /** Counts a call and says what follows from it, in words for the caller; undefined when nothing does. */
  after(outcome: Outcome, context: ToolContext): Promise<string | undefined>;
  /** What `show` says about a tool's record. */
  report(
    tool: StoredTool,
    version: ToolVersion,
    agentId: string,
  ): Promise<{ lines: string[]; quality: Quality & { p95: number } }>;
  /** Whether this session may still evolve the tool; counts it if so. */
  mayEvolve(tool: string, session: string): boolean;
  /** Waits for repairs that are under way. */
  settled(): Promise<void>;
  /** Gives them up. */
  close(): Promise<void>;
}

export interface EvolutionOptions {
  quality: QualityStore;
  change(
    name: string,
    work: (current: StoredTool | undefined) => StoredTool | undefined,
  ): Promise<StoredTool | undefined>;
}

/** The caller's mistakes and the user's policy say nothing about the tool. */
const NOT_THE_TOOLS_FAULT: readonly ErrorCode[] = [
  "invalid_input",
  "denied_by_policy",
  "approval_required",
  "cancelled",
  "path_outside_root",
  "path_forbidden",
  "unauthorized",
  "busy",
];

export function createEvolution(options: EvolutionOptions): Evolution {
  const { quality } = options;
  const evolved = new Map<string, Set<string>>();
  const underWay = new Set<Promise<void>>();
  const closing = new AbortController();

  const mayEvolve = (tool: string, session: string): boolean => {
    const done = evolved.get(session) ?? new Set<string>();
    if (done.has(tool) || done.size >= MOST_A_SESSION) return false;
    done.add(tool);
    evolved.set(session, done);
    return true;
  };

  const rollBackIfWorse = async (outcome: Outcome, now: Quality): Promise<string | undefined> => {
    const { tool, version } = outcome;
    const before = tool.versions.filter((one) => one.version < version.version).at(-1);
    if (before === undefined || tool.scope === "session" || now.uses < COMPARED_USES) return undefined;
    const then = await quality.of(tool.name, before.version);
    if (then.uses < COMPARED_USES || successRate(now) >= successRate(then) - CLEARLY_WORSE) return undefined;
    const note = `Version ${version.version} did worse (${percent(successRate(now))} success) than version ${before.version} (${percent(successRate(then))}), so version ${before.version} is active again.`;
    let took = false;
    await options.change(tool.name, (current) => {
      took = current !== undefined && current.active === version.version;
      return took && current !== undefined
        ? { ...current, active: before.version, notes: [...current.notes, note].slice(-10) }
        : current;
    });
    return took ? note : undefined;
  };

  const inBackground = (work: Promise<void>): void => {
    const tracked = work.catch(() => {}).finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  };

  return {
    mayEvolve,
    async settled() {
      await Promise.all(underWay);
    },
    async close() {
      closing.abort();
      await Promise.all(underWay);
    },

    async after(outcome, context) {
      const { error, tool, version } = outcome;
      if (error !== undefined && NOT_THE_TOOLS_FAULT.includes(error.code)) return undefined;
      const now = await quality.record(tool.name, version.version, {
        milliseconds: outcome.milliseconds,
        ...(error === undefined
          ? {}
          : {
              failure: {
                agent: context.caller.agentId,
                input: JSON.stringify(outcome.input).slice(0, 500),
                message: error.message.slice(0, 500),
              },
            }),
      });
      const { evolve } = context.settings().dynamicTools;
      if (evolve === "off") return undefined;
      const rolledBack = await rollBackIfWorse(outcome, now);
      if (rolledBack !== undefined) return rolledBack;
      const may = (): boolean =>
        evolve === "auto" && context.caller.depth === 0 && mayEvolve(tool.name, sessionOf(context.caller));
      if (error !== undefined && isFailing(now)) {
        if (version.generation < MOST_GENERATIONS && may()) inBackground(repair(tool, version, now, context));
        return brief(tool, version, now, context.caller.agentId);
      }
      if (error === undefined && isWorking(now) && may()) inBackground(improve(tool, version, now, context));
      return undefined;
    },

    async report(tool, version, agentId) {
      const now = await quality.of(tool.name, version.version);
      const p95 = percentile95(now.durations);
      const lines =
        now.uses === 0
          ? ["Not used yet."]
          : [`Used ${now.uses} times, ${percent(successRate(now))} success, 95 % of calls within ${p95} ms.`];
      if (isFailing(now)) lines.push(brief(tool, version, now, agentId));
      else if (isWorking(now))
        lines.push(
          `It works well. A better variant may be proposed: tool_create {"action": "propose", "name": "${tool.name}", "definition": {…}}.`,
        );
      return { lines, quality: { ...now, errors: ownErrors(now, agentId), p95 } };
    },
  };

  /** Through the door: what the runner wrote is judged, tested and approved like any other update. */
  async function repair(
    tool: StoredTool,
    version: ToolVersion,
    now: Quality,
    context: ToolContext,
  ): Promise<void> {
    const definition = await ask(brief(tool, version, now, context.caller.agentId), version, context);
    if (definition === undefined) return;
    const result = await context.callTool(
      "tool_create",
      { action: "update", name: tool.name, definition },
      { own: true, signal: closing.signal },
    );
    if (result.isError === true) {
      context.log.warn(`the repair of ${tool.name} wasn't taken: ${result.text}`);
      return;
    }
    const made: unknown = result.structured?.["version"];
    await options.change(tool.name, (current) =>
      current === undefined
        ? undefined
        : {
            ...current,
            versions: current.versions.map((one) =>
              one.version === made ? { ...one, origin: "repair", generation: version.generation + 1 } : one,
            ),
            notes: [...current.notes, `Version ${String(made)} is a repair by the runner.`].slice(-10),
          },
    );
  }

  async function improve(
    tool: StoredTool,
    version: ToolVersion,
    now: Quality,
    context: ToolContext,
  ): Promise<void> {
    const definition = await ask(
      `The tool "${tool.name}" works well (${percent(successRate(now))} of ${now.uses} calls). Improve it: faster, clearer output, or more robust.\nIts definition: ${JSON.stringify(withoutCredentials(version.definition))}`,
      version,
      context,
    );
    if (definition === undefined) return;
    const result = await context.callTool(
      "tool_create",
      { action: "propose", name: tool.name, definition },
      { own: true, signal: closing.signal },
    );
    if (result.isError === true) context.log.warn(`the variant of ${tool.name} wasn't taken: ${result.text}`);
  }

  /** The stored examples stay: a repair that had its own would be its own judge. */
  async function ask(
    prompt: string,
    version: ToolVersion,
    context: ToolContext,
  ): Promise<Record<string, unknown> | undefined> {
    try {
      const runner = await context.runner();
      if (runner === undefined) return undefined;
      const { agentId, depth } = context.caller;
      const { text } = await runner(
        `${prompt}\nAnswer with the whole new definition as one JSON object and nothing else.`,
        { agentId, depth: depth + 1 },
        closing.signal,
      );
      const definition = jsonIn(text);
      return definition === undefined
        ? undefined
        : {
            ...definition,
            name: version.definition.name,
            examples: version.definition.examples,
            scope: version.definition.scope,
          };
    } catch (error) {
      context.log.warn(`the runner gave no repair: ${toCamelError(error).message}`);
      return undefined;
    }
  }
}

function successRate({ failures, uses }: Quality): number {
  return uses === 0 ? 1 : (uses - failures) / uses;
}

function isFailing(quality: Quality): boolean {
  return quality.uses >= FAILING_USES && quality.failures / quality.uses > FAILING_RATE;
}

function isWorking(quality: Quality): boolean {
  return quality.uses >= WORKING_USES && successRate(quality) > WORKING_RATE;
}

function percent(rate: number): string {
  return `${Math.round(rate * 100)} %`;
}

const OTHER_WAYS: Record<StrategyType, string> = {
  shell: "http, if what the program does is offered by a service; js, if it is only a computation",
  http: "shell, if a program does the same here; another address or json_path",
  llm: "js, if the task can be computed; a more precise system_prompt",
  composite: "js with tools, if the steps need decisions between them",
  js: "shell, if a program does the same; http, if a service does",
};

/** What another agent sent to the tool is none of this one's business. */
function ownErrors(quality: Quality, agentId: string): Quality["errors"] {
  return quality.errors.filter((one) => one.agent === agentId);
}

/** All that is needed to repair a tool in the next call. */
function brief(tool: StoredTool, version: ToolVersion, quality: Quality, agentId: string): string {
  const { failures, uses } = quality;
  return [
    `"${tool.name}" fails often: ${failures} of ${uses} calls of version ${version.version}. Repair it with tool_create {"action": "update", "name": "${tool.name}", "definition": {…}}.`,
    `Its definition: ${JSON.stringify(withoutCredentials(activeVersion(tool).definition))}`,
    ...ownErrors(quality, agentId).map(
      (one) => `Failed with ${one.input}: ${one.message.split("\n").slice(0, 6).join(" ")}`,
    ),
    `Other strategies to try: ${OTHER_WAYS[version.definition.strategy.type]}.`,
  ]
    .join("\n")
    .slice(0, LONGEST_BRIEF);
}
