import { resolve } from "node:path";
import { z } from "zod";
import { defineTool, type TouchedPath } from "../tool.ts";
import { writeOptions } from "../write-options.ts";

export const applyPatch = defineTool({
  name: "apply_patch",
  title: "Apply a patch",
  description: `Creates, changes, moves and deletes files in one step: all of it is applied, or nothing.
*** Begin Patch
*** Update File: path
@@ optional line above the place
 context line
-old line
+new line
*** Add File: path
+line
*** Delete File: path
*** End Patch
"*** Move to: path" right after an Update header renames. "*** End of File" after a hunk ties it to the end. A hunk
whose place is not unique is refused: give about 3 context lines. Add never replaces a file. Unified diffs work too.`,
  tier: "core",
  schema: z.object({
    patch: z.string().describe("The patch text. Paths relative to the workspace."),
    dry_run: z.boolean().nullable().optional().describe("true: only check and show what would change."),
  }),
  output: z.object({
    applied: z.boolean(),
    dryRun: z.boolean(),
    checkpoint: z.string().nullable(),
    added: z.number(),
    removed: z.number(),
    fileCount: z.number(),
    files: z.array(
      z.object({
        status: z.enum(["A", "M", "D", "R"]),
        path: z.string(),
        from: z.string().optional(),
        added: z.number(),
        removed: z.number(),
        ranges: z.array(z.string()),
      }),
    ),
    notes: z.array(z.string()),
    diff: z.string(),
    diffCut: z.boolean(),
  }),
  effect: "write",
  idempotent: false,
  destructive: true,
  keepsCheckpoints: true,
  effectOf: (input) => (input.dry_run === true ? "read" : "write"),
  async touches(input, context) {
    const { parsePatch } = await import("./parse.ts");
    const root = await context.workspace(input.dry_run === true ? "read" : "write");
    const paths: TouchedPath[] = [];
    for (const op of parsePatch(input.patch).ops) {
      const moves = op.kind === "update" && op.moveTo !== undefined;
      paths.push({
        path: resolve(root, op.path),
        access: op.kind === "delete" || moves ? "delete" : "write",
      });
      if (op.kind === "update" && op.moveTo !== undefined) {
        paths.push({ path: resolve(root, op.moveTo), access: "write" });
      }
    }
    return { paths };
  },
  async execute(input, context) {
    const dryRun = input.dry_run === true;
    // The engine is loaded by the first patch: a host that only lists tools doesn't wait for it.
    const [engine, answer] = await Promise.all([import("./apply.ts"), import("./answer.ts")]);
    const result = await engine.applyPatch({
      ...writeOptions("apply_patch", await context.workspace(dryRun ? "read" : "write"), context),
      patch: input.patch,
      dryRun,
      progress: (done, total) => {
        if (done % 50 === 0) context.progress({ progress: done, total, message: "writing files" });
      },
    });
    for (const note of result.recovered) context.log.warn(note);
    return answer.renderAnswer(result);
  },
});
