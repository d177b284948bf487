import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { CamelError } from "../shared/errors.ts";
import type { ApprovalRequest, ApprovalStore } from "../stores/approvals.ts";
import { createPin } from "../stores/pin.ts";
import { camelOptions, usageError } from "./options.ts";

/**
 * `approvals list|show ID|approve ID|deny ID|pin`. Deciding needs a person at a terminal, and their PIN where one is
 * set: a model that may run commands must not be able to approve itself.
 */
export async function approvals(context: CommandContext): Promise<number> {
  const [action = "list", id] = context.words;
  const camel = await createCamel(camelOptions(context));
  const pin = createPin(join(camel.home, "approvals", "pin.json"));
  const json = context.flags.json === true;
  switch (action) {
    case "list": {
      const waiting = await camel.approvals.list();
      context.print(
        json
          ? `${JSON.stringify(waiting, null, 2)}\n`
          : waiting.map((one) => `${one.id}  ${one.tool.padEnd(16)} ${age(one)}  ${one.reason}\n`).join("") ||
              "Nothing waits for approval.\n",
      );
      return 0;
    }
    case "show": {
      const request = await find(camel.approvals, id);
      context.print(json ? `${JSON.stringify(request, null, 2)}\n` : `${request.prompt}\n`);
      return 0;
    }
    case "approve":
    case "deny": {
      const request = await find(camel.approvals, id);
      needTerminal();
      process.stderr.write(`${request.prompt}\n\n`);
      if (await pin.isSet()) {
        if (!(await pin.matches(await secret("PIN: ")))) throw new CamelError("unauthorized", "Wrong PIN.");
      } else if ((await question(`${action === "approve" ? "Approve" : "Deny"} this call? [y/N] `)) !== "y") {
        process.stderr.write("Nothing was decided.\n");
        return 1;
      }
      const note = context.flags.note;
      const decided = await camel.approvals.decide(request.id, {
        decision: action === "approve" ? "allow" : "deny",
        by: "cli",
        ...(note === undefined ? {} : { note }),
      });
      if (!decided) throw new CamelError("conflict", `${request.id} has been decided already.`);
      context.print(
        action === "approve"
          ? `Approved, for one use within 15 minutes. The agent can repeat its call now.\n`
          : "Denied.\n",
      );
      return 0;
    }
    case "pin": {
      needTerminal();
      if ((await pin.isSet()) && !(await pin.matches(await secret("Present PIN: "))))
        throw new CamelError("unauthorized", "Wrong PIN.");
      const chosen = await secret("New PIN (empty removes it): ");
      if (chosen !== "" && chosen !== (await secret("Again: ")))
        throw usageError("The two PINs differ; nothing was changed.");
      await pin.set(chosen === "" ? undefined : chosen);
      context.print(chosen === "" ? "No PIN is asked for any more.\n" : "The PIN is set.\n");
      return 0;
    }
    default:
      throw usageError(`approvals: "${action}" is not an action. Use list, show, approve, deny or pin.`);
  }
}

async function find(store: ApprovalStore, id: string | undefined): Promise<ApprovalRequest> {
  if (id === undefined) throw usageError("Which request? Give its id (see camel-mcp approvals list).");
  const request = await store.get(id);
  if (request === undefined)
    throw new CamelError("not_found", `No request "${id}" waits.`, { next: "See camel-mcp approvals list." });
  return request;
}

function needTerminal(): void {
  if (process.stdin.isTTY && process.stderr.isTTY) return;
  throw new CamelError("unauthorized", "Only a person at a terminal may decide this.", {
    next: "Run the command yourself in a terminal window.",
  });
}

async function question(text: string, output: NodeJS.WritableStream = process.stderr): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  try {
    return (await lines.question(text)).trim();
  } finally {
    lines.close();
  }
}

/** Asks without showing what is typed. */
async function secret(text: string): Promise<string> {
  process.stderr.write(text);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const typed = await question("", nowhere);
  process.stderr.write("\n");
  return typed;
}

function age({ createdAt }: ApprovalRequest): string {
  return new Date(createdAt).toISOString().slice(0, 19).replace("T", " ");
}
