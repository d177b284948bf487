import type { Config } from "./config/schema.ts";
import type { LoadedConfig } from "./config/load.ts";
import type { LiveConfig } from "./config/live.ts";
import type { Clock } from "./shared/clock.ts";
import { CamelError } from "./shared/errors.ts";
import type { Logger } from "./shared/log.ts";
import { whenThere, type MaybePromise } from "./shared/when-there.ts";
import type { Caller } from "./tools/context.ts";
import { createDynamicTools, type DynamicTools } from "./tools/dynamic/registry.ts";
import { builtinTools, toolsOfTier } from "./tools/index.ts";
import type { ToolDef } from "./tools/tool.ts";

/** The tools as they are now: built-in ones, the library user's, the config's scripts, and those that agents made. */
export interface LiveTools {
  dynamic: DynamicTools;
  /** Those that exist for a caller, before policy. */
  existing(caller: Caller): readonly ToolDef[];
  /** Loads what this or another process changed in config and tools. */
  refresh(): Promise<void>;
  /** The same for every call: the tools of others are looked for now and then only. */
  ready(): MaybePromise<void>;
  /** To be called when the config is another one. */
  configChanged(): Promise<void>;
  /** Called when the list may have changed; returns how to stop listening. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** A tool that another process changed or removed is so here after at most this time. */
const LOOK_MS = 100;
/** Short enough that a tool made in one host is in another's list within a second. */
const POLL_MS = 500;

export async function createLiveTools(options: {
  home: string;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  log: Logger;
  config: LiveConfig;
  /** Tools besides the built-in ones. */
  added: readonly ToolDef[];
  /** The tools that policy lists to a caller. */
  listed: (caller: Caller) => readonly ToolDef[];
  /** The workspace of callers who haven't shown theirs yet. */
  workspace: string;
}): Promise<LiveTools> {
  const { home, env, clock, log, config, added, listed, workspace } = options;
  checkNames(added);
  const settings = (): LoadedConfig["settings"] => config.current().settings;
  const listeners = new Set<() => void>();
  const tellListeners = (): void => {
    for (const listener of listeners) listener();
  };

  const scriptsOf = async ({ clientTools: definitions }: Config): Promise<ToolDef[]> => {
    if (definitions.length === 0) return [];
    const { createClientTools } = await import("./tools/client-tools/client-tools.ts");
    const taken = new Set([...builtinTools, ...added].map((tool) => tool.name));
    const made = createClientTools(definitions, taken, env);
    for (const warning of made.warnings) log.warn(warning);
    return made.tools;
  };
  let scripts: readonly ToolDef[] = [];
  /** All but those that agents made. */
  let own: readonly ToolDef[] = [];
  const load = async (): Promise<void> => {
    scripts = await scriptsOf(settings());
    own = [...toolsOfTier(settings().tools.tier), ...added, ...scripts];
  };
  await load();

  const dynamic = createDynamicTools({
    home,
    env,
    clock,
    log,
    settings,
    builtin: () => [...builtinTools, ...added, ...scripts],
    listed,
    workspace,
    onChange: tellListeners,
  });

  let lookedAt = Number.NEGATIVE_INFINITY;
  /** Undefined while none is under way. */
  let looking: Promise<void> | undefined;
  const look = (): Promise<void> => {
    lookedAt = clock.monotonic();
    const current = dynamic.refresh().finally(() => {
      if (looking === current) looking = undefined;
    });
    return (looking = current);
  };
  const refresh = async (): Promise<void> => {
    await config.refresh();
    await look();
  };

  let poll: { cancel(): void } | undefined;
  const schedulePoll = (): void => {
    poll = clock.setTimeout(() => {
      void refresh().finally(() => {
        if (listeners.size > 0) schedulePoll();
      });
    }, POLL_MS);
  };

  return {
    dynamic,
    existing(caller) {
      const made = dynamic.visible(caller);
      return made.length === 0 ? own : [...own, ...made];
    },
    refresh,
    ready: () =>
      whenThere(config.refresh(), () => (clock.monotonic() - lookedAt < LOOK_MS ? looking : look())),
    async configChanged() {
      await load();
      tellListeners();
    },
    onChange(listener) {
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
      await dynamic.close();
    },
  };
}

/** What hosts take. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** A tool that nobody could call, or that is called in place of another, is a mistake of the program that adds it. */
function checkNames(added: readonly ToolDef[]): void {
  const names = new Set(builtinTools.map((tool) => tool.name));
  for (const { name } of added) {
    if (!TOOL_NAME.test(name))
      throw new CamelError("invalid_input", `"${name}" can't be the name of a tool.`, {
        next: "Use up to 64 letters, digits, dots, dashes and underscores.",
      });
    if (names.has(name))
      throw new CamelError("already_exists", `There is a tool "${name}" already.`, {
        next: "Give yours another name.",
      });
    names.add(name);
  }
}
