import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { CommandContext } from "../cli.ts";
import { configPaths } from "../config/load.ts";
import { CamelError, codeOf } from "../shared/errors.ts";
import { configTemplate } from "./config-template.ts";
import { scopeFrom } from "./install/install.ts";
import { say } from "./shell-call.ts";

/** `init`: a config file in which every setting is explained and commented out. Never overwrites. */
export async function init(context: CommandContext): Promise<number> {
  const { flags, print } = context;
  const scope = scopeFrom(flags.scope ?? "user");
  const cwd = process.cwd();
  const { env } = process;
  const home = resolve(cwd, flags.home ?? env["CAMELAGI_HOME"] ?? join(homedir(), ".camelagi"));
  const workspace = resolve(cwd, flags.workspace ?? env["CAMEL_WORKSPACE"] ?? ".");
  const explicit = flags.config ?? env["CAMEL_CONFIG"];
  const paths = configPaths(home, workspace, explicit === undefined ? undefined : resolve(cwd, explicit));
  const file = scope === "user" ? paths.user : (paths.workspace ?? paths.user);
  const text = configTemplate(scope);
  if (flags.print === true) {
    print(text);
    return 0;
  }
  await mkdir(dirname(file), { recursive: true, mode: scope === "user" ? 0o700 : 0o777 });
  try {
    await writeFile(file, text, { flag: "wx", mode: scope === "user" ? 0o600 : 0o666 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    throw new CamelError("already_exists", `${file} exists already; it was left as it is.`, {
      next: "See what a new one would hold with `camel-mcp init --print`.",
    });
  }
  say(
    context,
    { file, scope },
    `Wrote ${file}.\nTake the # away in front of what you want to change; \`camel-mcp doctor\` checks it.\n`,
  );
  return 0;
}
