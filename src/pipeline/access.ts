import { relative } from "node:path";
import type { LoadedConfig } from "../config-load.ts";
import { CamelError } from "../shared/errors.ts";
import { isInside, realpathOfDeepestAncestor } from "../shared/paths.ts";
import type { Middleware, ResolvedCall } from "./call.ts";
import { decide, layersFor, type Facts, type Verdict } from "./policy.ts";

export interface AccessOptions {
  config: () => LoadedConfig;
  /** Paths no tool may touch, whatever the config says: the system's and the product's own state. */
  forbidden: readonly string[];
}

/** The one place where policy is applied to a call. What it wants asked about goes on to approval. */
export function access(options: AccessOptions): Middleware {
  return async function access(call, next) {
    const { verdict, facts } = await judge(call, options);
    if (verdict.decision === "deny") {
      throw new CamelError(
        "denied_by_policy",
        `Policy refuses ${call.name}: ${verdict.rule} (${verdict.source}).`,
        {
          next: `Don't try to get round it. Work without this, or tell the user. ${verdict.change}`,
          details: { rule: verdict.rule, source: verdict.source },
        },
      );
    }
    call.verdict = verdict;
    call.facts = facts;
    return next();
  };
}

/** What policy says about a call, without running it. */
export async function judge(
  call: ResolvedCall,
  options: AccessOptions,
): Promise<{ verdict: Verdict; facts: Facts }> {
  const loaded = options.config();
  const layers = layersFor(loaded.layers, call.caller);
  const facts = await factsOf(call);
  // Glob code is loaded by the first call: nothing needs it at start-up.
  const { matchesPath, ruleMatches } = await import("./rules.ts");
  const verdict = decide(
    layers,
    facts,
    { forbidden: options.forbidden },
    (rule, about) =>
      ruleMatches(rule, {
        tool: about.tool,
        commands: about.commands,
        paths: about.paths.map((one) => one.spellings),
      }),
    matchesPath,
  );
  // Only the user's own file has an allowlist; it answers a question and never lifts a refusal.
  const { allowlist } = loaded.settings.approvals;
  if (verdict.decision !== "ask" || allowlist.length === 0) return { verdict, facts };
  const { coveringEntries } = await import("./allowlist.ts");
  const entries = coveringEntries(allowlist, facts);
  if (entries === undefined) return { verdict, facts };
  return {
    facts,
    verdict: {
      decision: "allow",
      rule: `approvals.allowlist has ${entries.map((entry) => JSON.stringify(entry)).join(", ")}`,
      source: loaded.layers[0]?.source ?? "built-in defaults",
      change: "Remove it from approvals.allowlist.",
    },
  };
}

async function factsOf(call: ResolvedCall): Promise<Facts> {
  const touched = call.touches.paths ?? [];
  const workspace =
    touched.length === 0 ? undefined : await call.context.workspace("read").catch(() => undefined);
  const paths = await Promise.all(
    touched.map(async ({ path, access }) => {
      // Judged by every name the file goes by, so that neither a link nor a spelling gets round a pattern.
      const real = await realpathOfDeepestAncestor(path);
      const spellings = new Set([path, real]);
      for (const one of [path, real]) {
        if (workspace !== undefined && isInside(workspace, one))
          spellings.add(relative(workspace, one).replaceAll("\\", "/"));
      }
      return { spellings: [...spellings], access };
    }),
  );
  const { needsApproval = false } = call.tool;
  return {
    tool: call.tool.name,
    effect: call.effect,
    paths,
    commands: (call.touches.commands ?? []).map(({ argv }) => argv.map(quoted).join(" ")),
    urls: call.touches.urls ?? [],
    needsApproval: typeof needsApproval === "function" ? needsApproval(call.input) : needsApproval,
  };
}

/** One word a word: an argument with a blank in it must not look like two. */
function quoted(argument: string): string {
  return /^[^\s"'\\]+$/.test(argument) ? argument : JSON.stringify(argument);
}
