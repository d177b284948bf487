import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { configFingerprint, configPaths, loadConfig, type LoadedConfig } from "./config-load.ts";
import { defaultConfig } from "./config.ts";
import { access, judge, type AccessOptions } from "./pipeline/access.ts";
import { answerErrors } from "./pipeline/answer-errors.ts";
import { audit } from "./pipeline/audit.ts";
import type { Call } from "./pipeline/call.ts";
import { FORBIDDEN_PATHS, type Verdict } from "./pipeline/policy.ts";
import { shapeOutput } from "./pipeline/shape-output.ts";
import { timeout } from "./pipeline/timeout.ts";
import { createDispatcher, type Dispatcher } from "./server/dispatcher.ts";
import { createMemoryResources, type MemoryResources } from "./server/resources.ts";
import { systemClock, type Clock } from "./shared/clock.ts";
import { CamelError, toCamelError } from "./shared/errors.ts";
import { isAgentId, newId } from "./shared/ids.ts";
import { silentLogger, type Logger } from "./shared/log.ts";
import { resolveWorkspace } from "./shared/workspace.ts";
import { createFileAudit, type AuditStore } from "./stores/audit.ts";
import { createFileResults } from "./stores/file-results.ts";
import type { ToolContext } from "./tools/context.ts";
import { createDynamicTools } from "./tools/dynamic/registry.ts";
import { builtinTools, toolsOfTier } from "./tools/index.ts";
import type { ToolDef } from "./tools/tool.ts";

/** READ FIRST. Everything is made and wired here; nothing below reaches for a global. */
export interface CamelOptions {
  /** State directory. Default: CAMELAGI_HOME or ~/.camelagi. */
  home?: string;
  workspace?: string;
  memoryRoot?: string;
  /** Path of the user's config file. Default: config.yaml in `home`. */
  configFile?: string;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  clock?: Clock;
  log?: Logger;
  /** Tools besides the built-in ones. */
  tools?: readonly ToolDef[];
}

export interface Camel {
  home: string;
  dispatcher: Dispatcher;
  resources: MemoryResources;
  config(): LoadedConfig;
  /** Reads the config again if its files changed. A broken edit keeps the last good one and says so in the log. */
  refresh(): Promise<void>;
  /** What policy would say to a call, without running it. */
  explain(call: Call): Promise<Verdict>;
  /** Called when the list of tools may have changed; returns how to stop listening. */
  onToolsChanged(listener: () => void): () => void;
  /** Flushes what is pending. */
  close(): Promise<void>;
}

/** Agents other than this one have a memory of their own. */
export const MAIN_AGENT = "main";
const CONFIG_CHECK_MS = 250;
/** Short enough that a tool made in one host is in another's list within a second. */
const POLL_MS = 500;

