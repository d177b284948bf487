import { relative } from "node:path";
import type { ConfigLayer, LoadedConfig } from "../config/load.ts";
import { CamelError } from "../shared/errors.ts";
import { isInside, realpathOfDeepestAncestor } from "../shared/paths.ts";
import { whenThere, type MaybePromise } from "../shared/when-there.ts";
import type { Caller } from "../tools/context.ts";
import type { Middleware, ResolvedCall } from "./call.ts";
import type * as Rules from "./rules.ts";
import { decide, layersFor, type Facts, type Verdict } from "./policy.ts";

export interface AccessOptions {
  config: () => LoadedConfig;
  /** Paths no tool may touch, whatever the config says: the system's and the product's own state. */
  forbidden: readonly string[];
  /** What the config of a workspace says that only the client names; undefined where the config has it already. */
  ofWorkspace?: ((folder: string) => Promise<ConfigLayer | undefined>) | undefined;
}

/** The one place where policy is applied to a call. What it wants asked about goes on to approval. */
export function access(options: AccessOptions): Middleware {
  return function access(call, next) {
    return whenThere(judge(call, options), ({ verdict, facts }) => {
      if (verdict.decision === "deny") throw refusal(call, verdict);
      call.verdict = verdict;
      call.facts = facts;
      return next();
    });
  };
}

/** A person may take minutes to answer: policy must still allow it, and the files must be the ones they saw. */
export async function stillAllowed(call: ResolvedCall, options: AccessOptions): Promise<void> {
  const { verdict, facts } = await judge(call, options);
  if (verdict.decision === "deny") throw refusal(call, verdict);
  if (JSON.stringify(facts.paths) !== JSON.stringify(call.facts?.paths))
    throw new CamelError("conflict", `A path of ${call.name} leads elsewhere than when it was approved.`, {
      next: "Look at the files again, then repeat the call; it is asked about anew.",
    });
}

function refusal(call: ResolvedCall, verdict: Verdict): CamelError {
  return new CamelError(
    "denied_by_policy",
    `Policy refuses ${call.name}: ${verdict.rule} (${verdict.source}).`,
    {
      next: `Don't try to get round it. Work without this, or tell the user, who can change it: ${verdict.change}`,
      details: { rule: verdict.rule, source: verdict.source },
    },
  );
}

let rules: typeof Rules | undefined;

interface Judgement {
  verdict: Verdict;
  facts: Facts;
}

/** What policy says about a call, without running it. */
export function judge(call: ResolvedCall, options: AccessOptions): MaybePromise<Judgement> {
  const loaded = options.config();
  // Glob code is not needed at start-up, and even a repeated import takes longer than the rest of this.
  return whenThere(rules ?? loadRules(), ({ firstMatch, ruleMatches }) =>
    whenThere(sourcesOf(call.context, options), (sources) =>
      whenThere(factsOf(call), (facts) => {
        const verdict = decide(
          layersFor(sources, call.caller),
          facts,
          { forbidden: options.forbidden },
          (rule) => ruleMatches(rule, facts),
          firstMatch,
        );
        return verdict.decision === "ask" ? byAllowlist({ verdict, facts }, loaded) : { verdict, facts };
      }),
    ),
  );
}

function sourcesOf(
  context: Pick<PathQuestion, "workspace">,
  { config, ofWorkspace }: AccessOptions,
): MaybePromise<readonly ConfigLayer[]> {
  const { layers } = config();
  return ofWorkspace === undefined ? layers : withWorkspace();

  async function withWorkspace(): Promise<readonly ConfigLayer[]> {
    const folder = await context.workspace("read").catch(() => undefined);
    const layer = folder === undefined ? undefined : await ofWorkspace?.(folder);
    return layer === undefined || layers.some(({ source }) => source === layer.source)
      ? layers
      : [...layers, layer];
  }
}

async function loadRules(): Promise<typeof Rules> {
  return (rules = await import("./rules.ts"));
}

