import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
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
): Promise<string> {
  const said = hints.explicit ?? hints.host;
  const path = said ?? (await firstRoot(roots)) ?? hints.cwd;
  const [found, real] = await Promise.all([stat(path), realpath(path)]).catch(() => []);
  if (found?.isDirectory() !== true || real === undefined) {
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
