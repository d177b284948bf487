import { join } from "node:path";
import type { Call } from "../pipeline/call.ts";
import type { Clock } from "../shared/clock.ts";
import { toCamelError } from "../shared/errors.ts";
import { newId } from "../shared/ids.ts";
import type { Caller, ToolContext } from "../tools/context.ts";
import { readableMemoryFiles, resolveMemoryFile } from "../tools/memory/memory-files.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { followFile } from "./follow-file.ts";

export interface MemoryResource {
  uri: string;
  name: string;
  mimeType: string;
}

export interface Watched {
  stop: () => void;
}

export interface Refused {
  error: string;
  notFound: boolean;
}

type Roots = NonNullable<Call["roots"]>;

/** Memory files as `memory:///…`, under the same rules as memory_get, because a read is a call of memory_get. */
export interface MemoryResources {
  list(caller: Caller, roots: Roots): Promise<MemoryResource[]>;
  read(uri: string, caller: Caller, signal: AbortSignal, roots: Roots): Promise<{ text: string } | Refused>;
  /** Calls `changed` when the file is made, changes or goes, as long as the caller may read it. */
  watch(uri: string, caller: Caller, roots: Roots, changed: () => void): Promise<Watched | Refused>;
}

const PREFIX = "memory:///";
const MAX_RESOURCE_CHARS = 1_200_000;

export function createMemoryResources(options: {
  dispatcher: Dispatcher;
  clock: Clock;
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
      const files = await readableMemoryFiles(await context.memoryRoot(), context);
      return files.map((file) => ({ uri: uriOf(file), name: file, mimeType: "text/markdown" }));
    },
    async read(uri, caller, signal, roots) {
      const file = fileOf(uri);
      if (file === undefined) return noSuchResource(uri);
      const result = await dispatcher.call(callFor(caller, signal, roots, file));
      if (result.isError === true) return { error: result.text, notFound: result.code === "not_found" };
      const content = result.structured?.["content"];
      return { text: typeof content === "string" ? content : "" };
    },
    async watch(uri, caller, roots, changed) {
      const file = fileOf(uri);
      if (file === undefined) return noSuchResource(uri);
      // Whoever may not read a file doesn't hear of it either: the same call decides. It needn't exist yet.
      const call = callFor(caller, new AbortController().signal, roots, file);
      const result = await dispatcher.call({ ...call, args: { filePath: file, lines: 1 } });
      if (result.isError === true && result.code !== "not_found")
        return { error: result.text, notFound: false };
      try {
        const root = await options.contextFor(call).memoryRoot();
        const path = result.code === "not_found" ? join(root, file) : await resolveMemoryFile(root, file);
        const stop = followFile(path, options.clock, () => {
          if (mayRead(caller)) changed();
        });
        return { stop };
      } catch (error) {
        // The system may have no watches left.
        return { error: `"${uri}" can't be followed: ${toCamelError(error).message}`, notFound: false };
      }
    },
  };
}

function noSuchResource(uri: string): Refused {
  return {
    error: `"${uri}" is not a memory resource. Use memory:///MEMORY.md or memory:///memory/….`,
    notFound: true,
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
