import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "../shared/log.ts";

/**
 * A run lives in a process of its own, in its own session: it goes on when the server, its group or its terminal
 * is killed, and writes the result itself.
 */
export function supervise(options: {
  id: string;
  uid: string;
  seq: number;
  home: string;
  workspace?: string | undefined;
  configFile?: string | undefined;
  log: Logger;
}): void {
  // Loaded here: most servers start no run, and every start would pay for the module.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(
    process.execPath,
    [
      commandLineEntry(),
      "cron",
      "supervise",
      options.id,
      options.uid,
      String(options.seq),
      "--home",
      options.home,
      ...(options.configFile === undefined ? [] : ["--config", options.configFile]),
      ...(options.workspace === undefined ? [] : ["--workspace", options.workspace]),
    ],
    { detached: true, stdio: "ignore", windowsHide: true },
  );
  // The claim stays: whoever sweeps next tries again.
  child.once("error", (error) =>
    options.log.error(`cron: ${options.id} could not be started: ${error.message}`),
  );
  child.unref();
}

let found: string | undefined;

/** The CLI beside whatever this is bundled into, or the built one where the sources run. */
function commandLineEntry(): string {
  if (found !== undefined) return found;
  let folder = dirname(fileURLToPath(import.meta.url));
  for (let height = 0; height < 4; height++) {
    for (const candidate of [join(folder, "cli.js"), join(folder, "dist", "cli.js")]) {
      if (existsSync(candidate)) return (found = candidate);
    }
    folder = dirname(folder);
  }
  throw new Error("cli.js is not beside this package's files");
}