export async function createCamel(options: CamelOptions = {}): Promise<Camel> {
  const env = options.env ?? process.env;
  const cwd = options.cwd ?? process.cwd();
  const clock = options.clock ?? systemClock;
  const log = options.log ?? silentLogger;
  const home = resolve(cwd, options.home ?? env["CAMELAGI_HOME"] ?? join(homedir(), ".camelagi"));
  const hints = {
    explicit: absolute(cwd, options.workspace ?? env["CAMEL_WORKSPACE"]),
    host: env["CLAUDE_PROJECT_DIR"],
    cwd,
  };

  const configFile = absolute(cwd, options.configFile ?? env["CAMEL_CONFIG"]);
  const paths = configPaths(home, hints.explicit ?? hints.host ?? cwd, configFile);
  let fingerprint = await configFingerprint(paths);
  let loaded = await loadConfig(paths, { userFileRequired: configFile !== undefined });
  for (const warning of loaded.warnings) log.warn(warning);
  const config = (): LoadedConfig => loaded;

  const listeners = new Set<() => void>();
  let checkedAt = clock.monotonic();
  const refresh = async (): Promise<void> => {
    await refreshConfig();
    await dynamicTools.refresh();
  };
  const refreshConfig = async (): Promise<void> => {
    if (clock.monotonic() - checkedAt < CONFIG_CHECK_MS) return;
    checkedAt = clock.monotonic();
    const current = await configFingerprint(paths);
    if (current === fingerprint) return;
    fingerprint = current;
    try {
      loaded = await loadConfig(paths);
      for (const warning of loaded.warnings) log.warn(warning);
      log.info("config reloaded");
      for (const listener of listeners) listener();
    } catch (error) {
      log.error(`config not reloaded, the last good one stays in force: ${toCamelError(error).message}`);
    }
  };
  let poll: { cancel(): void } | undefined;
  const schedulePoll = (): void => {
    poll = clock.setTimeout(() => {
      void refresh().finally(() => {
        if (listeners.size > 0) schedulePoll();
      });
    }, POLL_MS);
  };

  const settings = (): LoadedConfig["settings"] => loaded.settings;
  const results = createFileResults({
    directory: join(home, "results"),
    clock,
    maxAgeHours: () => settings().results.maxAgeHours,
    maxCount: () => settings().results.maxCount,
  });
  const fileAudit = createFileAudit({
    path: join(home, "audit", "audit.jsonl"),
    maxBytes: () => settings().audit.maxBytes,
    keep: () => settings().audit.keep,
    log,
  });
  const auditStore: AuditStore = {
    append: (entry) => {
      if (settings().audit.enabled) fileAudit.append(entry);
    },
    flush: () => fileAudit.flush(),
  };

  const builtin = (): ToolDef[] => [...toolsOfTier(settings().tools.tier), ...(options.tools ?? [])];
  const dynamicTools = createDynamicTools({
    home,
    env,
    clock,
    log,
    settings,
    builtin: () => [...builtinTools, ...(options.tools ?? [])],
    workspace: hints.explicit ?? hints.host ?? cwd,
    onChange: () => {
      for (const listener of listeners) listener();
    },
  });

  const contextFor = (call: Call): ToolContext => {
    const workspace: ToolContext["workspace"] = (wanted) =>
      resolveWorkspace(hints, call.roots ?? noRoots, wanted);
    return {
      caller: call.caller,
      callId: call.id,
      signal: call.signal,
      clock,
      log,
      home,
      results,
      settings,
      workspace,
      memoryRoot: async () => {
        const { agentId } = call.caller;
        const base = absolute(cwd, options.memoryRoot ?? env["CAMEL_MEMORY_ROOT"] ?? settings().memory.root);
        if (agentId === MAIN_AGENT) return base ?? workspace("read");
        if (!isAgentId(agentId)) throw new CamelError("unauthorized", `"${agentId}" is not an agent id.`);
        return join(base ?? home, "agents", agentId);
      },
      progress: (update) => call.progress?.(update),
      dynamicTools,
      callTool: (name, args, nested = {}) =>
        dispatcher.call({
          ...call,
          id: newId("call"),
          name,
          args,
          caller: nested.own === true ? call.caller : { ...call.caller, depth: call.caller.depth + 1 },
          signal: nested.signal ?? call.signal,
          approved: nested.approved === true,
          trial: nested.trial,
        }),
      runner: () => Promise.resolve(undefined),
    };
  };

  // The product's own state holds tokens, config and keys: no tool may reach it, save an agent's memory below it.
  const accessOptions: AccessOptions = {
    config,
    forbidden: [...FORBIDDEN_PATHS, ...stateFolders(home), `${home}.key`.replaceAll("\\", "/")],
  };

  const dispatcher = createDispatcher({
    config,
    contextFor,
    tools: (caller) => [...builtin(), ...dynamicTools.visible(caller)],
    ready: () => dynamicTools.refresh(),
    outer: [
      audit({ store: auditStore, clock }), // first, so that it sees every refusal
      shapeOutput({ results, outputChars: () => settings().limits.outputChars }), // outside errors: those may be long too
      answerErrors({ log }), // from here inwards things may throw
    ],
    inner: [
      access({ ...accessOptions }), // before anything that costs or waits
      timeout({ clock, seconds: () => settings().limits.timeoutSeconds }), // innermost: only the tool's own time counts
    ],
  });

  return {
    home,
    dispatcher,
    resources: createMemoryResources({ dispatcher, contextFor }),
    config,
    refresh,
    explain: async (call) => judge(await dispatcher.resolve(call), accessOptions),
    onToolsChanged(listener) {
      listeners.add(listener);
      if (listeners.size === 1) schedulePoll();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) poll?.cancel();
      };
    },
    async close() {
      poll?.cancel();
      listeners.clear();
      await dynamicTools.close();
      await auditStore.flush();
    },
  };
}

/** Everything in the home but `agents/`, where other agents' memories live. */
function stateFolders(home: string): string[] {
  return [
    "audit",
    "results",
    "checkpoints",
    "index",
    "cron",
    "hooks",
    "keys",
    "tools",
    "secrets",
    "quality",
    "locks",
    "passphrase.salt",
    "tokens.json",
    "config.yaml",
  ].map((name) => join(home, name).replaceAll("\\", "/"));
}

function absolute(cwd: string, path: string | undefined): string | undefined {
  return path === undefined || path === "" ? undefined : resolve(cwd, path);
}

const noRoots = (): Promise<readonly string[]> => Promise.resolve([]);

export { defaultConfig };
