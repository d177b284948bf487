import { CamelError } from "../../shared/errors.ts";
import { hostOf, type Entry, type HostId, type Scope } from "./hosts.ts";
import { pathsOf, type Machine } from "./machine.ts";

/** What the user wants registered. */
export interface Request {
  name: string;
  scope: Scope;
  /** Instead of `npx -y camel-mcp`. */
  command?: string;
  url?: string;
  tokenEnv?: string;
  /** Flags for the server's own command line, because some hosts pass it neither folder nor environment. */
  passed: Partial<Record<"workspace" | "memory-root" | "agent" | "config" | "home", string>>;
}

export function entryFor(id: HostId, request: Request, machine: Machine): Entry {
  const host = hostOf(id);
  const { name, url, tokenEnv } = request;
  if (url === undefined)
    return host.stdio({ name, ...launch(request, machine, passedArgs(request, machine)) });
  const remote = host.http({ name, url, tokenEnv });
  if (remote !== undefined) return remote;
  // A bridge on stdio for hosts that can't connect, or can't take a token from the environment.
  const token = tokenEnv === undefined ? [] : ["--token-env", tokenEnv];
  return host.stdio({ name, ...launch(request, machine, ["connect", url, ...token]) });
}

const PACKAGE = ["npx", "-y", "camel-mcp"];

function launch(
  { command }: Request,
  { platform }: Machine,
  args: readonly string[],
): { command: string; args: string[] } {
  const [program = "", ...rest] = command === undefined ? PACKAGE : words(command);
  // On Windows npx and its like are batch files, which only cmd can start.
  const isBatch = /^(?:npx|npm|pnpm|pnpx|yarn|bunx)$|\.(?:cmd|bat)$/i.test(program);
  return platform === "win32" && isBatch
    ? { command: "cmd", args: ["/c", program, ...rest, ...args] }
    : { command: program, args: [...rest, ...args] };
}

function passedArgs({ passed, scope }: Request, machine: Machine): string[] {
  const paths = new Set(["workspace", "memory-root", "config", "home"]);
  return Object.entries(passed).flatMap(([flag, value]) => {
    // A project file is shared, so its paths stay as written; a variable of the host's stays in any case.
    const isAbsoluteNow = paths.has(flag) && scope === "user" && !value.includes("${");
    return [`--${flag}`, isAbsoluteNow ? pathsOf(machine).resolve(machine.cwd, value) : value];
  });
}

/** Splits at blanks; quotes keep blanks together. */
function words(command: string): string[] {
  const found = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? "",
  );
  if (found.length === 0) throw new CamelError("usage", "--command is empty.");
  return found;
}
