import type { CommandContext } from "../cli.ts";
export function install(context: CommandContext): Promise<number> {
  context.print("");
  return Promise.resolve(1);
}
