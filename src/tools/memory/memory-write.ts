import { join } from "node:path";
import { z } from "zod";
import { CamelError } from "../../shared/errors.ts";
import { defineTool } from "../tool.ts";
import { writeOptions } from "../write-options.ts";
import { secretIn } from "./secrets.ts";

const schema = z.object({
  action: z
    .enum(["append", "replace", "forget"])
    .nullable()
    .optional()
    .describe("append (default) adds text; replace changes oldText to text; forget removes oldText."),
  text: z.string().nullable().optional().describe("What to write, Markdown. Needed by append and replace."),
  oldText: z
    .string()
    .nullable()
    .optional()
    .describe("The exact text to replace or forget; it must stand there once."),
  file: z
    .string()
    .nullable()
    .optional()
    .describe("MEMORY.md or a .md file under memory/. Default: today's file, memory/YYYY-MM-DD.md."),
  heading: z
    .string()
    .nullable()
    .optional()
    .describe("append: put the text under this heading, made if missing."),
  allowSecrets: z
    .boolean()
    .nullable()
    .optional()
    .describe("Write text that looks like a credential all the same."),
});

const output = z.object({
  action: z.string(),
  file: z.string(),
  line: z.number(),
  checkpoint: z.string().optional(),
});

const LONGEST_NOTE = 100_000;

export const memoryWrite = defineTool({
  name: "memory_write",
  title: "Write memory",
  description:
    "Adds a note to memory (today's file, MEMORY.md or a file under memory/), or replaces or forgets an exact text. memory_search finds it at once.",
  tier: "extended",
  schema,
  output,
  effect: "write",
  keepsCheckpoints: true,
  async touches(input, context) {
    const file = input.file || todaysFile(context.clock.now());
    return { paths: [{ path: join(await context.memoryRoot(), file), access: "write" }] };
  },
  async execute(input, context) {
    const action = input.action ?? "append";
    const file = input.file || todaysFile(context.clock.now());
    const root = await context.memoryRoot();
    // Where the memory lies in the workspace, a folder unsafe to write in (the user's home, say) is refused as one.
    if (root === (await context.workspace("read").catch(() => undefined))) await context.workspace("write");
    const target = { ...writeOptions("memory_write", root, context), file };
    const { appendNote, checkNotePath, replaceNote } = await import("./write-note.ts");
    checkNotePath(file);
    const text = action === "forget" ? "" : (input.text ?? "");
    if (action !== "forget" && text.trim() === "") {
      throw new CamelError("invalid_input", `"text" is needed to ${action}.`, {
        next: "Send the note as text.",
      });
    }
    if (action !== "append" && (input.oldText ?? "") === "") {
      throw new CamelError("invalid_input", `"oldText" is needed to ${action}.`, {
        next: "Send the exact text as oldText; memory_get shows it.",
      });
    }
    // A file with such a byte is no text to search, and all its notes would be lost to it.
    if (text.includes("\0")) {
      throw new CamelError("invalid_input", "The text holds a NUL character.", { next: "Send it without." });
    }
    if (text.length > LONGEST_NOTE) {
      throw new CamelError(
        "too_large",
        `The note has ${text.length} characters; ${LONGEST_NOTE} are allowed.`,
        {
          next: "Split it into several notes.",
        },
      );
    }
    const heading = input.heading?.replace(/^\s*#+/, "").trim() ?? "";
    if (/[\r\n\0]/.test(heading)) {
      throw new CamelError("invalid_input", "The heading has more than one line.", {
        next: "Send a heading of one line, and the rest as text.",
      });
    }
    const secret = input.allowSecrets === true ? undefined : secretIn(`${heading}\n${text}`);
    if (secret !== undefined) {
      throw new CamelError("denied_by_policy", `The text looks like it holds ${secret}.`, {
        next: "Leave the credential out, or pass allowSecrets: true (in the shell --allow-secrets) if the user wants it kept in plain text.",
      });
    }
    if (action === "append") {
      const added = await appendNote(target, text, heading === "" ? undefined : heading);
      return { text: `Added to ${file}:${added.line}.`, structured: { action, file, ...added } };
    }
    const { line, checkpoint } = await replaceNote(target, input.oldText ?? "", text);
    return {
      text: `${action === "forget" ? "Forgotten" : "Replaced"} in ${file}:${line}. The old file is kept as checkpoint ${checkpoint}.`,
      structured: { action, file, line, checkpoint },
    };
  },
});

/** The user's day, not UTC's: a note written late in the evening belongs to that evening. */
function todaysFile(now: number): string {
  const day = new Date(now);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `memory/${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}.md`;
}
