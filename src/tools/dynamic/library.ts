import { realpathSync } from "node:fs";
import { CamelError } from "../../shared/errors.ts";
import { createSealedFolder, type Refused } from "../../stores/sealed-folder.ts";
import { createQuality, type QualityStore } from "../../stores/quality.ts";
import { createSecrets } from "../../stores/secrets.ts";
import type { Caller, ToolContext } from "../context.ts";
import type { ToolDef } from "../tool.ts";
import { asTool, type AsToolOptions } from "./as-tool.ts";
import type { World } from "./check-definition.ts";
import { createEvolution, type Evolution } from "./evolution.ts";
import { TOOLS_FOLDER, type DynamicToolsOptions } from "./registry.ts";
import { sessionOf } from "./session.ts";
import { callsOf, type StoredTool, type ToolVersion } from "./stored.ts";

/** The stored tools and those of the sessions of this process, and how each becomes a tool. */
export interface Library {
  /** Reads what changed on disk; true where the list of tools did. */
  load(): Promise<boolean>;
  visible(caller: Caller): readonly ToolDef[];
  find(name: string, caller: Caller): StoredTool | undefined;
  all(caller: Caller): StoredTool[];
  /** Files that couldn't be opened, and why. */
  refused(): readonly Refused[];
  /** Reads, changes and writes a tool; undefined removes it. Other processes wait meanwhile. */
  change(
    name: string,
    work: (current: StoredTool | undefined) => StoredTool | undefined,
  ): Promise<StoredTool | undefined>;
  /** Keeps a tool for the caller's session only. */
  keepForSession(tool: StoredTool, caller: Caller): void;
  removeFromSession(name: string, caller: Caller): boolean;
  /** The tool as it would be, without keeping it. */
  onTrial(stored: StoredTool, version: ToolVersion): ToolDef;
  world(context: ToolContext): Promise<World>;
  evolution: Evolution;
  quality: QualityStore;
  close(): Promise<void>;
}

interface Entry {
  stored: StoredTool;
  tool: ToolDef;
}

export function createLibrary(options: DynamicToolsOptions): Library {
  const keyring = {
    home: options.home,
    env: options.env,
    keychain: options.settings().dynamicTools.keychain,
    clock: options.clock,
  };
  const store = createSealedFolder<StoredTool>({ ...keyring, folder: TOOLS_FOLDER, kind: "tool" });
  const secrets = createSecrets(keyring);
  const quality = createQuality({ ...keyring, log: options.log });
  const evolution = createEvolution({ quality, change: (name, work) => change(name, work) });
  let entries = new Map<string, Entry>();
  let refused: readonly Refused[] = [];
  const sessions = new Map<string, Map<string, Entry>>();
  const workspaces = new Map<string, string>();
  const usualWorkspace = realpathOr(options.workspace);

  const toolOf = (name: string): ToolDef | undefined =>
    options.builtin().find((tool) => tool.name === name) ?? entries.get(name)?.tool;
  const asToolOptions: AsToolOptions = {
    env: options.env,
    toolOf,
    secret: (name) => secrets.get(name),
    after: (outcome, context) => evolution.after(outcome, context),
  };

  let loading: Promise<unknown> = Promise.resolve();
  /** One at a time: of two that overlap, the one that looked first could finish last and bring back the past. */
  const load = (): Promise<boolean> => {
    const next = loading.then(loadNow, loadNow);
    loading = next;
    return next;
  };
  const loadNow = async (): Promise<boolean> => {
    const found = await store.load();
    const before = entries;
    const next = new Map<string, Entry>();
    const changed = new Set<string>();
    for (const [name, stored] of found.items) {
      const known = before.get(name);
      if (known?.stored !== stored) changed.add(name);
      next.set(name, known?.stored === stored ? known : { stored, tool: asTool(stored, asToolOptions) });
    }
    const gone = [...before.keys()].filter((name) => !next.has(name));
    if (changed.size > 0 || gone.length > 0) {
      // What a tool may claim follows from the tools it calls, so those that call others are made anew.
      for (const [name, { stored }] of next)
        if (!changed.has(name) && callsOf(stored).length > 0)
          next.set(name, { stored, tool: asTool(stored, asToolOptions) });
    }
    for (const one of found.refused) {
      if (!refused.some((known) => known.file === one.file))
        options.log.warn(`the tool "${one.name}" can't be used: ${one.why}. The file is kept as ${one.file}`);
    }
    entries = next;
    refused = found.refused;
    return changed.size > 0 || gone.length > 0;
  };

  const inProject = (stored: StoredTool, caller: Caller): boolean =>
    stored.project === undefined || stored.project === (workspaces.get(sessionOf(caller)) ?? usualWorkspace);

  const entriesFor = (caller: Caller): Entry[] => {
    const own = sessions.get(sessionOf(caller));
    const shared = [...entries.values()].filter(
      (entry) => inProject(entry.stored, caller) && own?.has(entry.stored.name) !== true,
    );
    return own === undefined ? shared : [...own.values(), ...shared];
  };

  const find = (name: string, caller: Caller): StoredTool | undefined => {
    const own = sessions.get(sessionOf(caller))?.get(name)?.stored;
    if (own !== undefined) return own;
    const shared = entries.get(name)?.stored;
    return shared !== undefined && inProject(shared, caller) ? shared : undefined;
  };

  const change: Library["change"] = async (name, work) => {
    const { maxTools } = options.settings().dynamicTools;
    const result = await store.change(name, (current, names) => {
      const next = work(current);
      if (current === undefined && next !== undefined && names.length >= maxTools) {
        throw new CamelError(
          "limit_reached",
          `There are ${names.length} tools already; ${maxTools} are allowed.`,
          {
            next: "Delete tools that nobody uses (tool_create {action: list} shows their use), or raise dynamicTools.maxTools.",
          },
        );
      }
      return next;
    });
    await load();
    options.onChange();
    return result;
  };

  return {
    load,
    visible: (caller) => entriesFor(caller).map((entry) => entry.tool),
    find,
    all: (caller) => entriesFor(caller).map((entry) => entry.stored),
    refused: () => refused,

    change,
    evolution,
    quality,

    keepForSession(stored, caller) {
      const own = sessions.get(sessionOf(caller)) ?? new Map<string, Entry>();
      if (own.size >= MOST_A_SESSION && !own.has(stored.name))
        throw new CamelError("limit_reached", `A session may keep ${MOST_A_SESSION} tools of its own.`, {
          next: "Delete some, or make it with scope: global.",
        });
      own.set(stored.name, { stored, tool: asTool(stored, asToolOptions) });
      remember(sessions, sessionOf(caller), own);
      options.onChange();
    },
    removeFromSession(name, caller) {
      const removed = sessions.get(sessionOf(caller))?.delete(name) === true;
      if (removed) options.onChange();
      return removed;
    },
    // A trial says nothing about how the tool does in use.
    onTrial: (stored, version) =>
      asTool(stored, { ...asToolOptions, after: () => Promise.resolve(undefined) }, version),

    async world(context) {
      const workspace = await context.workspace("read");
      remember(workspaces, sessionOf(context.caller), workspace);
      return {
        env: options.env,
        workspace,
        tool: (name) => context.dynamicTools.known(name, context.caller),
        callsOf: (name) => {
          const stored = find(name, context.caller);
          return stored === undefined ? [] : callsOf(stored);
        },
      };
    },
    async close() {
      await evolution.close();
      await quality.flush();
    },
  };
}

const MOST_SESSIONS = 500;
const MOST_A_SESSION = 50;

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_SESSIONS && oldest !== undefined) map.delete(oldest);
}

function realpathOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
