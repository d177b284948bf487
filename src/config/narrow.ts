import { defaultConfig } from "./defaults.ts";
import type { ParsedConfig } from "./parse.ts";
import type { Config, Rule } from "./schema.ts";
import { CamelError } from "../shared/errors.ts";

/** What a workspace file leaves open is as the user has it, not as it is by default. */
export function withUsers({ config, given }: ParsedConfig, user: Config): Config {
  return {
    ...config,
    tools: { ...config.tools, tier: given.tools?.tier ?? user.tools.tier },
    limits: {
      tools: config.limits.tools,
      timeoutSeconds: given.limits?.timeoutSeconds ?? user.limits.timeoutSeconds,
      outputChars: given.limits?.outputChars ?? user.limits.outputChars,
    },
  };
}

/**
 * The workspace file comes with a repository that somebody else wrote. Its policy is one more layer and so can
 * only narrow; what has no narrower side (ports, roots, the audit log) is reported and ignored.
 */
export function narrowed(workspace: Config, user: Config, source: string, warnings: string[]): Config {
  const ignore = (what: string, why: string): void => {
    warnings.push(`${source}: ${what} is ignored: ${why}`);
  };
  const levels = ["readonly", "supervised", "full"];
  if (levels.indexOf(workspace.autonomy.level) > levels.indexOf(user.autonomy.level)) {
    ignore(
      `autonomy.level: ${workspace.autonomy.level}`,
      `your own config says ${user.autonomy.level}, which is stricter.`,
    );
  }
  if (workspace.autonomy.allowSensitiveFiles) {
    ignore("autonomy.allowSensitiveFiles", "only your own config file may allow sensitive files.");
  }
  if (TIERS.indexOf(workspace.tools.tier) > TIERS.indexOf(user.tools.tier)) {
    ignore(
      `tools.tier: ${workspace.tools.tier}`,
      `your own config says ${user.tools.tier}, which is stricter.`,
    );
  }
  const withoutAllow = (rules: readonly Rule[]): Rule[] => rules.filter((rule) => rule.decision !== "allow");
  const rules = withoutAllow(workspace.rules);
  const scopes = workspace.scopes.map((scope) => ({ ...scope, rules: withoutAllow(scope.rules) }));
  if ([workspace, ...workspace.scopes].some((one) => one.rules.some((rule) => rule.decision === "allow")))
    ignore("a rule with decision: allow", "a workspace file may only ask or deny.");
  if (workspace.approvals.allowlist.length > 0)
    ignore("approvals.allowlist", "only your own config file may let calls pass without asking.");
  for (const key of ["timeoutSeconds", "fallback", "elicitation", "forward"] as const) {
    if (workspace.approvals[key] !== defaultConfig.approvals[key])
      ignore(`approvals.${key}`, "only your own config file may say how a person is asked.");
  }
  if (workspace.tools.prefix !== undefined) ignore("tools.prefix", "a workspace file may only hold policy.");
  const usersOwn = [
    "memory",
    "audit",
    "results",
    "checkpoints",
    "http",
    "hooks",
    "clientTools",
    "cron",
    "runner",
    "shell",
    "urlAccess",
    "dynamicTools",
  ] as const;
  for (const key of usersOwn) {
    if (widensOrMoves(workspace, key)) {
      ignore(key, "a workspace file may only hold policy.");
    }
  }
  if (workspace.limits.tools.length > 0) ignore("limits.tools", "a workspace file may only hold policy.");
  for (const key of ["timeoutSeconds", "outputChars"] as const) {
    if (workspace.limits[key] > user.limits[key]) {
      ignore(
        `limits.${key}: ${workspace.limits[key]}`,
        `your own config says ${user.limits[key]}, which is stricter.`,
      );
    }
  }
  return {
    ...workspace,
    rules,
    scopes,
    autonomy: { ...workspace.autonomy, allowSensitiveFiles: user.autonomy.allowSensitiveFiles },
  };
}

/**
 * A glob can be written so that a long name keeps the matcher busy for hours. Left out it would protect nothing, so the
 * whole file is refused, before the examples of its rules are tried.
 */
export function refuseEndless(workspace: Config, source: string): void {
  for (const { autonomy, rules } of [workspace, ...workspace.scopes]) {
    const paths = rules.flatMap(({ path }) => (path === undefined ? [] : [path]));
    const endless = [...autonomy.forbiddenPaths, ...autonomy.sensitiveFiles, ...paths].find(
      (pattern) =>
        pattern.includes("(") ||
        pattern.split("**").length > MOST_STARS ||
        pattern.split("/").some((name) => name.split(/\*+/).length > MOST_STARS + 1),
    );
    if (endless !== undefined)
      throw new CamelError(
        "invalid_config",
        `${source}: the pattern "${endless}" could take too long to try.`,
        {
          next: `In a workspace's file a pattern has no parentheses, ** at most twice, and at most ${MOST_STARS} stars in a name.`,
        },
      );
  }
}

const MOST_STARS = 3;

/** Deny lists and a switch that turns something off only narrow; every other setting of these keys is the user's. */
function widensOrMoves(workspace: Config, key: keyof Config): boolean {
  const narrowing: Partial<Config> = {
    shell: { ...workspace.shell, deniedCommands: [] },
    urlAccess: { ...workspace.urlAccess, domainBlocklist: [] },
    dynamicTools: { ...workspace.dynamicTools, enabled: true },
  };
  return JSON.stringify(narrowing[key] ?? workspace[key]) !== JSON.stringify(defaultConfig[key]);
}

const TIERS = ["core", "extended", "full"] as const;

/** What both files limit is limited by the stricter one. */
export function withWorkspaceLimits(settings: Config, all: readonly Config[]): Config {
  return {
    ...settings,
    tools: {
      ...settings.tools,
      tier: TIERS[Math.min(...all.map((one) => TIERS.indexOf(one.tools.tier)))] ?? "core",
    },
    shell: { ...settings.shell, deniedCommands: all.flatMap((one) => one.shell.deniedCommands) },
    urlAccess: {
      ...settings.urlAccess,
      domainBlocklist: all.flatMap((one) => one.urlAccess.domainBlocklist),
    },
    dynamicTools: {
      ...settings.dynamicTools,
      enabled: all.every((one) => one.dynamicTools.enabled),
    },
    limits: {
      ...settings.limits,
      timeoutSeconds: Math.min(...all.map((one) => one.limits.timeoutSeconds)),
      outputChars: Math.min(...all.map((one) => one.limits.outputChars)),
    },
  };
}
