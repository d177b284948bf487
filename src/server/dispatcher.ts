import type { LoadedConfig } from "../config/load.ts";
import type { Call, CallContext, Middleware, ResolvedCall, ToolResult } from "../pipeline/call.ts";
import { compose } from "../pipeline/compose.ts";
import { NOTHING_REFUSES, isListed, layersFor } from "../pipeline/policy.ts";
import { CamelError } from "../shared/errors.ts";
import { closest } from "../shared/glob.ts";
import { whenThere, type MaybePromise } from "../shared/when-there.ts";
import type { Caller } from "../tools/context.ts";
import type { ToolDef, Touches } from "../tools/tool.ts";
import { filledIn, parseInput } from "./parse-input.ts";

/** The one door: whatever executes anything, calls `call`. */
export interface Dispatcher {
  /** The tools this caller may use. */
  list(caller: Caller): ToolDef[];
  /** Never throws: errors are results. */
  call(call: Call): Promise<ToolResult>;
  /** Resolves a call up to the point where policy would judge it; throws what would refuse it before that. */
  resolve(call: Call): Promise<ResolvedCall>;
}

export interface DispatcherOptions {
  /** The tools that exist for a caller, before policy. */
  tools: (caller: Caller) => readonly ToolDef[];
  /** Awaited before anything else: what others changed meanwhile, config and tools, is loaded here. */
  ready: () => MaybePromise<void>;
  /** The same and thoroughly, before a name is called unknown. */
  refresh: () => Promise<void>;
  config: () => LoadedConfig;
  /** Around every call, resolvable or not. Outermost first. */
  outer: readonly Middleware<Call>[];
  /** Around calls whose tool and input are known. Outermost first. */
  inner: readonly Middleware[];
  contextFor(call: Call): CallContext;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const list = (caller: Caller): ToolDef[] => {
    const sources = options.config().layers;
    const layers = layersFor(sources, caller);
    return options
      .tools(caller)
      .filter(
        (tool) =>
          isListed(tool.name, weakestEffect(tool), layers) &&
          (tool.maker === undefined ||
            isListed(tool.name, weakestEffect(tool), layersFor(sources, tool.maker))),
      );
  };

  const find = (call: Call): ToolDef | undefined => {
    const { prefix } = options.config().settings.tools;
    const wanted =
      prefix !== undefined && call.name.startsWith(prefix) ? call.name.slice(prefix.length) : call.name;
    return options.tools(call.caller).find((one) => one.name === wanted || one.name === call.name);
  };

  const findNew = async (call: Call): Promise<ToolDef> => {
    await options.refresh();
    const tool = find(call);
    if (tool !== undefined) return tool;
    const names = list(call.caller).map((one) => one.name);
    const guess = closest(call.name, names);
    throw new CamelError("unknown_tool", `There is no tool "${call.name.slice(0, 100)}".`, {
      next: guess === undefined ? `Available: ${names.join(", ")}.` : `Did you mean "${guess}"?`,
    });
  };

  const resolve = (call: Call): MaybePromise<ResolvedCall> =>
    whenThere(call.trial ?? find(call) ?? findNew(call), (tool) => resolveFor(tool, call));

  const resolveFor = (tool: ToolDef, asked: Call): MaybePromise<ResolvedCall> => {
    const call = asCallOf(tool, asked);
    const args = tool.approvalDefaults === undefined ? call.args : filledIn(tool.approvalDefaults, call.args);
    const input = tool.parse === undefined ? parseInput(tool, args) : tool.parse(args);
    const context = options.contextFor(call);
    return whenThere(tool.touches?.(input, context), (touches) => ({
      tool,
      input,
      effect: tool.effectOf?.(input) ?? tool.effect,
      touches: touches ?? NOTHING,
      context,
      // Last: V8 takes ten microseconds to add to what was spread, and a tenth of one to spread into what is there.
      ...call,
    }));
  };

  const inner = compose(options.inner, execute);
  const whole = compose(options.outer, (call) => whenThere(resolve(call), inner));
  return {
    list,
    async resolve(call) {
      await options.ready();
      return resolve(call);
    },
    call: (call) => whenThere(options.ready(), () => whole(call)),
  };
}

/** Under the tool's own name, which rules go by, whatever prefix the host knows it with; and for its maker too. */
function asCallOf(tool: ToolDef, call: Call): Call {
  const { maker } = tool;
  if (maker === undefined && call.name === tool.name) return call;
  const { caller } = call;
  const makers = maker === undefined ? caller.makers : [...(caller.makers ?? []), maker];
  return { ...call, name: tool.name, caller: makers === undefined ? caller : { ...caller, makers } };
}

const NOTHING: Touches = {};

async function execute(call: ResolvedCall): Promise<ToolResult> {
  // The last word: should the pipeline ever be put together wrongly, nothing runs that policy didn't let through.
  if (call.verdict?.decision !== "allow" && !(call.verdict?.decision === "ask" && call.isApproved === true))
    throw new CamelError("internal", `${call.tool.name} reached its tool without a decision.`);
  const { verdict } = call;
  const isApproved =
    call.isApproved === true || (verdict?.decision === "allow" && verdict.rule !== NOTHING_REFUSES);
  call.context.isApproved = isApproved;
  const output: unknown = await call.tool.execute(call.input, call.context);
  if (typeof output === "string") return { text: output };
  // A tool of somebody else's may answer anything, and may have no text: what is data must be there as text too.
  if (typeof output !== "object" || output === null) return { text: JSON.stringify(output) ?? "" };
  const result = output as Partial<ToolResult>;
  const { text, structured = null } = result;
  return { ...result, text: typeof text === "string" ? text : JSON.stringify(structured) };
}

/** A tool with an action that only reads stays listed where writing is refused. */
function weakestEffect(tool: ToolDef): ToolDef["effect"] {
  return tool.effectOf === undefined ? tool.effect : "read";
}
