import { stat } from "node:fs/promises";
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../tool.ts";
import { readableMemoryFiles } from "./memory-files.ts";

const schema = z.object({
  action: z.enum(["list", "stats", "reindex"]),
  pattern: z.string().nullable().optional().describe("list: only files that match this glob."),
});

/** Looks after the index, for `camel-mcp memory`. Not among the tools a host sees: a model has no use for it. */
export const memoryIndexTool = defineTool({
  name: "memory_index",
  title: "Look after the memory index",
  description: "Lists memory files, shows what the search index holds, or builds it anew.",
  tier: "full",
  schema,
  effect: "read",
  idempotent: true,
  async execute({ action, pattern }, context) {
    if (action === "list") return list(pattern ?? "**", context);
    const { MemoryIndex } = await import("./search/memory-index.ts");
    const root = await context.memoryRoot();
    const index = new MemoryIndex(root, context.home);
    const events = {
      progress: (progress: number, total: number) =>
        context.progress({ progress, total, message: "indexing memory" }),
      warn: (message: string) => context.log.warn(message),
    };
    await (action === "reindex" ? index.rebuild(events) : index.refresh(events));
    await index.settled();
    index.close();
    let units = 0;
    let words = 0;
    for (const segment of index.segments) {
      units += segment.unitStart.length;
      words += segment.tokenCount;
    }
    const saved = await stat(index.savePath).catch(() => undefined);
    const skipped = Object.entries(index.skipped).filter(([, count]) => count > 0);
    const facts = {
      root,
      files: index.fileCount,
      units,
      words,
      skipped: Object.fromEntries(skipped),
      savedBytes: saved?.size ?? 0,
      savedAt: saved?.mtime.toISOString() ?? "",
      shared: context.sharedMemory(),
    };
    const lines = [
      `root      ${root}`,
      `files     ${facts.files}${skipped.map(([reason, count]) => `, ${count} ${reason.replace("_", " ")}`).join("")}`,
      `sentences ${units}`,
      `words     ${words}`,
      saved === undefined
        ? "saved     no, it is small enough to be read at each start"
        : `saved     ${saved.size} bytes, ${facts.savedAt}`,
      ...facts.shared.map(({ name, root: folder }) => `shared    ${name}: ${folder}`),
    ];
    return { text: lines.join("\n"), structured: facts };
  },
});

async function list(
  pattern: string,
  context: ToolContext,
): Promise<{ text: string; structured: Record<string, unknown> }> {
  const roots = [
    { root: await context.memoryRoot(), prefix: "" },
    ...context.sharedMemory().map(({ name, root }) => ({ root, prefix: `shared/${name}/` })),
  ];
  const files: string[] = [];
  for (const { root, prefix } of roots) {
    const inRoot = prefix !== "" && pattern.startsWith(prefix) ? pattern.slice(prefix.length) : pattern;
    for (const file of await readableMemoryFiles(root, context, { pattern: inRoot }))
      files.push(prefix + file);
  }
  return { text: files.join("\n") || "There are no such memory files.", structured: { files } };
}
