import { join } from "node:path";
import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { CamelError } from "../shared/errors.ts";
import type { ApprovalDecision, ApprovalRequest, ApprovalStore } from "../stores/approvals.ts";
import { shownEntry } from "../pipeline/approval-question.ts";
import { createPin, type Pin } from "../stores/pin.ts";
import { hiddenQuestion, question } from "./input.ts";
import { camelOptions, unknownAction, usageError } from "./options.ts";
import { say } from "./shell-call.ts";

/** "apr_" and enough of what follows that a slip of the finger finds nothing. */
const SHORTEST_ID = 10;
const SHORTEST_PIN = 4;

/**
 * `approvals list|show ID|approve ID|deny ID|pin`. Deciding needs a person at a terminal, and their PIN where one is
 * set: a model that may run commands must not be able to approve itself.
 */
export async function approvals(context: CommandContext): Promise<number> {
  const [action = "list", id] = context.words;
  const camel = await createCamel(camelOptions(context));
  const pin = createPin(join(camel.home, "approvals", "pin.json"));
  switch (action) {
    case "list": {
      const waiting = await camel.approvals.list();
      say(
        context,
        waiting,
        waiting.length === 0
          ? "Nothing waits for approval.\n"
          : `${waiting.map(asLine).join("")}See one in full with camel-mcp approvals show ID, then approve or deny it.\n`,
      );
      return 0;
    }
    case "show": {
      const request = await find(camel.approvals, id);
      say(context, request, `${request.prompt}\n`);
      return 0;
    }
    case "approve":
    case "deny": {
      const request = await find(camel.approvals, id);
      needTerminal();
      process.stderr.write(`${request.prompt}\n\n`);
      const answer = await (action === "approve" ? askApproval(request) : askDenial(context.flags.note));
      if (answer === undefined) {
        process.stderr.write("Nothing was decided.\n");
        return 1;
      }
      if (await pin.isSet()) await checkPin(pin, "PIN: ");
      if (!(await camel.approvals.decide(request.id, { ...answer, by: "cli" })))
        throw new CamelError("conflict", `${request.id} has been decided already.`);
      context.print(
        action === "approve"
          ? "Approved. The agent can repeat its call now, within 15 minutes.\n"
          : "Denied. The agent is told when it repeats its call.\n",
      );
      return 0;
    }
    case "pin": {
      needTerminal();
      if (await pin.isSet()) await checkPin(pin, "Present PIN: ");
      const chosen = await hiddenQuestion("New PIN (empty removes it): ");
      if (chosen !== "" && chosen.length < SHORTEST_PIN)
        throw usageError(`A PIN has at least ${SHORTEST_PIN} characters; nothing was changed.`);
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

type Answer = Pick<ApprovalDecision, "decision" | "remember" | "note">;

/** Undefined: neither yes nor no. Each choice shows what it would leave in force. */
async function askApproval({ session, always }: ApprovalRequest): Promise<Answer | undefined> {
  const shown = (entries: readonly string[]): string => entries.map(shownEntry).join(", ");
  const choices = [
    { key: "y", remember: "once" as const, means: "once" },
    ...(session === undefined
      ? []
      : [{ key: "s", remember: "session" as const, means: `until the host closes: ${shown(session)}` }]),
    ...(always === undefined
      ? []
      : [
          {
            key: "a",
            remember: "always" as const,
            means: `always: adds ${shown(always)} to approvals.allowlist in your config`,
          },
        ]),
  ];
  for (const { key, means } of choices) process.stderr.write(`  ${key}  ${means}\n`);
  const keys = choices.map(({ key }) => key).join("/");
  const typed = (await question(`Approve this call? [${keys}/N] `)).toLowerCase();
  const chosen = choices.find(({ key, remember }) => [key, remember, `${key}es`].includes(typed));
  return chosen === undefined ? undefined : { decision: "allow", remember: chosen.remember };
}

async function askDenial(given: string | undefined): Promise<Answer | undefined> {
  if (!["y", "yes"].includes((await question("Deny this call? [y/N] ")).toLowerCase())) return undefined;
  const note = given ?? (await question("Why? The agent is told; Enter for nothing: "));
  return { decision: "deny", ...(note === "" ? {} : { note }) };
}

function asLine(one: ApprovalRequest): string {
  return `${one.id}  ${age(one)}  ${one.agent} (${one.client})  ${one.tool}: ${one.summary ?? one.reason}\n`;
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
  const minutes = Math.max(0, Math.round((Date.now() - createdAt) / 60_000));
  return minutes < 60 ? `${minutes} min ago` : `${Math.round(minutes / 60)} h ago`;
}
