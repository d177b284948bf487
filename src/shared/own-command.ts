import { homedir } from "node:os";
import { join } from "node:path";

/** Where state is kept unless somebody says otherwise. */
export const defaultHome = (): string => join(homedir(), ".camelagi");

/** A command line of ours for a person to type in any terminal; it reaches the state of this very process. */
export function ownCommand(words: string, home: string): string {
  return `npx camel-mcp ${words}${home === defaultHome() ? "" : ` --home ${JSON.stringify(home)}`}`;
}
