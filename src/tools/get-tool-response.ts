import { z } from "zod";
import { CamelError } from "../shared/errors.ts";
import { defineTool } from "./tool.ts";

const PAGE = 7_000;
/** Room for the line that names the next page. */
const TAIL = 200;

export const getToolResponse = defineTool({
  name: "get_tool_response",
  title: "Read the rest of a long result",
  description:
    "Pages through a result that was too long and was cut. Use the id and offset that the cut result names.",
  tier: "extended",
  schema: z.object({
    id: z.string().describe("The id from the cut result, such as res_0123456789abcdef."),
    offset: z.number().int().nullable().optional().describe("First character to show, from 0. Default 0."),
    limit: z
      .number()
      .int()
      .nullable()
      .optional()
      .describe(`How many characters, at most ${PAGE}. Default ${PAGE}.`),
  }),
  output: z.looseObject({
    id: z.string(),
    offset: z.number(),
    total: z.number(),
    content: z.string(),
    nextOffset: z.number().optional(),
  }),
  effect: "read",
  idempotent: true,
  async execute({ id, offset, limit }, context) {
    const whole = await context.results.get(context.caller.agentId, id);
    if (whole === undefined) {
      throw new CamelError("not_found", `No archived result has the id "${id}". It may have expired.`, {
        next: "Repeat the original call and use the id it gives.",
      });
    }
    const from = wholeCharacter(whole, Math.min(Math.max(0, offset ?? 0), whole.length));
    const end = pageEnd(whole, from, limit ?? PAGE, context.outputChars);
    const content = whole.slice(from, end);
    const more = end < whole.length;
    const tail = more
      ? `\n[${end} of ${whole.length} characters shown so far. Next: {"id":"${id}","offset":${end}}]`
      : "";
    return {
      text: content + tail,
      structured: { id, offset: from, total: whole.length, content, ...(more ? { nextOffset: end } : {}) },
    };
  },
});

/** A page must pass the cap on answers as it is, in both its forms: a cut one would lose what the cut took. */
function pageEnd(whole: string, from: number, limit: number, cap: number): number {
  let size = Math.min(Math.max(1, limit), PAGE, cap - TAIL, whole.length - from);
  while (size > 1 && JSON.stringify(whole.slice(from, from + size)).length > cap) size = Math.ceil(size / 2);
  const end = wholeCharacter(whole, from + size);
  return end > from ? end : Math.min(from + 2, whole.length);
}

/** `at`, or the place before it where it is in the middle of a character that takes two. */
function wholeCharacter(text: string, at: number): number {
  const code = text.codePointAt(at - 1) ?? 0;
  return at > 0 && at < text.length && code > 0xffff ? at - 1 : at;
}
