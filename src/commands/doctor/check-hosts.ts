import { stat } from "node:fs/promises";
import { toCamelError } from "../../shared/errors.ts";
import { isObject } from "../../shared/is-object.ts";
import { findProgram } from "../install/find.ts";
import { HOST_IDS, hostOf, type Entry, type HostId, type Scope } from "../install/hosts.ts";
import { pathsOf, type Machine } from "../install/machine.ts";
import { fileOf, serversIn } from "../install/register.ts";
import type { Finding } from "./doctor.ts";

/** Every entry of ours in every host's file, and whether what it starts is still there. */
export async function checkRegistrations(machine: Machine): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const id of HOST_IDS) {
    for (const scope of ["user", "project"] as const) {
      if (hostOf(id)[scope] !== undefined) findings.push(...(await checkHost(id, scope, machine)));
    }
  }
  if (findings.length > 0) return findings;
  return [
    {
      check: "hosts",
      status: "warn",
      says: "registered in no host",
      remedy: "camel-mcp install --list shows the hosts; camel-mcp install HOST registers.",
    },
  ];
}

async function checkHost(id: HostId, scope: Scope, machine: Machine): Promise<Finding[]> {
  const { title, local } = hostOf(id);
  try {
    const file = await fileOf(id, scope, machine);
    if (file.text === undefined) return [];
    const found: Finding[] = [];
    const again = (name: string): string =>
      `camel-mcp install ${id}${scope === "project" ? " --scope project" : ""} --name ${name}`;
    for (const [name, entry] of await serversIn(id, file))
      found.push(...(await checkEntry(`${title}, "${name}" in ${file.path}`, name, entry, again, machine)));
    if (local === undefined || scope === "project") return found;
    for (const [name, entry] of await serversIn(id, file, local.keys(machine))) {
      const where = `${title}, "${name}" for this folder in ${file.path}`;
      found.push(...(await checkEntry(where, name, entry, (one) => local.remove(one), machine)));
    }
    return found;
  } catch (error) {
    const { message } = toCamelError(error);
    return [
      {
        check: "hosts",
        status: "warn",
        says: `${title}: ${message}`,
        remedy: "Correct it; the host can't read it either.",
      },
    ];
  }
}

async function checkEntry(
  where: string,
  name: string,
  entry: Entry,
  remedy: (name: string) => string,
  machine: Machine,
): Promise<Finding[]> {
  const start = launchOf(entry);
  if (!isOurs(name, start, entry)) return [];
  const missing = start === undefined ? undefined : await missingPart(start, machine);
  return missing === undefined
    ? [{ check: "hosts", status: "ok", says: where }]
    : [{ check: "hosts", status: "fail", says: `${where}: ${missing} is not there.`, remedy: remedy(name) }];
}

/** The argv an entry starts, whatever its host calls the parts. */
function launchOf(entry: Entry): string[] | undefined {
  const inner = isObject(entry["transport"]) ? entry["transport"] : entry;
  const command: unknown = inner["command"] ?? inner["cmd"];
  const args: unknown = inner["args"];
  const all: unknown[] = [
    ...(Array.isArray(command) ? (command as unknown[]) : [command]),
    ...(Array.isArray(args) ? (args as unknown[]) : []),
  ];
  return all.every((one) => typeof one === "string") ? all : undefined;
}

function isOurs(name: string, start: readonly string[] | undefined, entry: Entry): boolean {
  return name === "camel" || (start ?? [JSON.stringify(entry)]).some((word) => word.includes("camel-mcp"));
}

/** The program, or the script that Node is given, if it can't be found. */
async function missingPart(start: readonly string[], machine: Machine): Promise<string | undefined> {
  const [program = "", ...rest] = start;
  if ((await findProgram(program, machine)) === undefined) return program;
  const paths = pathsOf(machine);
  const runsScript = /^node(?:\.exe)?$/.test(paths.basename(program));
  const script = runsScript ? rest.find((word) => !word.startsWith("-")) : undefined;
  if (script === undefined || !paths.isAbsolute(script)) return undefined;
  return (await stat(script).catch(() => undefined)) === undefined ? script : undefined;
}
