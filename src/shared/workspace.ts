import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { CamelError } from "./errors.ts";
import { lookAt } from "./look.ts";

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
  if (lookAt(path)?.isDirectory() !== true) {
    throw new CamelError("workspace_unsafe", `The workspace "${path}" is not a folder.`, {
      next: "Start the server with --workspace pointing to an existing folder.",
    });
  }
  const real = realpathSync.native(path);
  if (access === "write" && hints.explicit === undefined && (dirname(real) === real || real === realHome())) {
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

function realHome(): string {
  try {
    return realpathSync.native(homedir());
  } catch {
    return homedir();
  }
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
