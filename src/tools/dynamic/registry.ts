import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../config/schema.ts";
import type { Clock } from "../../shared/clock.ts";
import { toCamelError } from "../../shared/errors.ts";
import type { Logger } from "../../shared/log.ts";
import type { Caller } from "../context.ts";
import type { ToolDef } from "../tool.ts";
import type { Library } from "./library.ts";

/**
 * The tools that agents made, as the rest of the product sees them. Light on purpose, because it is on every
 * host's start-up path: one stat says whether there is anything, and only then is the library loaded.
 */
export interface DynamicTools {
  /** Loads what this or another process has changed since. */
  refresh(): Promise<void>;
  /** The dynamic tools that exist for a caller. */
  visible(caller: Caller): readonly ToolDef[];
  /** The names of those among them that policy lets the caller use. */
  usable(caller: Caller): ReadonlySet<string>;
  /** Any tool by its name, built-in ones too. */
  known(name: string, caller: Caller): ToolDef | undefined;
  library(): Promise<Library>;
  /** Writes what is still pending and stops what still runs. */
  close(): Promise<void>;
}

export interface DynamicToolsOptions {
  home: string;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  log: Logger;
  settings: () => Config;
  /** The tools that nobody may shadow. */
  builtin: () => readonly ToolDef[];
  /** The tools that policy lists to a caller. */
  listed: (caller: Caller) => readonly ToolDef[];
  /** The workspace of callers who haven't shown theirs yet. */
  workspace: string;
  onChange: () => void;
}

export const TOOLS_FOLDER = "tools";

export function createDynamicTools(options: DynamicToolsOptions): DynamicTools {
  const folder = join(options.home, TOOLS_FOLDER);
  let loading: Promise<Library> | undefined;
  let loaded: Library | undefined;
  let seen = "";
  let refreshing: Promise<void> | undefined;
  /** What the first look finds is no news: nobody was shown a list before it. */
  let isFirstLook = true;

  const library = (): Promise<Library> =>
    (loading ??= import("./library.ts").then((module) => (loaded = module.createLibrary(options))));

  const reload = async (mark: string): Promise<void> => {
    try {
      const isNews = !isFirstLook;
      const changed = await (await library()).load();
      // A change within the clock's grain of the last look would leave the same mark: look again next time.
      seen = options.clock.now() - Number(mark.split(":")[1]) < GRAIN_MS ? "" : mark;
      if (changed && isNews) options.onChange();
    } catch (error) {
      seen = mark;
      options.log.error(`the tools that agents made can't be loaded: ${toCamelError(error).message}`);
    }
  };

  const builtinNames = (): Set<string> => new Set(options.builtin().map((tool) => tool.name));

  return {
    async refresh() {
      if (!options.settings().dynamicTools.enabled) return;
      const mark = await markOf(folder);
      if (mark !== seen) await (refreshing ??= reload(mark).finally(() => (refreshing = undefined)));
      isFirstLook = false;
    },
    visible(caller) {
      if (loaded === undefined || !options.settings().dynamicTools.enabled) return [];
      const taken = builtinNames();
      return loaded.visible(caller).filter((tool) => !taken.has(tool.name));
    },
    usable: (caller) => new Set(options.listed(caller).map((tool) => tool.name)),
    known: (name, caller) =>
      options.builtin().find((tool) => tool.name === name) ??
      loaded?.visible(caller).find((tool) => tool.name === name),
    library,
    async close() {
      await loaded?.close();
    },
  };
}

const GRAIN_MS = 50;

function markOf(folder: string): Promise<string> {
  return stat(folder).then(
    (found) => `${found.ino}:${found.mtimeMs}`,
    () => "",
  );
}
