import type { Config, PolicyConfig, Rule, ScopeMatch } from "../config/schema.ts";
import { matchesName } from "../shared/glob.ts";
import type { Caller, Identity } from "../tools/context.ts";
import type { Effect, Touches } from "../tools/tool.ts";
import { NOT_SENSITIVE, PROTECTED_FROM_WRITING, SENSITIVE_FILES } from "./built-in-paths.ts";

/**
 * One decision for a call: allow, ask or deny, with the rule that made it and how to change it.
 *
 * Policy is a list of layers: the user's file, the workspace's file, the flags, and every scope of theirs that
 * matches the caller. Each layer decides on its own and the strictest answer wins, so adding a layer can never
 * widen what is allowed: that holds by construction, not by merging with care.
 */
export type Decision = "allow" | "ask" | "deny";

/** The rule of a verdict where neither a rule nor a person had to decide. */
export const NOTHING_REFUSES = "no rule refuses it";

const BUILT_IN = "built-in defaults";

const STRICTNESS: Record<Decision, number> = { allow: 0, ask: 1, deny: 2 };

export interface PolicyLayer {
  /** File (and scope) the layer comes from; shown by `policy explain`. */
  source: string;
  /** The file alone, and the keys that lead to the layer in it. */
  place?: Place;
  policy: PolicyConfig;
}

/** Where something is said: `policy explain` finds the line. */
export interface Place {
  file: string;
  key: readonly (string | number)[];
}

export interface FactPath {
  /** Every name of it: absolute, real, and relative to the workspace. What restricts counts for any of them. */
  spellings: readonly string[];
  /** The names of the file itself, links followed: only these can be allowed. Absent: no link is on the way. */
  real?: readonly string[];
  access: "read" | "write" | "delete";
}

/** What is known about a call before it runs. */
export interface Facts {
  tool: string;
  effect: Effect;
  paths: readonly FactPath[];
  commands: readonly string[];
  urls: readonly string[];
  /** The tool itself wants a person asked. */
  needsApproval: boolean;
  approval?: Touches["approval"];
}

export interface Verdict {
  decision: Decision;
  /** The rule that decided, in words. */
  rule: string;
  source: string;
  place?: Place;
  /** What the user would edit to change it. */
  change: string;
}

/** Which rules fire; passed in so that glob code loads only when a call touches something. */
export type RuleMatcher = (rule: Rule, facts: Facts) => boolean;
/** The first pattern that matches any of the paths. */
export type PathMatcher = (patterns: readonly string[], paths: readonly string[]) => string | undefined;

/** The layers in force for a caller: each source, then each of its scopes that matches the caller or a maker. */
export function layersFor(
  sources: readonly { source: string; config: Config }[],
  caller: Identity & Pick<Caller, "makers">,
): PolicyLayer[] {
  const layers: PolicyLayer[] = [];
  for (const { source, config } of sources) {
    layers.push({ source, place: { file: source, key: [] }, policy: config });
    config.scopes.forEach((scope, index) => {
      const isAbout = (one: Identity): boolean => scopeMatches(scope.match, one);
      if (isAbout(caller) || caller.makers?.some(isAbout) === true)
        layers.push({
          source: `${source} (scopes[${index}])`,
          place: { file: source, key: ["scopes", index] },
          policy: scope,
        });
    });
  }
  return layers;
}

function scopeMatches(match: ScopeMatch, caller: Identity): boolean {
  if (match.agent !== undefined && !matchesName(match.agent, caller.agentId)) return false;
  if (match.client !== undefined && !matchesName(match.client, caller.client)) return false;
  if (match.token !== undefined && !matchesName(match.token, caller.token ?? "")) return false;
  return match.depth === undefined || caller.depth >= match.depth;
}

/** Whether the caller could ever use the tool; one it never may is not even listed to it. */
export function isListed(tool: string, effect: Effect, layers: readonly PolicyLayer[]): boolean {
  return layers.every((layer) => {
    const verdict = byName(layer, tool) ?? byAutonomy(layer, effect);
    if (verdict?.decision === "deny") return false;
    return !layer.policy.rules.some(
      (rule) =>
        rule.decision === "deny" &&
        rule.path === undefined &&
        rule.command === undefined &&
        matchesName(rule.tool, tool),
    );
  });
}