/** Only the user's own file has an allowlist; it answers a question and never lifts a refusal. */
async function byAllowlist(asked: Judgement, loaded: LoadedConfig): Promise<Judgement> {
  const { allowlist } = loaded.settings.approvals;
  if (allowlist.length === 0) return asked;
  const { coveringEntries } = await import("./allowlist.ts");
  const entries = coveringEntries(allowlist, asked.facts);
  if (entries === undefined) return asked;
  return {
    facts: asked.facts,
    verdict: {
      decision: "allow",
      rule: `approvals.allowlist has ${entries.map((entry) => JSON.stringify(entry)).join(", ")}`,
      source: loaded.layers[0]?.source ?? "built-in defaults",
      place: { file: loaded.layers[0]?.source ?? "", key: ["approvals", "allowlist"] },
      change: "Remove it from approvals.allowlist.",
    },
  };
}

/** What a tool found and wants to show: the policy on paths, without the call's own input. */
export interface PathQuestion {
  path: string;
  /** By any of these names the file could be read; a rule about one of them holds for all. */
  tools: readonly string[];
  caller: Caller;
  workspace(access: "read"): Promise<string>;
}

/**
 * Whether policy lets the caller see a file that no argument named, a search hit say. Only what is said about paths
 * counts: that a tool is denied altogether doesn't forbid another one that reads the same files.
 */
export async function mayReadPath(question: PathQuestion, options: AccessOptions): Promise<boolean> {
  const sources = await sourcesOf(question, options);
  const layers = layersFor(sources, question.caller).map(({ source, policy }) => ({
    source,
    policy: {
      ...policy,
      tools: { allow: [], deny: [] },
      approvals: { mode: "off" as const },
      rules: policy.rules.filter((rule) => rule.path !== undefined),
    },
  }));
  const workspace = question.workspace("read").catch(() => undefined);
  const named = await namesOf(question.path, workspace);
  const { firstMatch, ruleMatches } = await import("./rules.ts");
  return question.tools.every((tool) => {
    const facts: Facts = {
      tool,
      effect: "read",
      paths: [{ ...named, access: "read" }],
      commands: [],
      urls: [],
      needsApproval: false,
    };
    const verdict = decide(
      layers,
      facts,
      { forbidden: options.forbidden },
      (rule) => ruleMatches(rule, { tool, commands: [], paths: [named] }),
      firstMatch,
    );
    return verdict.decision === "allow";
  });
}

/** Every name the file goes by, so that neither a link nor a spelling gets round a pattern. */
async function namesOf(
  path: string,
  workspace: Promise<string | undefined>,
): Promise<{ spellings: string[]; real: string[] }> {
  // At once: each is a trip through the thread pool.
  const [realPath, root] = await Promise.all([realpathOfDeepestAncestor(path), workspace]);
  const withRelative = (one: string): string[] =>
    root !== undefined && isInside(root, one) ? [one, relative(root, one).replaceAll("\\", "/")] : [one];
  const real = withRelative(realPath);
  return { spellings: realPath === path ? real : [...withRelative(path), ...real], real };
}

function pathsOf({ touches: { paths: touched = [] }, context }: ResolvedCall): MaybePromise<Facts["paths"]> {
  if (touched.length === 0) return [];
  const workspace = context.workspace("read").catch(() => undefined);
  return Promise.all(
    touched.map(async ({ path, access }) => ({ ...(await namesOf(path, workspace)), access })),
  );
}

function factsOf(call: ResolvedCall): MaybePromise<Facts> {
  const approval =
    call.touches.approval ??
    (call.approved === true
      ? ({ state: "given", why: "approved as a part of the tool that makes this call" } as const)
      : undefined);
  const { needsApproval = false } = call.tool;
  return whenThere(pathsOf(call), (paths) => ({
    tool: call.tool.name,
    effect: call.effect,
    paths,
    commands: (call.touches.commands ?? []).map(({ argv }) => argv.map(quoted).join(" ")),
    urls: call.touches.urls ?? [],
    needsApproval: typeof needsApproval === "function" ? needsApproval(call.input) : needsApproval,
    ...(approval === undefined ? {} : { approval }),
  }));
}

/** One word a word: an argument with a blank in it must not look like two. */
function quoted(argument: string): string {
  return /^[^\s"'\\]+$/.test(argument) ? argument : JSON.stringify(argument);
}
