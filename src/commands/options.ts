import type { CamelOptions } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { CamelError } from "../shared/errors.ts";

export function camelOptions({ flags, log }: CommandContext): CamelOptions {
  return {
    log,
    ...(flags.home === undefined ? {} : { home: flags.home }),
    ...(flags.workspace === undefined ? {} : { workspace: flags.workspace }),
    ...(flags["memory-root"] === undefined ? {} : { memoryRoot: flags["memory-root"] }),
    ...(flags.config === undefined ? {} : { configFile: flags.config }),
  };
}

export function usageError(message: string): CamelError {
  return new CamelError("usage", message, { next: "See camel-mcp --help." });
}
