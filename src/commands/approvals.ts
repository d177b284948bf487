import { join } from "node:path";
import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { CamelError } from "../shared/errors.ts";
import type { ApprovalRequest, ApprovalStore } from "../stores/approvals.ts";
import { createPin, type Pin } from "../stores/pin.ts";
import { hiddenQuestion, question } from "./input.ts";
import { camelOptions, unknownAction, usageError } from "./options.ts";

/** "apr_" and enough of what follows that a slip of the finger finds nothing. */
const SHORTEST_ID = 10;

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
        await checkPin(pin, "PIN: ");
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
      if (await pin.isSet()) await checkPin(pin, "Present PIN: ");
      const chosen = await hiddenQuestion("New PIN (empty removes it): ");
      if (chosen !== "" && chosen !== (await hiddenQuestion("Again: ")))
        throw usageError("The two PINs differ; nothing was changed.");
      await pin.set(chosen === "" ? undefined : chosen);
      context.print(chosen === "" ? "No PIN is asked for any more.\n" : "The PIN is set.\n");
      return 0;
    }
    default:
      throw unknownAction("approvals", action, ["list", "show", "approve", "deny", "pin"]);
  }
}

/** By its id, or by the beginning of one that fits no other: they are long to type. */
async function find(store: ApprovalStore, id: string | undefined): Promise<ApprovalRequest> {
  if (id === undefined) throw usageError("Which request? Give its id (see camel-mcp approvals list).");
  const fitting = id.length < SHORTEST_ID ? [] : (await store.list()).filter((one) => one.id.startsWith(id));
  const request = (await store.get(id)) ?? (fitting.length === 1 ? fitting[0] : undefined);
  if (request !== undefined) return request;
  throw new CamelError(
    "not_found",
    `${fitting.length === 0 ? "No" : "More than one"} request "${id}" waits.`,
    {
      next: "See camel-mcp approvals list.",
    },
  );
}

async function checkPin(pin: Pin, text: string): Promise<void> {
  if (await pin.matches(await hiddenQuestion(text))) return;
  throw new CamelError("unauthorized", "Wrong PIN. Nothing was decided or changed.", {
    next: "Run the command again and type the PIN you set with `camel-mcp approvals pin`.",
  });
}

function needTerminal(): void {
  if (process.stdin.isTTY && process.stderr.isTTY) return;
  throw new CamelError("unauthorized", "Only a person at a terminal may decide this.", {
    next: "Run the command yourself in a terminal window.",
  });
}

function age({ createdAt }: ApprovalRequest): string {
  return new Date(createdAt).toISOString().slice(0, 19).replace("T", " ");
}
