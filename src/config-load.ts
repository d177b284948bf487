import { constants } from "node:fs";
import { open, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Document, LineCounter } from "yaml";
import type { z } from "zod";
import { defaultConfig } from "./config-defaults.ts";
import type { Config, Rule } from "./config.ts";
import { CamelError } from "./shared/errors.ts";
import { closest } from "./shared/glob.ts";
import { VERSION } from "./shared/version.ts";

/** A policy source in force: the user's file, the workspace's file, or the flags; strictest of all wins. */
export interface ConfigLayer {
  source: string;
  config: Config;
}

export interface LoadedConfig {
  /** Settings that aren't policy; from the user's file. */
  settings: Config;
  /** Each decides on its own, the strictest answer wins: so a layer can only narrow. */
  layers: ConfigLayer[];
  /** What the workspace file asked for and may not have. */
  warnings: string[];
}

export interface ConfigPaths {
  user: string;
  workspace: string | undefined;
}

export function configPaths(home: string, workspace: string | undefined, explicit?: string): ConfigPaths {
  return {
    user: explicit ?? join(home, "config.yaml"),
    workspace: workspace === undefined ? undefined : join(workspace, ".camelagi", "config.yaml"),
  };
}

/** Changes whenever a file's content may have changed; cheap enough to ask before a call. */
export async function configFingerprint(paths: ConfigPaths): Promise<string> {
  const marks = await Promise.all(
    [paths.user, paths.workspace].map(async (path) => {
      if (path === undefined) return "-";
      const found = await stat(path).catch(() => undefined);
      return found === undefined ? "-" : `${found.ino}:${found.size}:${found.mtimeMs}`;
    }),
  );
  return marks.join("|");
}

export async function loadConfig(
  paths: ConfigPaths,
  options: { userFileRequired?: boolean } = {},
): Promise<LoadedConfig> {
  const user = await readConfigFile(paths.user);
  if (user === undefined && options.userFileRequired === true) {
    throw new CamelError("invalid_config", `${paths.user}: no such file.`, {
      next: "Create it, or start without --config.",
    });
  }
  const warnings: string[] = [];
  const settings = user ?? defaultConfig;
  const layers: ConfigLayer[] = [
    { source: user === undefined ? "built-in defaults" : paths.user, config: settings },
  ];
  if (paths.workspace !== undefined) {
    const workspace = await readConfigFile(paths.workspace);
    if (workspace !== undefined) {
      layers.push({
        source: paths.workspace,
        config: narrowed(workspace, settings, paths.workspace, warnings),
      });
    }
  }
  return { settings: withWorkspaceLimits(settings, layers), layers, warnings };
}

/**
 * The workspace file comes with a repository that somebody else wrote. Its policy is one more layer and so can
 * only narrow; what has no narrower side (ports, roots, the audit log) is reported and ignored.
 */
