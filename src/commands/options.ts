import type { CamelOptions } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { CamelError } from "../shared/errors.ts";
import { closest } from "../shared/glob.ts";

export function camelOptions({ flags, log }: CommandContext): CamelOptions {
  return {
    log,
    ...(flags.home === undefined ? {} : { home: flags.home }),
    ...(flags.workspace === undefined ? {} : { workspace: flags.workspace }),
    ...(flags["memory-root"] === undefined ? {} : { memoryRoot: flags["memory-root"] }),
    ...(flags.config === undefined ? {} : { configFile: flags.config }),
  };
}

/** The next step, the help page of the command, is added where it is printed. */
export function usageError(message: string): CamelError {
  return new CamelError("usage", message);
}

export function unknownAction(command: string, given: string, actions: readonly string[]): CamelError {
  const guess = closest(given, actions);
  const hint = guess === undefined ? "" : ` Did you mean "${guess}"?`;
  return usageError(
    given === ""
      ? `${command}: do what? One of ${actions.join(", ")}.`
      : `${command}: "${given}" is not one of ${actions.join(", ")}.${hint}`,
  );
}

/** A server or command started inside a job's run is part of that run, and may do no more than it. */
export function depthOf(env: NodeJS.ProcessEnv): number {
  const depth = Number(env["CAMEL_DEPTH"] ?? 0);
  return Number.isInteger(depth) && depth > 0 ? depth : 0;
}