export function decide(
  layers: readonly PolicyLayer[],
  facts: Facts,
  builtin: { forbidden: readonly string[] },
  matchRule: RuleMatcher,
  matchPath: PathMatcher,
): Verdict {
  let strictest: Verdict = {
    decision: "allow",
    rule: NOTHING_REFUSES,
    source: layers[0]?.source ?? BUILT_IN,
    change: "Add a rule or deny the tool to refuse it.",
  };
  for (const layer of layers) {
    const verdict = decideInLayer(layer, facts, builtin, matchRule, matchPath);
    if (STRICTNESS[verdict.decision] > STRICTNESS[strictest.decision]) strictest = verdict;
    if (strictest.decision === "deny") return strictest;
  }
  return strictest.decision === "allow" ? (byApproval(layers, facts, matchRule) ?? strictest) : strictest;
}

/** What a tool says a person must approve: any allow rule of the user's answers it. */
function byApproval(
  layers: readonly PolicyLayer[],
  facts: Facts,
  matchRule: RuleMatcher,
): Verdict | undefined {
  const why = facts.needsApproval
    ? `${facts.tool} always asks`
    : facts.approval?.state === "needed"
      ? facts.approval.why
      : undefined;
  if (why === undefined) return undefined;
  for (const layer of layers) {
    const index = layer.policy.rules.findIndex((rule) => rule.decision === "allow" && matchRule(rule, facts));
    const rule = layer.policy.rules[index];
    if (rule !== undefined) return ruleVerdict(layer, rule, index);
  }
  return {
    decision: "ask",
    rule: why,
    source: layers[0]?.source ?? BUILT_IN,
    change: `Add an allow rule for ${facts.tool} to your config file.`,
  };
}

function decideInLayer(
  layer: PolicyLayer,
  facts: Facts,
  builtin: { forbidden: readonly string[] },
  matchRule: RuleMatcher,
  matchPath: PathMatcher,
): Verdict {
  const refused = byName(layer, facts.tool) ?? byPath(layer, facts, builtin, matchPath);
  if (refused !== undefined) return refused;
  const matching = layer.policy.rules
    .map((rule, index) => ({ rule, index }))
    .filter(({ rule }) => matchRule(rule, facts));
  const ruled = (decision: Rule["decision"]): Verdict | undefined => {
    const hit = matching.find(({ rule }) => rule.decision === decision);
    return hit === undefined ? undefined : ruleVerdict(layer, hit.rule, hit.index);
  };
  const autonomy = byAutonomy(layer, facts.effect);
  // Refusals before questions: a rule that asks must not turn a level's refusal into one.
  const denied = ruled("deny") ?? (autonomy?.decision === "deny" ? autonomy : undefined);
  if (denied !== undefined) return denied;
  const asks = ruled("ask");
  if (asks !== undefined) return asks;
  const asked = autonomy ?? byApprovals(layer, facts);
  // An allow rule answers the question that a level or mode would ask; it never lifts a refusal.
  const allowed = asked === undefined ? undefined : ruled("allow");
  if (allowed !== undefined) return allowed;
  const given =
    facts.approval?.state === "given" && !facts.needsApproval && layer.policy.approvals?.mode !== "always";
  if (asked !== undefined && given) return { ...asked, decision: "allow", rule: facts.approval?.why ?? "" };
  return (
    asked ?? {
      decision: "allow",
      rule: NOTHING_REFUSES,
      source: layer.source,
      change: "Add a rule to refuse it.",
    }
  );
}

function isScope({ place }: PolicyLayer): boolean {
  return (place?.key.length ?? 0) > 0;
}

function placeIn({ place }: PolicyLayer, ...key: (string | number)[]): { place?: Place } {
  return place === undefined ? {} : { place: { file: place.file, key: [...place.key, ...key] } };
}

function ruleVerdict(layer: PolicyLayer, rule: Rule, index: number): Verdict {
  const about = [rule.tool, rule.path, rule.command].filter((part) => part !== undefined).join(" ");
  return {
    decision: rule.decision,
    rule: `rules[${index}] ${rule.decision} ${about}${rule.reason === undefined ? "" : `: ${rule.reason}`}`,
    source: layer.source,
    ...placeIn(layer, "rules", index),
    change: `Edit rules[${index}] in ${layer.source}.`,
  };
}

