import { join } from "node:path";
import { realpathOfDeepestAncestor } from "./shared/paths.ts";

/** Everything in the home but `agents/`, where other agents' memories live. */
const STATE = [
  "approvals",
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
];

/**
 * The product's own state holds tokens, config and keys: no tool may reach it, save an agent's memory below it. By its
 * real names too: a link to the home, or to the config file, must not open a way round.
 */
export async function ownState(home: string, configFile: string): Promise<string[]> {
  const [realHome, realConfig] = await Promise.all([realName(home), realName(configFile)]);
  const folders = [home, realHome].flatMap((one) => [...STATE.map((name) => join(one, name)), `${one}.key`]);
  // The config file wherever --config put it: who may write it decides about everything.
  return [...new Set([...folders, configFile, realConfig])];
}

function realName(path: string): Promise<string> {
  return realpathOfDeepestAncestor(path).catch(() => path);
}
