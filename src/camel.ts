import { join, resolve } from "node:path";
import { OneCallContext, type Shared } from "./call-context.ts";
import { configPaths, type LoadedConfig } from "./config/load.ts";
import { createLiveConfig } from "./config/live.ts";
import { createLiveTools } from "./live-tools.ts";
import { createOpenedWorkspaces } from "./config/opened-workspaces.ts";
import { ownState } from "./own-state.ts";
import { access, judge, stillAllowed, type AccessOptions } from "./pipeline/access.ts";
import { announceDue } from "./pipeline/announce-due.ts";
import { answerErrors } from "./pipeline/answer-errors.ts";
import { approvalGate } from "./pipeline/approval-gate.ts";
import { audit } from "./pipeline/audit.ts";
import { FORBIDDEN_PATHS } from "./pipeline/built-in-paths.ts";
import { cache } from "./pipeline/cache.ts";
import type { Call, Middleware } from "./pipeline/call.ts";
import { checkpoint } from "./pipeline/checkpoint.ts";
import { circuitBreaker } from "./pipeline/circuit-breaker.ts";
import { createEvents, emitEvents, type CamelEventType, type CamelListener } from "./pipeline/events.ts";
import { createHookRunner, hooks } from "./pipeline/hooks.ts";
import { limitsFor } from "./pipeline/limits.ts";
import { maxExecutions } from "./pipeline/max-executions.ts";
import type { Verdict } from "./pipeline/policy.ts";
import { createPromptHooks } from "./pipeline/prompt-hooks.ts";
import { rateLimit } from "./pipeline/rate-limit.ts";
import { retry } from "./pipeline/retry.ts";
import { shapeOutput } from "./pipeline/shape-output.ts";
import { timeout } from "./pipeline/timeout.ts";
import type { PromptHooks } from "./runners/create.ts";
import { createDispatcher, type Dispatcher } from "./server/dispatcher.ts";
import { withInbox } from "./server/inbox-resource.ts";
import { createMemoryResources, type MemoryResources } from "./server/resources.ts";
import { createSupervisors, type Supervisors } from "./server/supervise.ts";
import { systemClock, type Clock } from "./shared/clock.ts";
import { literalPath } from "./shared/glob.ts";
import { silentLogger, type Logger } from "./shared/log.ts";
import { defaultHome, ownCommand } from "./shared/own-command.ts";
import { createFolderNames } from "./shared/workspace.ts";
import { createFileApprovals, type ApprovalStore } from "./stores/approvals.ts";
import { createFileAudit } from "./stores/audit.ts";
import { finishInterruptedWrites } from "./stores/checkpoints/unfinished.ts";
import { createFileResults } from "./stores/file-results.ts";
import type { Inbox } from "./stores/inbox.ts";
import type { ToolDef, ToolLimits } from "./tools/tool.ts";

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
  random?: () => number;
  log?: Logger;
  /** Tools besides the built-in ones. */
  tools?: readonly ToolDef[];
  /**
   * Start although the config is broken, and refuse every call with the reason until it is fixed. A host shows a
   * server that failed to start as just that; a refused call reaches the model, which can tell the user.
   */
  startBroken?: boolean;
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
  /** Requests that wait for a person. */
  approvals: ApprovalStore;
  /** What happens to calls; returns how to stop listening. */
  on<T extends CamelEventType>(type: T, listener: CamelListener<T>): () => void;
  /** Called when the list of tools may have changed; returns how to stop listening. */
  onToolsChanged(listener: () => void): () => void;
  /** Called when a tool of this process changed a job; returns how to stop listening. */
  onJobsChanged(listener: () => void): () => void;
  /** The user's scripts around prompts; the runners call them. */
  promptHooks: PromptHooks;
  /** The value of `secret://name`, for the key of a runner's endpoint. */
  secret(name: string): Promise<string>;
  /** Start claimed runs in processes of their own. */
  supervisors: Supervisors;
  /** Flushes what is pending. */
  close(): Promise<void>;
}

/** Late enough to stay out of the way of the host's first questions. */
const RECOVERY_DELAY_MS = 500;

