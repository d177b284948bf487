import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { defaultConfig } from "./defaults.ts";
import { narrowed, refuseEndless, withUsers, withWorkspaceLimits } from "./narrow.ts";
import type { ParsedConfig } from "./parse.ts";
import type { Config } from "./schema.ts";
import { CamelError, codeOf, messageOf } from "../shared/errors.ts";

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
  const user = (await readConfigFile(paths.user))?.config;
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
    const layer = await loadWorkspaceLayer(paths.workspace, { path: paths.user, config: settings }, warnings);
    if (layer !== undefined) layers.push(layer);
  }
  const all = layers.map((layer) => layer.config);
  return { settings: withWorkspaceLimits(settings, all), layers, warnings };
}

/**
 * A workspace's file as it may count beside the user's; undefined where there is none. Hosts that start a server in
 * the home folder make the user's own file look like one.
 */
export async function loadWorkspaceLayer(
  path: string,
  user: { path: string; config: Config },
  warnings: string[],
): Promise<ConfigLayer | undefined> {
  const [own, theirs] = await Promise.all(
    [user.path, path].map((one) => stat(one, { bigint: true }).catch(() => undefined)),
  );
  if (own !== undefined && own.ino === theirs?.ino && own.dev === theirs.dev) return undefined;
  const workspace = await readConfigFile(path, refuseEndless);
  if (workspace === undefined) return undefined;
  return {
    source: path,
    config: narrowed(withUsers(workspace, user.config), user.config, path, warnings),
  };
}

async function readConfigFile(
  path: string,
  check?: (config: Config, path: string) => void,
): Promise<ParsedConfig | undefined> {
  let text: string;
  try {
    text = await readRegularFile(path, check === undefined ? MOST_BYTES : MOST_BYTES_OF_WORKSPACE);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return undefined;
    throw new CamelError("invalid_config", `${path}: ${messageOf(error)}`, {
      cause: error,
      next: "Make it a file that can be read, or remove it.",
    });
  }
  // Most homes have no config file: then neither yaml nor the schema is loaded.
  const { parseConfig } = await import("./parse.ts");
  return parseConfig(text, path, check);
}

const MOST_BYTES = 1_000_000;
/** To look for keys that stand twice takes the square of how many there are: of a megabyte, minutes. */
const MOST_BYTES_OF_WORKSPACE = 50_000;

/** A repository may put a link to a device or a pipe there, or an endless file: none of those is waited for. */
async function readRegularFile(path: string, mostBytes: number): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new Error("not a regular file.");
    if (found.size > mostBytes) throw new Error(`longer than ${mostBytes} bytes.`);
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}
