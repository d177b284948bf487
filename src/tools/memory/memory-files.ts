import { join } from "node:path";
import { CamelError } from "../../shared/errors.ts";
import { containedPath } from "../../shared/paths.ts";
import type { ToolContext } from "../context.ts";

/** Which files are an agent's memory: MEMORY.md (or memory.md) and everything under memory/. Nothing else. */
export async function resolveMemoryFile(root: string, requested: string): Promise<string> {
  const slashed = requested.replaceAll("\\", "/");
  // Empty steps and "." say nothing; an empty first one is an absolute path's.
  const steps = slashed.split("/").filter((step, at) => step !== "." && (step !== "" || at === 0));
  const path = steps.join("/");
  const isMemory = path === "MEMORY.md" || path === "memory.md" || path.startsWith("memory/");
  if (!isMemory || steps.includes("..") || slashed.endsWith("/")) {
    throw new CamelError("path_outside_root", `"${requested}" is not a memory file.`, {
      next: 'Use "MEMORY.md", "memory.md" or a path that starts with "memory/". For other files use the host\'s own read tool.',
    });
  }
  if (steps.some((step) => step.startsWith("."))) {
    throw new CamelError(
      "path_forbidden",
      `"${requested}" is a hidden file; those are not part of the memory.`,
    );
  }
  const rootName = "the memory folder";
  const [real] = await Promise.all([
    containedPath(root, path, { rootName }),
    // A link under memory/ must not turn another file of the root (a workspace, say) into memory.
    path.startsWith("memory/") &&
      containedPath(join(root, "memory"), path.slice("memory/".length), { rootName }),
  ]);
  return real;
}

/**
 * All memory files as `MEMORY.md` or `memory/…`, sorted; hidden names and links are left out. `pattern` is a glob over
 * those names; one without a folder is compared with the file's own name.
 */
async function listMemoryFiles(root: string, pattern: string): Promise<string[]> {
  const { default: glob } = await import("fast-glob");
  const patterns = pattern.includes("/") || pattern === "**" ? [pattern] : [pattern, `**/${pattern}`];
  const found = await glob(patterns, {
    cwd: root,
    // What isn't memory is never walked: the root may be a whole workspace.
    ignore: ["!(memory|MEMORY.md|memory.md)", "!(memory)/**"],
    followSymbolicLinks: false,
    caseSensitiveMatch: false,
    suppressErrors: true,
  });
  const files = found.filter((path) => MEMORY_FILE.test(path)).sort();
  // Names that differ by case are one file to people.
  const hasMain = files.includes("MEMORY.md");
  return files.filter((path) => path !== "memory.md" || !hasMain);
}

/** Those of them that policy lets the caller read: a name alone can say too much. */
export async function readableMemoryFiles(
  root: string,
  context: Pick<ToolContext, "mayRead">,
  { limit = 10_000, pattern = "**" }: { limit?: number; pattern?: string } = {},
): Promise<string[]> {
  const files = await listMemoryFiles(root, pattern);
  const readable: string[] = [];
  for (let at = 0; at < files.length && readable.length < limit; at += AT_ONCE) {
    const some = files.slice(at, at + AT_ONCE);
    const answers = await Promise.all(some.map((file) => context.mayRead(join(root, file), ["memory_get"])));
    readable.push(...some.filter((_, index) => answers[index]));
  }
  return readable.slice(0, limit);
}

const AT_ONCE = 200;

/** The ignored names above are globs, and those take memory-old for memory. */
const MEMORY_FILE = /^(?:memory\.md|memory\/.+\.md)$/i;

/** The root a name is relative to: the caller's own, or a granted one for `shared/NAME/…`. */
export async function memoryRootOf(
  filePath: string,
  context: Pick<ToolContext, "memoryRoot" | "sharedMemory">,
): Promise<{ root: string; path: string; prefix: string }> {
  const [, name, path] = /^(?:\.\/)*shared\/([^/]+)\/(.+)$/.exec(filePath.replaceAll("\\", "/")) ?? [];
  if (name === undefined || path === undefined)
    return { root: await context.memoryRoot(), path: filePath.replaceAll("\\", "/"), prefix: "" };
  const granted = context.sharedMemory();
  const found = granted.find((one) => one.name === name);
  if (found === undefined) {
    throw new CamelError("not_found", `There is no shared memory "${name}" for you.`, {
      next:
        granted.length === 0
          ? "Use a file of your own memory."
          : `Shared with you: ${granted.map((one) => one.name).join(", ")}.`,
    });
  }
  return { root: found.root, path, prefix: `shared/${name}/` };
}
