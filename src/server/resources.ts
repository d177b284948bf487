import { watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { Call } from "../pipeline/call.ts";
import { newId } from "../shared/ids.ts";
import type { Caller, ToolContext } from "../tools/context.ts";
import { listMemoryFiles, resolveMemoryFile } from "../tools/memory/memory-files.ts";
import type { Dispatcher } from "./dispatcher.ts";

export interface MemoryResource {
  uri: string;
  name: string;
  mimeType: string;
}

type Roots = NonNullable<Call["roots"]>;

/** Memory files as `memory:///…`, under the same rules as memory_get, because a read is a call of memory_get. */
export interface MemoryResources {
  list(caller: Caller, roots: Roots): Promise<MemoryResource[]>;
  read(
    uri: string,
    caller: Caller,
    signal: AbortSignal,
    roots: Roots,
  ): Promise<{ text: string } | { error: string; notFound: boolean }>;
  /** Calls `changed` when the file does; returns how to stop. */
  watch(uri: string, caller: Caller, roots: Roots, changed: () => void): Promise<() => void>;
}

const PREFIX = "memory:///";
const MAX_RESOURCE_CHARS = 1_200_000;

export function createMemoryResources(options: {
  dispatcher: Dispatcher;
  contextFor(call: Call): ToolContext;
}): MemoryResources {
  const { dispatcher } = options;
  const callFor = (caller: Caller, signal: AbortSignal, roots: Roots, filePath: string): Call => ({
    id: newId("call"),
    name: "memory_get",
    args: { filePath },
    caller,
    signal,
    roots,
    outputChars: MAX_RESOURCE_CHARS,
  });
  const mayRead = (caller: Caller): boolean =>
    dispatcher.list(caller).some((tool) => tool.name === "memory_get");

  return {
    async list(caller, roots) {
      if (!mayRead(caller)) return [];
      const context = options.contextFor(callFor(caller, new AbortController().signal, roots, ""));
      const files = await listMemoryFiles(await context.memoryRoot());
      return files.map((file) => ({ uri: uriOf(file), name: file, mimeType: "text/markdown" }));
    },
    async read(uri, caller, signal, roots) {
      const file = fileOf(uri);
      if (file === undefined)
        return {
          error: `"${uri}" is not a memory resource. Use memory:///MEMORY.md or memory:///memory/….`,
          notFound: true,
        };
      const result = await dispatcher.call(callFor(caller, signal, roots, file));
      if (result.isError === true) return { error: result.text, notFound: result.code === "not_found" };
      const content = result.structured?.["content"];
      return { text: typeof content === "string" ? content : "" };
    },
    async watch(uri, caller, roots, changed) {
      const file = fileOf(uri);
      if (file === undefined || !mayRead(caller)) return () => {};
      const context = options.contextFor(callFor(caller, new AbortController().signal, roots, file));
      const real = await resolveMemoryFile(await context.memoryRoot(), file).catch(() => undefined);
      if (real === undefined) return () => {};
      // The folder is watched, not the file: editors replace files, and a watch on the old inode sees nothing.
      const watcher = watch(dirname(real), { persistent: false }, (_, name) => {
        if (name === null || name === basename(real)) changed();
      });
      watcher.on("error", () => watcher.close());
      return () => watcher.close();
    },
  };
}

function uriOf(file: string): string {
  return PREFIX + file.split("/").map(encodeURIComponent).join("/");
}

function fileOf(uri: string): string | undefined {
  if (!uri.startsWith(PREFIX)) return undefined;
  try {
    return decodeURIComponent(uri.slice(PREFIX.length));
  } catch {
    return undefined;
  }
}
