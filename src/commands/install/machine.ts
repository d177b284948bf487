import { posix, win32, type PlatformPath } from "node:path";

/** The facts of a computer that decide where a host keeps its config; passed in, so that all three kinds are tested. */
export interface Machine {
  platform: NodeJS.Platform;
  env: NodeJS.ProcessEnv;
  home: string;
  cwd: string;
}

export function pathsOf(machine: Machine): PlatformPath {
  return machine.platform === "win32" ? win32 : posix;
}

/** Below the user's home folder, in the machine's own notation. */
export function inHome(machine: Machine, ...parts: string[]): string {
  return pathsOf(machine).join(machine.home, ...parts);
}

export function inProject(machine: Machine, ...parts: string[]): string {
  return pathsOf(machine).join(machine.cwd, ...parts);
}

/** Where desktop programs keep their settings: Application Support, AppData\Roaming or ~/.config. */
export function inAppData(machine: Machine, ...parts: string[]): string {
  const { platform, env } = machine;
  if (platform === "win32")
    return pathsOf(machine).join(env["APPDATA"] || inHome(machine, "AppData", "Roaming"), ...parts);
  if (platform === "darwin") return inHome(machine, "Library", "Application Support", ...parts);
  return inXdgConfig(machine, ...parts);
}

/** ~/.config on every platform, for command-line programs that follow XDG everywhere. */
export function inXdgConfig(machine: Machine, ...parts: string[]): string {
  return pathsOf(machine).join(machine.env["XDG_CONFIG_HOME"] || inHome(machine, ".config"), ...parts);
}
