import { defaultConfig } from "./defaults.ts";
import { configFingerprint, loadConfig, type ConfigPaths, type LoadedConfig } from "./load.ts";
import type { Clock } from "../shared/clock.ts";
import { toCamelError, type CamelError } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import type { MaybePromise } from "../shared/when-there.ts";

/** The config as it is now. */
export interface LiveConfig {
  current(): LoadedConfig;
  /** The same for policy: throws as long as there was never a good one. */
  inForce(): LoadedConfig;
  /** Reads it again if its files changed, looking at most every 250 ms. A broken edit keeps the last good one. */
  refresh(): MaybePromise<void>;
  /** The same at once, for what we wrote ourselves. */
  reload(): Promise<void>;
}

const CHECK_MS = 250;

export async function createLiveConfig(options: {
  paths: ConfigPaths;
  /** A user file that was named must be there. */
  userFileRequired: boolean;
  /** Start although it is broken, and refuse every call with the reason. */
  startBroken: boolean;
  clock: Clock;
  log: Logger;
  /** Awaited after each change, before it is announced in the log. */
  onReload: () => Promise<void>;
}): Promise<LiveConfig> {
  const { clock, log, paths, userFileRequired } = options;
  let broken: CamelError | undefined;
  let fingerprint = await configFingerprint(paths);
  let checkedAt = clock.monotonic();
  let loaded = await loadConfig(paths, { userFileRequired }).catch((error: unknown): LoadedConfig => {
    if (!options.startBroken) throw error;
    broken = toCamelError(error);
    log.error(`every call is refused until the config is fixed: ${broken.message}`);
    return { settings: defaultConfig, layers: [], warnings: [] };
  });
  for (const warning of loaded.warnings) log.warn(warning);

  const reload = async (): Promise<void> => {
    const now = await configFingerprint(paths);
    if (now === fingerprint) return;
    fingerprint = now;
    try {
      loaded = await loadConfig(paths, { userFileRequired });
      broken = undefined;
      await options.onReload();
      for (const warning of loaded.warnings) log.warn(warning);
      log.info("config reloaded");
    } catch (error) {
      const problem = toCamelError(error);
      if (broken !== undefined) broken = problem;
      else log.error(`config not reloaded, the last good one stays in force: ${problem.message}`);
    }
  };

  return {
    reload,
    current: () => loaded,
    inForce() {
      if (broken !== undefined) throw broken;
      return loaded;
    },
    refresh() {
      const now = clock.monotonic();
      if (now - checkedAt < CHECK_MS) return undefined;
      checkedAt = now;
      return reload();
    },
  };
}