function narrowed(workspace: Config, user: Config, source: string, warnings: string[]): Config {
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
  const withoutAllow = (rules: readonly Rule[]): Rule[] => rules.filter((rule) => rule.decision !== "allow");
  const rules = withoutAllow(workspace.rules);
  const scopes = workspace.scopes.map((scope) => ({ ...scope, rules: withoutAllow(scope.rules) }));
  if ([workspace, ...workspace.scopes].some((one) => one.rules.some((rule) => rule.decision === "allow")))
    ignore("a rule with decision: allow", "a workspace file may only ask or deny.");
  if (workspace.approvals.allowlist.length > 0)
    ignore("approvals.allowlist", "only your own config file may let calls pass without asking.");
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
    if (workspace.limits[key] > user.limits[key] && workspace.limits[key] !== defaultConfig.limits[key]) {
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

function withWorkspaceLimits(settings: Config, layers: ConfigLayer[]): Config {
  const all = layers.map((layer) => layer.config);
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

async function readConfigFile(path: string): Promise<Config | undefined> {
  let text: string;
  try {
    text = await readRegularFile(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return undefined;
    throw new CamelError(
      "invalid_config",
      `${path}: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
        next: "Make the file readable, or remove it.",
      },
    );
  }
  return parseConfig(text, path);
}

const MAX_CONFIG_BYTES = 1_000_000;

/** A repository may put a link to a device or a pipe there, or an endless file: none of those is waited for. */
async function readRegularFile(path: string): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new Error("not a regular file.");
    if (found.size > MAX_CONFIG_BYTES) throw new Error(`longer than ${MAX_CONFIG_BYTES} bytes.`);
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** Parses and validates; every complaint names file, line, column and key. yaml is loaded only when there is a file. */
export async function parseConfig(text: string, path: string): Promise<Config> {
  const { parseDocument, LineCounter } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const [broken] = document.errors;
  if (broken !== undefined) {
    const at = lines.linePos(broken.pos[0]);
    throw new CamelError("invalid_config", `${path}:${at.line}:${at.col}: ${broken.message}`, {
      next: "Fix the YAML there and save; the file is read again by itself.",
      details: { file: path, line: at.line, column: at.col },
    });
  }
  const { configSchema } = await import("./config.ts");
  const parsed = configSchema.safeParse(document.toJS({ maxAliasCount: 50 }) ?? {});
  if (!parsed.success) throw configError(parsed.error, configSchema, document, lines, path);
  const { exampleMatches } = await import("./pipeline/rules.ts");
  checkRuleExamples(parsed.data, exampleMatches, (key) => positionOf(key, document, lines), path);
  if (parsed.data.cron.jobs.length > 0) {
    const { checkJobs } = await import("./config-jobs.ts");
    checkJobs(parsed.data, (key) => positionOf(key, document, lines), path);
  }
  return parsed.data;
}

/** `file:line` of a key in a config file as it is now; the file alone where the key can't be found. */
export async function locateInConfig(path: string, key: readonly PropertyKey[]): Promise<string> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return path;
  const { parseDocument, LineCounter } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  return `${path}:${positionOf(key, document, lines).line}`;
}

function configError(
  error: z.ZodError,
  schema: z.ZodType,
  document: Document,
  lines: LineCounter,
  path: string,
): CamelError {
  const complaints = error.issues.flatMap((issue) => {
    if (issue.code !== "unrecognized_keys") return [{ key: issue.path, text: issue.message }];
    const known = knownKeys(schema, issue.path);
    return issue.keys.map((key) => {
      const guess = closest(key, known);
      const hint = guess === undefined ? `Known here: ${known.join(", ")}.` : `Did you mean "${guess}"?`;
      return { key: [...issue.path, key], text: `unknown key. ${hint}` };
    });
  });
  const [first = { key: [], text: "invalid" }, ...rest] = complaints;
  const at = positionOf(first.key, document, lines);
  const isUnknown = error.issues.some((issue) => issue.code === "unrecognized_keys");
  const more =
    rest.length === 0 ? "" : ` (and ${rest.length} more: ${rest.map((one) => one.key.join(".")).join(", ")})`;
  return new CamelError(
    "invalid_config",
    `${path}:${at.line}:${at.column}: ${first.key.join(".") || "config"}: ${first.text}${more}`,
    {
      next: `Fix the key there and save; the file is read again by itself.${isUnknown ? ` A key that a newer camel-mcp brought is not known to ${VERSION}.` : ""}`,
      details: { file: path, line: at.line, column: at.column, key: first.key.join(".") },
    },
  );
}

/** The keys that may stand at a place in the file, read off the schema so that they can't drift from it. */
function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  // zod's own shape walk: unwrap defaults and arrays down to the object that refused the key.
  let node: unknown = schema;
  const unwrap = (value: unknown): unknown => {
    let current = value;
    for (let i = 0; i < 8; i++) {
      if (typeof current !== "object" || current === null || !("_zod" in current)) return current;
      const def = (current as { _zod: { def: { innerType?: unknown; element?: unknown } } })._zod.def;
      if (def.innerType !== undefined) current = def.innerType;
      else if (def.element !== undefined) current = def.element;
      else return current;
    }
    return current;
  };
  for (const part of path) {
    node = unwrap(node);
    if (typeof part === "number") continue;
    node = (node as { shape?: Record<string, unknown> }).shape?.[String(part)];
  }
  return Object.keys((unwrap(node) as { shape?: Record<string, unknown> })?.shape ?? {});
}

function positionOf(
  key: readonly PropertyKey[],
  document: Document,
  lines: LineCounter,
): { line: number; column: number } {
  for (let depth = key.length; depth >= 0; depth--) {
    const parent =
      depth === 0 ? document.contents : (document.getIn(key.slice(0, depth - 1), true) ?? document.contents);
    const range = rangeOf(parent, depth === 0 ? undefined : key[depth - 1]);
    if (range !== undefined) {
      const at = lines.linePos(range);
      return { line: at.line, column: at.col };
    }
  }
  return { line: 1, column: 1 };
}

/** Where a key itself stands (not its value), or where a list's item begins. */
function rangeOf(node: unknown, key: PropertyKey | undefined): number | undefined {
  const startOf = (value: unknown): number | undefined =>
    typeof value === "object" && value !== null && "range" in value && Array.isArray(value.range)
      ? Number(value.range[0])
      : undefined;
  if (key === undefined) return startOf(node);
  const items =
    typeof node === "object" && node !== null && "items" in node && Array.isArray(node.items)
      ? node.items
      : [];
  if (typeof key === "number") return startOf(items[key]);
  for (const pair of items) {
    const name = (pair as { key?: { value?: unknown } }).key;
    if (name?.value === key) return startOf(name);
  }
  return undefined;
}

function checkRuleExamples(
  config: Config,
  matches: (rule: Rule, example: string) => boolean,
  position: (key: readonly PropertyKey[]) => { line: number; column: number },
  path: string,
): void {
  const groups: [readonly Rule[], PropertyKey[]][] = [
    [config.rules, ["rules"]],
    ...config.scopes.map((scope, index): [readonly Rule[], PropertyKey[]] => [
      scope.rules,
      ["scopes", index, "rules"],
    ]),
  ];
  for (const [rules, prefix] of groups) {
    for (const [index, rule] of rules.entries()) {
      const examples = [
        ...(rule.match ?? []).map((text, at) => ({ text, wanted: true, key: ["match", at] })),
        ...(rule.notMatch ?? []).map((text, at) => ({ text, wanted: false, key: ["notMatch", at] })),
      ];
      for (const example of examples) {
        if (matches(rule, example.text) === example.wanted) continue;
        const at = position([...prefix, index, ...example.key]);
        const fault = example.wanted ? "should match but doesn't" : "shouldn't match but does";
        throw new CamelError(
          "invalid_config",
          `${path}:${at.line}:${at.column}: ${prefix.join(".")}.${index}: the example "${example.text}" ${fault}.`,
          { next: "Correct the rule's pattern or the example.", details: { file: path, ...at } },
        );
      }
    }
  }
}
