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

/** The one place where policy is applied to a call. */
export function access(options: AccessOptions): Middleware {
  return async function access(call, next) {
    const verdict = await judge(call, options);
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
    if (verdict.decision === "ask") {
      throw new CamelError(
        "approval_required",
        `${call.name} needs a person's approval: ${verdict.rule} (${verdict.source}).`,
        {
          next: `Tell the user what you want to do and why. ${verdict.change}`,
          details: { rule: verdict.rule, source: verdict.source },
        },
      );
    }
    return next();
  };
}

/** What policy says about a call, without running it. */
export async function judge(call: ResolvedCall, options: AccessOptions): Promise<Verdict> {
  const layers = layersFor(options.config().layers, call.caller);
  const facts = await factsOf(call);
  // Glob code is loaded only for calls that touch something: most reads never need it at start-up.
  const { matchesPath, ruleMatches } = await import("./rules.ts");
  return decide(
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
  const commands = (call.touches.commands ?? []).map((command) => command.argv.join(" "));
  const approval =
    call.touches.approval ??
    (call.approved === true
      ? ({ state: "given", why: "approved as a part of the tool that makes this call" } as const)
      : undefined);
  return {
    tool: call.tool.name,
    effect: call.effect,
    paths,
    commands,
    ...(approval === undefined ? {} : { approval }),
  };
}
