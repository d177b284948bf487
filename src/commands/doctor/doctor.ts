import type { CommandContext } from "../../cli.ts";
import { toCamelError } from "../../shared/errors.ts";
import { camelOptions } from "../options.ts";
import { thisMachine } from "../install/install.ts";
import { checkConfig, checkNode, checkPort, checkTokens, checkWorkspace, policySummary } from "./checks.ts";
import { checkJournal, checkStores } from "./check-stores.ts";
import { checkRegistrations } from "./check-hosts.ts";

export interface Finding {
  check: string;
  status: "ok" | "warn" | "fail";
  says: string;
  remedy?: string;
}

/** Looks at everything a working installation needs and changes nothing. Exit 1 if something fails. */
export async function doctor(context: CommandContext): Promise<number> {
  const { flags, print } = context;
  const { camel, findings } = await checkConfig(camelOptions(context));
  const checks: [string, () => Finding[] | Promise<Finding[]>][] = [
    ["node", () => checkNode(process.versions.node)],
    ["config", () => findings],
    ["policy", () => policySummary(camel, context.agentId)],
    ["stores", () => checkStores(camel.home)],
    ["journal", () => checkJournal(camel.home)],
    ["workspace", () => checkWorkspace(context)],
    ["tokens", () => checkTokens(camel)],
    ["port", () => checkPort(camel.config().settings.http)],
    ["hosts", () => checkRegistrations(thisMachine())],
  ];
  const all: Finding[] = [];
  for (const [check, look] of checks) {
    try {
      all.push(...(await look()));
    } catch (error) {
      const { message, next } = toCamelError(error);
      all.push({ check, status: "fail", says: message, ...(next === undefined ? {} : { remedy: next }) });
    }
  }
  await camel.close();
  const isFailing = all.some((one) => one.status === "fail");
  if (flags.json === true) print(`${JSON.stringify({ ok: !isFailing, findings: all }, null, 2)}\n`);
  else {
    for (const { check, status, says, remedy } of all) {
      print(`${status.padEnd(5)} ${check.padEnd(10)} ${says}\n`);
      if (remedy !== undefined) print(`${" ".repeat(17)}${remedy}\n`);
    }
  }
  return isFailing ? 1 : 0;
}
