import { randomBytes } from "node:crypto";
import { access, constants, readdir, stat, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf } from "../../shared/errors.ts";
import type { Finding } from "./doctor.ts";

/** Every folder of the state directory takes a new file; a directory that isn't there yet can be made. */
export async function checkStores(home: string): Promise<Finding[]> {
  const found = await stat(home).catch(() => undefined);
  if (found === undefined) {
    const parent = await nearestFolder(home);
    const canCreate = (await stat(parent)).isDirectory() && (await isWritable(parent));
    return canCreate
      ? [{ check: "stores", status: "ok", says: `${home} will be made at the first use` }]
      : [
          {
            check: "stores",
            status: "fail",
            says: `${home} is not there, and ${parent} can't be written to.`,
            remedy: "Give another folder with --home or CAMELAGI_HOME.",
          },
        ];
  }
  if (!found.isDirectory())
    return [
      {
        check: "stores",
        status: "fail",
        says: `${home} is a file; the state needs a folder.`,
        remedy: "Move the file away, or give another folder with --home or CAMELAGI_HOME.",
      },
    ];
  const entries = await readdir(home, { withFileTypes: true });
  const folders = [home, ...entries.filter((one) => one.isDirectory()).map((one) => join(home, one.name))];
  const findings: Finding[] = [];
  for (const folder of folders) {
    const probe = join(folder, `.doctor-${randomBytes(6).toString("hex")}`);
    try {
      await writeFile(probe, "x", { flag: "wx" });
      await unlink(probe);
    } catch (error) {
      findings.push({
        check: "stores",
        status: "fail",
        says: `${folder} can't be written to: ${messageOf(error)}.`,
        remedy: "Correct its owner and rights, free some space, or give another folder with --home.",
      });
    }
  }
  findings.push(...(await openToOthers([home, join(home, "config.yaml")])));
  return findings.length > 0
    ? findings
    : [{ check: "stores", status: "ok", says: `${home} can be written to` }];
}

/** Who can write there decides about policy, tokens and tools. */
async function openToOthers(paths: readonly string[]): Promise<Finding[]> {
  if (process.platform === "win32") return [];
  const findings: Finding[] = [];
  for (const path of paths) {
    const mode = (await stat(path).catch(() => undefined))?.mode ?? 0;
    if ((mode & 0o022) !== 0)
      findings.push({
        check: "stores",
        status: "warn",
        says: `${path} can be changed by other users of this computer.`,
        remedy: `chmod go-w ${path}`,
      });
  }
  return findings;
}

export function isWritable(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** A patch whose process died leaves its journal; the next patch undoes or finishes it. */
export async function checkJournal(home: string): Promise<Finding[]> {
  const open = join(home, "checkpoints", "open");
  const names = await readdir(open).catch(() => []);
  const unfinished = names.filter((name) => name.endsWith(".json") || name.endsWith(".done"));
  if (unfinished.length === 0) return [{ check: "journal", status: "ok", says: "no unfinished patch" }];
  return [
    {
      check: "journal",
      status: "warn",
      says: `${unfinished.length} unfinished patch${unfinished.length === 1 ? "" : "es"}: ${unfinished.join(", ")} in ${open}`,
      remedy:
        "If no patch is running now, the next apply_patch call puts the files right, whatever it does itself.",
    },
  ];
}

async function nearestFolder(path: string): Promise<string> {
  const parent = dirname(path);
  return parent === path || (await stat(parent).catch(() => undefined)) !== undefined
    ? parent
    : nearestFolder(parent);
}
