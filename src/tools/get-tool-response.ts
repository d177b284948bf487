import { z } from "zod";
import { CamelError } from "../shared/errors.ts";
import { defineTool } from "./tool.ts";

const PAGE = 7_000;
/** Room for the line that names the next page. */
const TAIL = 300;

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
    const from = Math.min(Math.max(0, offset ?? 0), whole.length);
    // A page must not itself be too long.
    const most = Math.min(PAGE, Math.max(1, context.outputChars - TAIL));
    const content = whole.slice(from, from + Math.min(Math.max(1, limit ?? PAGE), most));
    const end = from + content.length;
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
