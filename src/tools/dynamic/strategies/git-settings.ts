import { lstat, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Settings of a repository that can't make git start a program. */
const HARMLESS_SECTION =
  /^(?:core|remote|branch|user|author|committer|submodule|color|init|pull|push|fetch|rebase|gc|advice|status|index|feature|maintenance|extensions|i18n|transfer|receive|pack)$/i;
const CORE_STARTS =
  /^(?:fsmonitor|pager|editor|sshcommand|hookspath|askpass|gitproxy|alternaterefscommand|worktree)$/i;
const EXTENSION_LOADS = /^worktreeconfig$/i;

/**
 * Why git, even when it only looks, may start a program here: a repository's own settings can name one, and a
 * repository may come from anybody. Undefined where they don't.
 */
export async function gitMayStart(folder: string): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const found = await lstat(join(at, ".git")).catch(() => undefined);
    if (found?.isDirectory() === true) {
      const text = await readFile(join(at, ".git", "config"), "utf8").catch(() => "");
      const setting = startingSetting(text);
      return setting === undefined ? undefined : `the repository's setting ${setting} may start a program`;
    }
    if (found !== undefined) return "the repository's settings are kept elsewhere and can't be looked at";
    // A folder that is laid out as a repository is one, with settings of its own.
    if ((await lstat(join(at, "HEAD")).catch(() => undefined)) !== undefined)
      return "the folder itself may be a repository with settings of its own";
    if (dirname(at) === at) return undefined;
  }
}

function startingSetting(text: string): string | undefined {
  let section = "";
  for (const line of text.split(/\r?\n/)) {
    const header = /^\s*\[\s*([\w.-]+)[^\]]*\]\s*(.*)$/.exec(line);
    if (header !== null) section = (header[1] ?? "").split(".")[0] ?? "";
    const setting = (header === null ? line : (header[2] ?? "")).trim();
    if (setting === "" || /^[#;]/.test(setting)) continue;
    const key = /^[\w-]+/.exec(setting)?.[0] ?? "";
    const starts =
      !HARMLESS_SECTION.test(section) ||
      (/^core$/i.test(section) && CORE_STARTS.test(key)) ||
      (/^extensions$/i.test(section) && EXTENSION_LOADS.test(key)) ||
      (/^remote$/i.test(section) && /^(?:uploadpack|receivepack|vcs)$/i.test(key));
    if (starts) return `${section}.${key}`;
  }
  return undefined;
}
