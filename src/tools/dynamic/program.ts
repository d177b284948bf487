import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, constants, realpath, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { CamelError } from "../../shared/errors.ts";
import { isInside } from "../../shared/paths.ts";

/** A program as found when the tool was made; every call runs this very file. */
export interface ProgramPin {
  /** As written in the template. */
  program: string;
  path: string;
  sha256?: string;
}

const FALLBACK_PATH = "/usr/local/bin:/usr/bin:/bin";

/** Folders that programs are looked for in. What lies in the workspace comes from somebody else's repository. */
export function programFolders(env: NodeJS.ProcessEnv, workspace: string): string[] {
  const path = env["PATH"] ?? (process.platform === "win32" ? (env["Path"] ?? "") : FALLBACK_PATH);
  return path.split(delimiter).filter((folder) => isAbsolute(folder) && !isInside(workspace, folder));
}

export async function pinProgram(
  program: string,
  options: { env: NodeJS.ProcessEnv; workspace: string; hash: boolean },
): Promise<ProgramPin> {
  const path = await findProgram(program, options);
  if (path === undefined) {
    throw new CamelError("not_found", `There is no program "${program}" to run.`, {
      next: "Use a program that is installed, or give its absolute path.",
    });
  }
  return { program, path, ...(options.hash ? { sha256: await sha256Of(path) } : {}) };
}

async function findProgram(
  program: string,
  { env, workspace }: { env: NodeJS.ProcessEnv; workspace: string },
): Promise<string | undefined> {
  if (/[/\\]/.test(program)) {
    const path = resolve(workspace, program);
    return (await isProgram(path)) ? path : undefined;
  }
  const endings = process.platform === "win32" ? ["", ".exe", ".com"] : [""];
  for (const folder of programFolders(env, workspace)) {
    for (const ending of endings) {
      const path = join(folder, program + ending);
      if (await isProgram(path)) return path;
    }
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) return false;
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Whether the pinned file is still there, and still the same where a hash was taken. */
export async function checkPin(pin: ProgramPin): Promise<void> {
  if (!(await isProgram(pin.path))) {
    throw new CamelError("not_found", `The program ${pin.path} is gone.`, {
      next: "Install it again, or update the tool so that the program is looked up anew.",
    });
  }
  if (pin.sha256 !== undefined && (await sha256Of(pin.path)) !== pin.sha256) {
    throw new CamelError("denied_by_policy", `The program ${pin.path} has changed since the tool was made.`, {
      next: "If that is right (an upgrade), update the tool so that the new file is pinned.",
    });
  }
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(await realpath(path)), hash);
  return hash.digest("hex");
}