function byName(layer: PolicyLayer, tool: string): Verdict | undefined {
  const { allow, deny } = layer.policy.tools;
  const denied = deny.find((pattern) => matchesName(pattern, tool));
  if (denied !== undefined) {
    return {
      decision: "deny",
      rule: `tools.deny has "${denied}"`,
      source: layer.source,
      ...placeIn(layer, "tools", "deny", deny.indexOf(denied)),
      change: `Remove "${denied}" from tools.deny in ${layer.source}.`,
    };
  }
  if (allow.length > 0 && !allow.some((pattern) => matchesName(pattern, tool))) {
    return {
      decision: "deny",
      rule: `tools.allow doesn't name "${tool}"`,
      source: layer.source,
      ...placeIn(layer, "tools", "allow"),
      change: `Add "${tool}" to tools.allow in ${layer.source}.`,
    };
  }
  return undefined;
}

function byAutonomy(layer: PolicyLayer, effect: Effect): Verdict | undefined {
  const { level } = layer.policy.autonomy;
  if (effect === "read" || level === "full") return undefined;
  return {
    decision: level === "readonly" ? "deny" : "ask",
    rule: `autonomy.level is ${level} and the call's effect is ${effect}`,
    source: layer.source,
    ...placeIn(layer, "autonomy", "level"),
    change:
      level === "readonly"
        ? `Set autonomy.level to supervised or full in ${layer.source}.`
        : `Set autonomy.level to full, or add an allow rule, in ${layer.source}.`,
  };
}

function byApprovals(layer: PolicyLayer, facts: Facts): Verdict | undefined {
  const mode = layer.policy.approvals?.mode ?? "off";
  const change = `Add an entry to approvals.allowlist, or change approvals.mode in ${layer.source}.`;
  const place = placeIn(layer, "approvals", "mode");
  const ask = (rule: string): Verdict => ({
    decision: "ask",
    rule,
    source: layer.source,
    ...place,
    change,
  });
  if (mode === "always") return ask("approvals.mode is always");
  if (mode === "smart" && facts.effect !== "read")
    return ask(`approvals.mode is smart and the call's effect is ${facts.effect}`);
  return undefined;
}

function byPath(
  layer: PolicyLayer,
  facts: Facts,
  builtin: { forbidden: readonly string[] },
  matchPath: PathMatcher,
): Verdict | undefined {
  const { autonomy } = layer.policy;
  for (const { spellings, access } of facts.paths) {
    const hit = (patterns: readonly string[]): string | undefined => matchPath(patterns, spellings);
    const shown = spellings.at(-1) ?? "";
    const forbidden = hit(autonomy.forbiddenPaths) ?? hit(builtin.forbidden);
    if (forbidden !== undefined) {
      const isTheirs = autonomy.forbiddenPaths.includes(forbidden);
      return {
        decision: "deny",
        rule: `"${shown}" is under the forbidden path "${forbidden}"`,
        source: isTheirs ? layer.source : BUILT_IN,
        ...(isTheirs && placeIn(layer, "autonomy", "forbiddenPaths")),
        change: isTheirs
          ? `Remove it from autonomy.forbiddenPaths in ${layer.source}.`
          : "It is built in and can't be changed.",
      };
    }
    const guarded = access === "read" ? undefined : hit(PROTECTED_FROM_WRITING);
    if (guarded !== undefined) {
      return {
        decision: "deny",
        rule: `"${shown}" matches "${guarded}", which no tool may write`,
        source: BUILT_IN,
        change: "It is built in and can't be changed.",
      };
    }
    const theirs = hit(autonomy.sensitiveFiles);
    const secret =
      theirs ?? (autonomy.allowSensitiveFiles === false ? secretBuiltIn(spellings, matchPath) : undefined);
    const isTheirs = theirs !== undefined;
    if (secret !== undefined) {
      return {
        decision: "deny",
        rule: `"${shown}" matches the sensitive file pattern "${secret}"`,
        source: isTheirs ? layer.source : BUILT_IN,
        ...(isTheirs && placeIn(layer, "autonomy", "sensitiveFiles")),
        change: isTheirs
          ? `Remove it from autonomy.sensitiveFiles in ${layer.source}.`
          : `Set autonomy.allowSensitiveFiles: true in ${isScope(layer) ? layer.source : "your own config file"}.`,
      };
    }
  }
  return undefined;
}

/** A template holds no secret; a link that is called like one may lead to a file that does. */
function secretBuiltIn(spellings: readonly string[], matchPath: PathMatcher): string | undefined {
  // Nearly always: the exceptions needn't be asked.
  if (matchPath(SENSITIVE_FILES, spellings) === undefined) return undefined;
  return matchPath(
    SENSITIVE_FILES,
    spellings.filter((one) => matchPath(NOT_SENSITIVE, [one]) === undefined),
  );
}
