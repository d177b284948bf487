import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createUnzip } from "node:zlib";

/**
 * The bytes of an answer, unpacked where the host packs whatever it is asked for. What is kept is counted behind the
 * unpacking and both ends stop at the cap, so that a small answer can't become a large one.
 */
export async function readBody(
  response: IncomingMessage,
  maxBytes: number,
): Promise<{ body: Buffer; truncated: boolean }> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of unpacked(response) as AsyncIterable<Buffer>) {
    parts.push(part.subarray(0, maxBytes - size));
    size += part.length;
    if (size > maxBytes) {
      response.destroy();
      return { body: Buffer.concat(parts), truncated: true };
    }
  }
  return { body: Buffer.concat(parts), truncated: false };
}

function unpacked(response: IncomingMessage): Readable {
  const coding = response.headers["content-encoding"]?.trim().toLowerCase();
  const unpacking =
    coding === "gzip" || coding === "x-gzip" || coding === "deflate"
      ? createUnzip()
      : coding === "br"
        ? createBrotliDecompress()
        : undefined;
  if (unpacking === undefined) return response;
  response.once("error", (error) => unpacking.destroy(error));
  response.once("aborted", () => unpacking.destroy(new Error("aborted")));
  return response.pipe(unpacking);
}

/** Text in the characters that the answer says it is in; UTF-8 where it says nothing that is known. */
export function textIn(body: Buffer, type: string): string {
  const charset = /;\s*charset=["']?([\w:.-]+)/i.exec(type)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}