export async function createCamel(options: CamelOptions = {}): Promise<Camel> {
  const env = options.env ?? process.env;
  const cwd = options.cwd ?? process.cwd();
  const clock = options.clock ?? systemClock;
  const log = options.log ?? silentLogger;
  const home = resolve(cwd, options.home ?? env["CAMELAGI_HOME"] ?? defaultHome());
  const hints = {
    explicit: absolute(cwd, options.workspace ?? env["CAMEL_WORKSPACE"]),
    host: env["CLAUDE_PROJECT_DIR"],
    cwd,
  };

  const configFile = absolute(cwd, options.configFile ?? env["CAMEL_CONFIG"]);
  const paths = configPaths(home, hints.explicit ?? hints.host ?? cwd, configFile);
  const jobListeners = new Set<() => void>();
  const liveConfig = await createLiveConfig({
    paths,
    userFileRequired: configFile !== undefined,
    startBroken: options.startBroken === true,
    clock,
    log,
    onReload: () => tools.configChanged(),
  });
  const config = (): LoadedConfig => liveConfig.current();
  const settings = (): LoadedConfig["settings"] => config().settings;

  const tools = await createLiveTools({
    home,
    env,
    clock,
    log,
    config: liveConfig,
    added: options.tools ?? [],
    listed: (caller) => dispatcher.list(caller),
    workspace: hints.explicit ?? hints.host ?? cwd,
  });

  const results = createFileResults({
    directory: join(home, "results"),
    clock,
    maxAgeHours: () => settings().results.maxAgeHours,
    maxCount: () => settings().results.maxCount,
  });
  const auditStore = createFileAudit({
    path: join(home, "audit", "audit.jsonl"),
    enabled: () => settings().audit.enabled,
    maxBytes: () => settings().audit.maxBytes,
    keep: () => settings().audit.keep,
    log,
  });
  const supervisors = createSupervisors({
    home,
    configFile,
    memoryRoot: absolute(cwd, options.memoryRoot),
    clock,
    log,
  });
  const background = new Set<Promise<void>>();
  const accessOptions: AccessOptions = {
    config: () => liveConfig.inForce(),
    forbidden: [...FORBIDDEN_PATHS, ...(await ownState(home, paths.user)).map(literalPath)],
    // A workspace that somebody named is in the config already.
    ofWorkspace:
      (hints.explicit ?? hints.host) === undefined
        ? createOpenedWorkspaces({ home, userFile: paths.user, user: settings, clock, log })
        : undefined,
  };

  const limitsOf = (tool: ToolDef): ToolLimits => limitsFor(tool, settings());
  const events = createEvents((error) => log.warn(`a listener failed: ${String(error)}`));
  for (const type of ["approval_request", "approval_resolved"] as const)
    events.on(type, ({ type: event, agentId: agent, toolName: tool, ...facts }) => {
      const time = new Date(clock.now()).toISOString();
      auditStore.append(() => ({ time, event, tool, agent, ...facts }));
    });
  const hookRunner = createHookRunner({
    directory: join(home, "hooks"),
    enabled: () => settings().hooks.enabled,
    timeoutSeconds: () => settings().hooks.timeoutSeconds,
    clock,
    log,
  });
  const secret = async (name: string): Promise<string> => {
    const { createSecrets } = await import("./stores/secrets.ts");
    return createSecrets({ home, env, keychain: settings().dynamicTools.keychain, clock }).get(name);
  };
  let openInbox: Promise<Inbox> | undefined;
  const inbox = (): Promise<Inbox> =>
    (openInbox ??= import("./stores/inbox.ts").then(({ createFileInbox }) =>
      createFileInbox({ directory: join(home, "cron"), clock }),
    ));
  const promptHooks = createPromptHooks(hookRunner);
  const approvals = createFileApprovals({ directory: join(home, "approvals"), clock });
  const loadApproval = async (): Promise<Middleware> => {
    const [{ approval }, { createForward }, { addToAllowlist }] = await Promise.all([
      import("./pipeline/approval.ts"),
      import("./pipeline/approval-forward.ts"),
      import("./config/edit.ts"),
    ]);
    const keyFile = join(home, "keys", "approvals.key");
    return approval({
      store: approvals,
      clock,
      log,
      events,
      settings: () => settings().approvals,
      approveCommand: (id) => ownCommand(`approvals approve ${id}`, home),
      remember: async (entries) => {
        await addToAllowlist(paths.user, entries, clock);
        await liveConfig.reload();
      },
      forward: createForward({ store: approvals, keyFile, settings: () => settings().approvals, log }),
    });
  };

  const shared: Shared = {
    home,
    cwd,
    env,
    clock,
    log,
    results,
    settings,
    dynamicTools: tools.dynamic,
    dispatcher: () => dispatcher,
    access: accessOptions,
    hints,
    folders: createFolderNames(clock),
    memoryRoot: () => absolute(cwd, options.memoryRoot ?? env["CAMEL_MEMORY_ROOT"] ?? settings().memory.root),
    runnerOptions: () => ({ hooks: promptHooks, secret }),
    later(work, what) {
      const settled = work.catch((error: unknown) => log.warn(`after ${what}: ${String(error)}`));
      background.add(settled);
      void settled.finally(() => background.delete(settled));
    },
    jobsChanged() {
      for (const listener of jobListeners) listener();
    },
    audited: () => auditStore.written(),
    whereInConfig: async (key) => (await import("./config/parse.ts")).locateInConfig(paths.user, key),
    supervise: (run) => supervisors.start(run),
  };
  const contextFor = (call: Call): OneCallContext => new OneCallContext(shared, call);

  const dispatcher = createDispatcher({
    config,
    contextFor,
    tools: (caller) => tools.existing(caller),
    ready: () => tools.ready(),
    refresh: () => tools.refresh(),
    outer: [
      audit({ store: auditStore, clock }), // first, so that it sees every refusal
      emitEvents(events), // like audit, for listeners of the library
      hooks(hookRunner), // the user's scripts: may block before, see the result after
      announceDue({ clock, inbox, enabled: () => settings().cron.announce }), // outside shaping: the line must not be cut off
      shapeOutput({ results, outputChars: () => settings().limits.outputChars }), // outside errors: those may be long too
      answerErrors({ log }), // from here inwards things may throw
    ],
    inner: [
      access(accessOptions), // before anything that costs or waits
      rateLimit({ clock, limitsOf }), // before a person is bothered
      maxExecutions({ limitsOf }),
      approvalGate(loadApproval, (call) => stillAllowed(call, accessOptions)), // a person's time isn't the tool's
      cache({ clock, limitsOf, policy: config }), // after approval: an answer from memory needs leave too
      checkpoint({ home, bounds: () => settings().checkpoints, log }), // outside retry: what was before the first attempt counts
      retry({ clock, random: options.random ?? Math.random, limitsOf }),
      circuitBreaker({ clock, limitsOf }), // inside retry: every attempt counts
      timeout({
        clock,
        seconds: ({ tool, timeoutSeconds }) =>
          timeoutSeconds ?? limitsOf(tool).timeoutSeconds ?? settings().limits.timeoutSeconds,
      }), // innermost: only the tool's own time counts
    ],
  });

  let recovery = Promise.resolve();
  const recoveryTimer = clock.setTimeout(() => {
    recovery = finishInterruptedWrites(home, log);
  }, RECOVERY_DELAY_MS);

  return {
    home,
    dispatcher,
    resources: withInbox(createMemoryResources({ dispatcher, clock, contextFor }), {
      dispatcher,
      inbox,
      clock,
    }),
    config,
    refresh: () => tools.refresh(),
    explain: async (call) => (await judge(await dispatcher.resolve(call), accessOptions)).verdict,
    approvals,
    promptHooks,
    secret,
    on: (type, listener) => events.on(type, listener),
    onToolsChanged: (listener) => tools.onChange(listener),
    onJobsChanged(listener) {
      jobListeners.add(listener);
      return () => jobListeners.delete(listener);
    },
    supervisors,
    async close() {
      recoveryTimer.cancel();
      await recovery;
      await Promise.all(background);
      await supervisors.settled();
      await tools.close();
      await auditStore.flush();
    },
  };
}

function absolute(cwd: string, path: string | undefined): string | undefined {
  return path === undefined || path === "" ? undefined : resolve(cwd, path);
}
