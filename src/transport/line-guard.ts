/** Below the SDK's own 10 MiB, at which it would close the connection without a word. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

export interface LineGuardOptions {
  maxBytes: number;
  /** `id` is that of the request, where it has one. */
  refuse(code: number, message: string, id?: string | number | null): void;
}

const NEWLINE = 0x0a;

/**
 * Cuts what a host sends into lines and hands on those that may be messages. A line over the limit is dropped and
 * answered, and the connection lives on. So is a line that isn't JSON.
 */
export function createLineReader(
  options: LineGuardOptions,
  take: (line: Buffer) => void,
): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  let skipping = false;

  const endLine = (): void => {
    if (skipping) {
      options.refuse(
        -32_600,
        `The message is longer than ${options.maxBytes} bytes and was dropped. Send less in one message.`,
      );
    } else {
      const [only] = parts;
      const line = only !== undefined && parts.length === 1 ? only : Buffer.concat(parts);
      const first = line.find((byte) => byte > 0x20);
      if (first === 0x7b || first === 0x5b) take(line);
      else if (first !== undefined) refuseNotJson(options);
    }
    parts = [];
    size = 0;
    skipping = false;
  };

  return (chunk) => {
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
      endLine();
      start = end + 1;
    }
  };
}

export function refuseNotJson(options: LineGuardOptions): void {
  options.refuse(-32_700, "A line on stdin is not JSON. Send one JSON-RPC message a line.");
}

/** `id` as it came, whatever it is. */
export function refuseNoMessage(options: LineGuardOptions, id: unknown): void {
  options.refuse(
    -32_600,
    'This is not a JSON-RPC message: {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}, one a line.',
    typeof id === "string" || typeof id === "number" ? id : undefined,
  );
}
