import { z } from "zod";
import { CamelError } from "../../shared/errors.ts";
import { defineTool } from "../tool.ts";

const schema = z.object({
  action: z
    .enum(["list", "show", "restore"])
    .describe("list: newest first. show: the difference between then and now. restore: undo that call."),
  id: z
    .string()
    .nullable()
    .optional()
    .describe("show, restore: the checkpoint's id, or the id of the call that made it."),
  paths: z
    .array(z.string())
    .nullable()
    .optional()
    .describe("show, restore: only these files or folders. Default: all of the checkpoint."),
  path: z.string().nullable().optional().describe("list: only checkpoints that hold this file or folder."),
  limit: z.number().nullable().optional().describe("list: at most so many, 1 to 100. Default 20."),
  force: z
    .boolean()
    .nullable()
    .optional()
    .describe("restore: also files that somebody edited since. Their edits are kept in the new checkpoint."),
  dry_run: z.boolean().nullable().optional().describe("restore: true only says what it would do."),
});

const fileSchema = z.object({
  path: z.string(),
  /** What the call did (list), or what a restore does. */
  status: z.string(),
  changedSince: z.boolean().optional(),
});

const output = z.object({
  action: z.string(),
  checkpoints: z
    .array(
      z.object({
        id: z.string(),
        time: z.string(),
        tool: z.string(),
        agent: z.string(),
        callId: z.string(),
        root: z.string(),
        fileCount: z.number(),
        files: z.array(fileSchema),
      }),
    )
    .optional(),
  id: z.string().optional(),
  /** The checkpoint that undoes this restore; null where nothing was written. */
  checkpoint: z.string().nullable().optional(),
  dryRun: z.boolean().optional(),
  fileCount: z.number().optional(),
  files: z.array(fileSchema).optional(),
  diff: z.string().optional(),
  diffCut: z.boolean().optional(),
  notes: z.array(z.string()).optional(),
});

type Input = z.output<typeof schema>;

export const checkpoint = defineTool({
  name: "checkpoint",
  title: "Undo changes of tools",
  description:
    "Every change a tool makes to files keeps the old ones as a checkpoint. list them, show what changed since, restore one: all files of that call go back together, or none. A restore makes a checkpoint too, so it can be undone.",
  tier: "extended",
  schema,
  output,
  effect: "write",
  idempotent: false,
  destructive: true,
  keepsCheckpoints: true,
  effectOf: (input) => (writes(input) ? "write" : "read"),
  async touches(input, context) {
    if (input.action === "list") return {};
    const [{ visibleRecord }, { chosenEntries }] = await Promise.all([
      import("./visible.ts"),
      import("../../stores/checkpoints/restore.ts"),
    ]);
    const record = await visibleRecord(context, idOf(input));
    return {
      paths: chosenEntries(record, input.paths ?? undefined).map(({ path, before }) => ({
        path,
        access: !writes(input) ? "read" : before === undefined ? "delete" : "write",
      })),
    };
  },
  async approvalPrompt(input, context) {
    const { describeRestore } = await import("./run.ts");
    return describeRestore(idOf(input), input.paths ?? undefined, context);
  },
  async execute(input, context) {
    const run = await import("./run.ts");
    const paths = input.paths ?? undefined;
    switch (input.action) {
      case "list":
        return run.list({ path: input.path ?? undefined, limit: input.limit ?? undefined }, context);
      case "show":
        return run.show(idOf(input), paths, context);
      case "restore":
        return run.restore(
          { id: idOf(input), paths, force: input.force === true, dryRun: input.dry_run === true },
          context,
        );
    }
  },
});

function writes({ action, dry_run }: Input): boolean {
  return action === "restore" && dry_run !== true;
}

function idOf({ id, action }: Input): string {
  if (id != null && id !== "") return id;
  throw new CamelError("invalid_input", `"id" is needed to ${action} a checkpoint.`, {
    next: "Take it from action list, or from the answer of the call that made the change.",
  });
}
