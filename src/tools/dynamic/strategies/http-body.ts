import type { IncomingMessage } from "node:http";
import { createBrotliDecompress, createUnzip, type BrotliDecompress, type Unzip } from "node:zlib";

/**
 * The bytes of an answer, unpacked where the host packs whatever it is asked for. What is kept is counted behind the
 * unpacking and both ends stop at the cap, so that a small answer can't become a large one.
 */
export async function readBody(
  response: IncomingMessage,
  maxBytes: number,
): Promise<{ body: Buffer; truncated: boolean }> {
  const unpacking = unpackerFor(response);
  let isEmpty = unpacking !== undefined;
  if (isEmpty) response.once("data", () => (isEmpty = false));
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of (unpacking ?? response) as AsyncIterable<Buffer>) {
      parts.push(part.subarray(0, maxBytes - size));
      size += part.length;
      if (size > maxBytes) {
        response.destroy();
        return { body: Buffer.concat(parts), truncated: true };
      }
    }
  } catch (error) {
    // No answer at all (to HEAD, or 204) isn't one that broke off.
    if (!response.complete || !isEmpty) throw error;
  }
  return { body: Buffer.concat(parts), truncated: false };
}

function unpackerFor(response: IncomingMessage): Unzip | BrotliDecompress | undefined {
  const coding = response.headers["content-encoding"]?.trim().toLowerCase();
  const unpacking =
    coding === "gzip" || coding === "x-gzip" || coding === "deflate"
      ? createUnzip()
      : coding === "br"
        ? createBrotliDecompress()
        : undefined;
  if (unpacking === undefined) return undefined;
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
