import { configFingerprint, configPaths, loadWorkspaceLayer, type ConfigLayer } from "./load.ts";
import type { Config } from "./schema.ts";
import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/log.ts";

/** How long a file is taken to be as it was. */
const CHECK_MS = 250;
const MOST_FOLDERS = 100;

interface Opened {
  layer: Promise<ConfigLayer | undefined>;
  fingerprint: string;
  user: Config;
  until: number;
}

/**
 * The policy of workspaces that only a client names, by its roots: at the start nobody knew of them. A file that can't
 * be read refuses every call there, as it may have been to refuse this one.
 */
export function createOpenedWorkspaces(options: {
  home: string;
  /** The user's own file, and what it says. */
  userFile: string;
  user: () => Config;
  clock: Clock;
  log: Logger;
}): (folder: string) => Promise<ConfigLayer | undefined> {
  const { clock, home, log, userFile } = options;
  const opened = new Map<string, Opened>();

  const load = async (path: string, user: Config): Promise<ConfigLayer | undefined> => {
    const warnings: string[] = [];
    const layer = await loadWorkspaceLayer(path, { path: userFile, config: user }, warnings);
    for (const warning of warnings) log.warn(warning);
    return layer;
  };

  return async function layerOf(folder) {
    const user = options.user();
    const known = opened.get(folder);
    const now = clock.monotonic();
    if (known?.user === user && now < known.until) return known.layer;
    const path = configPaths(home, folder).workspace ?? "";
    const fingerprint = await configFingerprint({ user: path, workspace: undefined });
    const isSame = known?.user === user && known.fingerprint === fingerprint;
    const layer = isSame ? known.layer : load(path, user);
    opened.set(folder, { layer, fingerprint, user, until: now + CHECK_MS });
    const [oldest] = opened.keys();
    if (opened.size > MOST_FOLDERS && oldest !== undefined) opened.delete(oldest);
    return layer;
  };
}
