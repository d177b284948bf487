import { Transform, type TransformCallback } from "node:stream";

/** Below the SDK's own 10 MiB, at which it would close the connection without a word. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/**
 * Stands before the SDK's stdio reader, which closes the connection on a line over its buffer. Here such a line
 * is dropped and answered, and the connection lives on. So is a line that isn't JSON.
 */
export function createLineGuard(options: {
  maxBytes: number;
  refuse(code: number, message: string): void;
}): Transform {
  const NEWLINE = 0x0a;
  let parts: Buffer[] = [];
  let size = 0;
  let skipping = false;

  const endLine = (guard: Transform): void => {
    if (skipping) {
      options.refuse(
        -32_600,
        `The message is longer than ${options.maxBytes} bytes and was dropped. Send less in one message.`,
      );
    } else if (size > 0) {
      const line = Buffer.concat(parts);
      const first = line.find((byte) => byte > 0x20);
      if (first === 0x7b || first === 0x5b) guard.push(line);
      else if (first !== undefined)
        options.refuse(-32_700, "A line on stdin is not JSON. Send one JSON-RPC message a line.");
    }
    parts = [];
    size = 0;
    skipping = false;
  };

  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); start < chunk.length; end = chunk.indexOf(NEWLINE, start)) {
        const piece = end < 0 ? chunk.subarray(start) : chunk.subarray(start, end + 1);
        size += piece.length;
        if (size > options.maxBytes) {
          skipping = true;
          parts = [];
        }
        if (!skipping) parts.push(piece);
        if (end < 0) break;
        endLine(this);
        start = end + 1;
      }
      done();
    },
    flush(done) {
      done();
    },
  });
}
