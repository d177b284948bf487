import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "./clock.ts";
import { CamelError } from "./errors.ts";

export interface WorkspaceHints {
  /** `--workspace` or CAMEL_WORKSPACE: the user's word, so any folder will do. */
  explicit: string | undefined;
  /** CLAUDE_PROJECT_DIR, set by the host. */
  host: string | undefined;
  cwd: string;
}

/**
 * The folder that file tools work in: what the user said, what the host says, the client's first root, then the
 * current folder. The file system's root and the home folder are refused for writing unless the user named them.
 */
export async function resolveWorkspace(
  hints: WorkspaceHints,
  roots: () => Promise<readonly string[]>,
  access: "read" | "write",
  folders: FolderNames,
): Promise<string> {
  const said = hints.explicit ?? hints.host;
  const path = said ?? (await firstRoot(roots)) ?? hints.cwd;
  const real = await folders.find(path);
  if (real === undefined) {
    throw new CamelError("workspace_unsafe", `The workspace "${path}" is not a folder.`, {
      next: "Start the server with --workspace pointing to an existing folder.",
    });
  }
  if (
    access === "write" &&
    hints.explicit === undefined &&
    (dirname(real) === real || real === (await realpath(homedir()).catch(homedir)))
  ) {
    throw new CamelError(
      "workspace_unsafe",
      `The workspace would be "${real}", which is too wide to write in.`,
      {
        next: "Ask the user to start the server with --workspace and the project's folder.",
      },
    );
  }
  return real;
}

/** Real names of folders. */
export interface FolderNames {
  /** Undefined where there is no folder. */
  find(path: string): Promise<string | undefined>;
}

/** How long a folder is taken to be where it was: every call asks, and a thread must look each time. */
const KNOWN_MS = 250;

export function createFolderNames(clock: Clock): FolderNames {
  let last: { path: string; real: string; until: number } | undefined;
  return {
    async find(path) {
      if (last?.path === path && clock.monotonic() < last.until) return last.real;
      const [found, real] = await Promise.all([stat(path), realpath(path)]).catch(() => []);
      if (found?.isDirectory() !== true || real === undefined) return undefined;
      last = { path, real, until: clock.monotonic() + KNOWN_MS };
      return real;
    },
  };
}

async function firstRoot(roots: () => Promise<readonly string[]>): Promise<string | undefined> {
  for (const uri of await roots()) {
    if (uri.startsWith("file://")) {
      try {
        return fileURLToPath(uri);
      } catch {
        continue;
      }
    }
  }
  return undefined;
}
