import { z } from "zod";
import { exactEntries } from "./allowlist.ts";
import type { Answer, Question } from "./call.ts";
import type { Facts } from "./policy.ts";

/** What each choice would leave in force; absent where it isn't offered. */
export interface Choices {
  session?: string[] | undefined;
  always?: string[] | undefined;
}

/** What a person's answer in the host means. `note` undefined and `isBare`: nothing but "no" came. */
export type Reply =
  | { decision: "allow"; remember: "once" | "session" | "always" }
  | { decision: "deny"; note: string | undefined; isBare: boolean };

/** For a session a tool that only touches files is let through as a whole; a program or address only as it is. */
export function choicesFor(facts: Facts): Choices {
  // A tool that is made, or does more than it was approved to, is judged each time: no rule of its name fits the next.
  if (facts.approval?.state === "needed" || facts.effect === "extend") return {};
  const always = exactEntries(facts);
  const filesOnly = facts.commands.length === 0 && facts.urls.length === 0;
  const session = filesOnly ? [facts.tool] : always;
  return { ...(session === undefined ? {} : { session }), ...(always === undefined ? {} : { always }) };
}

export function questionFor(prompt: string, choices: Choices): Question {
  return { message: [prompt, ...explain(choices)].join("\n"), schema: formFor(choices) };
}

/** What each choice of the form means. */
function explain({ session, always }: Choices): string[] {
  const entries = (list: readonly string[]): string => list.map(shownEntry).join(", ");
  return [
    ...(session === undefined ? [] : [`"Session" allows until the host closes: ${entries(session)}`]),
    always === undefined
      ? '"Always" isn\'t offered: no narrow rule would cover this call.'
      : `"Always" adds to approvals.allowlist in your config: ${entries(always)}`,
  ];
}

/** A tool's name alone is easily taken for this call of it. */
export function shownEntry(entry: string): string {
  return `${JSON.stringify(entry)}${entry.includes(":") ? "" : " (every call of it)"}`;
}

function formFor({ session, always }: Choices): Record<string, unknown> {
  return {
    type: "object",
    properties: {
      approve: { type: "boolean", title: "Approve", description: "Let this call happen.", default: false },
      remember: {
        type: "string",
        title: "For how long",
        enum: [
          "once",
          ...(session === undefined ? [] : ["session"]),
          ...(always === undefined ? [] : ["always"]),
        ],
        default: "once",
      },
      note: { type: "string", title: "Note", description: "Reaches the model if you don't approve." },
    },
    required: ["approve"],
  };
}

const answerSchema = z.object({
  approve: z.literal(true),
  remember: z.enum(["once", "session", "always"]).optional().catch("once"),
});

/** In some hosts Enter alone sends the form with its defaults: only a ticked box counts as yes. */
export function readAnswer({ action, content }: Answer): Reply {
  const ticked = answerSchema.safeParse(content ?? {});
  if (action === "accept" && ticked.success)
    return { decision: "allow", remember: ticked.data.remember ?? "once" };
  const note = content?.["note"];
  return {
    decision: "deny",
    note: typeof note === "string" ? note : undefined,
    isBare: action === "decline" && content === undefined,
  };
}
