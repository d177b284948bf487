import { access, constants, stat } from "node:fs/promises";
import { HOST_IDS, hostOf, type HostId, type Scope } from "./hosts.ts";
import { pathsOf, type Machine } from "./machine.ts";

export interface FoundHost {
  id: HostId;
  title: string;
  /** Its program is on PATH, or its settings folder exists. */
  isHere: boolean;
  files: { scope: Scope; path: string; exists: boolean }[];
}

export async function findHosts(machine: Machine): Promise<FoundHost[]> {
  return Promise.all(
    HOST_IDS.map(async (id) => {
      const host = hostOf(id);
      const files: FoundHost["files"] = [];
      for (const scope of ["user", "project"] as const) {
        const candidates = host[scope]?.(machine) ?? [];
        const there = await Promise.all(candidates.map(isThere));
        const path = candidates[Math.max(0, there.indexOf(true))];
        if (path !== undefined) files.push({ scope, path, exists: there.includes(true) });
      }
      const byFile = await Promise.all(
        host.user(machine).map(async (path) => {
          const folder = pathsOf(machine).dirname(path);
          return (await isThere(path)) || (folder !== machine.home && (await isThere(folder)));
        }),
      );
      const program = host.program === undefined ? undefined : await findProgram(host.program, machine);
      return { id, title: host.title, isHere: program !== undefined || byFile.includes(true), files };
    }),
  );
}

/** A program as the shell would find it, or the path itself if it is one and exists. */
export async function findProgram(name: string, machine: Machine): Promise<string | undefined> {
  const paths = pathsOf(machine);
  const isWindows = machine.platform === "win32";
  const endings = isWindows ? ["", ...(machine.env["PATHEXT"] ?? ".EXE;.CMD;.BAT").split(";")] : [""];
  const folders =
    paths.isAbsolute(name) || /[/\\]/.test(name)
      ? [machine.cwd]
      : (machine.env["PATH"] ?? machine.env["Path"] ?? "").split(paths.delimiter).filter((one) => one !== "");
  for (const folder of folders) {
    for (const ending of endings) {
      const path = paths.resolve(folder, name + ending);
      const found = await stat(path).catch(() => undefined);
      if (found?.isFile() !== true) continue;
      if (
        await access(path, constants.X_OK).then(
          () => true,
          () => false,
        )
      )
        return path;
    }
  }
  return undefined;
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
