import { z } from "zod";
import type { FileHandle } from "node:fs/promises";
import { resolve } from "node:path";
import { CamelError, codeOf } from "../../shared/errors.ts";
import { displayPath, openInside } from "../../shared/paths.ts";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../tool.ts";
import { memoryRootOf, readableMemoryFiles, resolveMemoryFile } from "./memory-files.ts";

/** Past this many characters reading stops; the answer says where to go on. Keeps a 1 GB file from filling memory. */
const MAX_CHARS = 1_000_000;

export const memoryGet = defineTool({
  name: "memory_get",
  title: "Read a memory file",
  description:
    'Reads a memory file with line numbers: "MEMORY.md", "memory.md" or a path under "memory/" (or "shared/NAME/" and such a path, as memory_search showed it). Use it after memory_search to see the lines around a hit.',
  tier: "core",
  schema: z.object({
    filePath: z.string().describe('Relative path such as "MEMORY.md" or "memory/2026-03-09.md".'),
    from: z.number().int().nullable().optional().describe("First line, from 1. Default 1."),
    lines: z.number().int().nullable().optional().describe("How many lines, at least 1. Default all."),
  }),
  output: z.looseObject({
    filePath: z.string(),
    from: z.number().describe("Number of the first line in content."),
    count: z.number().describe("Lines in content."),
    content: z.string().describe("The lines without numbers."),
    totalLines: z.number().optional().describe("Lines in the file, where its end was reached."),
    nextFrom: z.number().optional().describe("Where to go on, if there is more."),
  }),
  effect: "read",
  idempotent: true,
  async touches({ filePath }, context) {
    const { root, path } = await memoryRootOf(filePath, context);
    return { paths: [{ path: resolve(root, path), access: "read" }] };
  },
  async execute({ filePath, from, lines }, context) {
    const first = from ?? 1;
    const wanted = lines ?? Number.POSITIVE_INFINITY;
    if (first < 1 || wanted < 1) {
      const wrong = first < 1 ? `from is ${first}` : `lines is ${wanted}`;
      throw new CamelError("invalid_input", `${wrong}; it starts at 1.`, { next: "Use 1 or more." });
    }
    const { root, path, prefix } = await memoryRootOf(filePath, context);
    const orMissing = (error: unknown): Promise<never> => missing(error, root, filePath, prefix, context);
    const real = await resolveMemoryFile(root, path).catch(orMissing);
    const handle = await openInside(root, real).catch(orMissing);
    try {
      const slice = await readLines(chunksOf(handle), first, wanted, context.signal);
      if (slice.lines.length === 0 && first > 1) {
        throw new CamelError(
          "invalid_input",
          `"${filePath}" has ${slice.seen} lines; line ${first} is past its end.`,
          {
            next: `Use from between 1 and ${Math.max(1, slice.seen)}.`,
          },
        );
      }
      const name = prefix + displayPath(root, resolve(root, path));
      const nextFrom = slice.ended ? undefined : first + slice.lines.length;
      const numbered = slice.lines.map((line, index) =>
        line === "" ? `${first + index}:` : `${first + index}: ${line}`,
      );
      const hint =
        nextFrom !== undefined && lines == null
          ? [`[More lines follow: {"filePath":"${name}","from":${nextFrom}}]`]
          : [];
      return {
        text: [...numbered, ...hint].join("\n") || "(the file is empty)",
        structured: {
          filePath: name,
          from: first,
          count: slice.lines.length,
          content: slice.lines.join("\n"),
          ...(slice.ended ? { totalLines: slice.seen } : {}),
          ...(nextFrom === undefined ? {} : { nextFrom }),
        },
      };
    } finally {
      await handle.close();
    }
  },
});

async function missing(
  error: unknown,
  root: string,
  filePath: string,
  prefix: string,
  context: ToolContext,
): Promise<never> {
  const code = codeOf(error);
  if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
  const files = (await readableMemoryFiles(root, context, { limit: 12 })).map((file) => prefix + file);
  throw new CamelError("not_found", `There is no memory file "${filePath}".`, {
    next: files.length === 0 ? "The memory is empty so far." : `Existing files: ${files.join(", ")}.`,
    details: { files },
  });
}

const CHUNK_BYTES = 64 * 1024;

/** A stream of Node's takes longer to make than most memory files to read. */
async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

interface Slice {
  lines: string[];
  /** Lines read so far, wanted or not. */
  seen: number;
  /** The end of the file was reached. */
  ended: boolean;
}

/** Streams, so that a huge file costs only what is asked for. LF, CRLF and lone CR end a line; a BOM is dropped. */
async function readLines(
  stream: AsyncIterable<Buffer>,
  first: number,
  wanted: number,
  signal: AbortSignal,
): Promise<Slice> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const lines: string[] = [];
  let rest = "";
  let seen = 0;
  let chars = 0;
  const take = (line: string): boolean => {
    seen += 1;
    if (seen < first) return true;
    lines.push(line);
    chars += line.length + 1;
    return lines.length < wanted && chars < MAX_CHARS;
  };
  const notText = (cause?: unknown): CamelError =>
    new CamelError("not_text", "The file is not UTF-8 text.", {
      next: "Memory files are Markdown; look at another file.",
      cause,
    });
  const decode = (bytes?: Buffer): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch (error) {
      throw notText(error);
    }
  };
  for await (const chunk of stream) {
    if (signal.aborted) throw signal.reason;
    if (chunk.includes(0)) throw notText();
    rest += decode(chunk);
    if (rest.length > MAX_CHARS && !/[\r\n]/.test(rest)) {
      throw new CamelError("too_large", "The file has a line of more than a million characters.", {
        next: "Look at another file.",
      });
    }
    // A CR at the chunk's end may be half of a CRLF: it waits for the next chunk.
    const held = rest.endsWith("\r") ? "\r" : "";
    const parts = rest.slice(0, rest.length - held.length).split(/\r\n|\n|\r/);
    rest = (parts.pop() ?? "") + held;
    for (const line of parts) if (!take(line)) return { lines, seen, ended: false };
  }
  rest += decode();
  if (rest !== "") {
    for (const line of rest.endsWith("\r") ? [rest.slice(0, -1)] : [rest]) take(line);
  }
  return { lines, seen, ended: true };
}
