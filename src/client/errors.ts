import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { codeOf, messageOf } from "../shared/errors.ts";

/** `retryable` says whether the very same call may succeed later. */
const CODES = {
  /** Nobody was reached; nothing was sent. */
  unavailable: { retryable: true },
  /** The call was sent and its answer never came: it may or may not have run. It is never sent again by itself. */
  connection_lost: { retryable: true },
  timeout: { retryable: true },
  cancelled: { retryable: true },
  unauthorized: { retryable: false },
  forbidden: { retryable: false },
  not_mcp: { retryable: false },
  rejected: { retryable: false },
  closed: { retryable: false },
} as const satisfies Record<string, { retryable: boolean }>;

export type ClientErrorCode = keyof typeof CODES;

/** The one error this client throws. `next` is what to do about it. */
export class CamelClientError extends Error {
  readonly code: ClientErrorCode;
  readonly next: string | undefined;

  constructor(code: ClientErrorCode, message: string, options: { next?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CamelClientError";
    this.code = code;
    this.next = options.next;
  }

  get retryable(): boolean {
    return CODES[this.code].retryable;
  }
}

/** JSON-RPC code of the answer that http-transport.ts gives for a server that went away without one. */
export const LOST_CODE = -32_097;

const NOT_REACHED = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"];

/** `where` is the URL or the command, for the message. */
export function toClientError(thrown: unknown, where: string): CamelClientError {
  if (thrown instanceof CamelClientError) return thrown;
  const chain = causes(thrown);
  const make = (code: ClientErrorCode, message: string, next: string): CamelClientError =>
    new CamelClientError(code, message, { next, cause: thrown });

  const status = chain.find((error) => error instanceof SdkHttpError)?.status;
  if (status !== undefined) return fromStatus(status, where, make);
  const errno = chain.map(codeOf).find((code) => /^E[A-Z]+$/.test(code));
  if (errno === "ENOENT" || errno === "EACCES")
    return new CamelClientError("rejected", `Can't start ${where}: ${errno}.`, {
      next: "Check that the command exists and may be run.",
      cause: thrown,
    });
  if (errno !== undefined && NOT_REACHED.includes(errno))
    return make(
      "unavailable",
      `No server answers at ${where} (${errno}).`,
      "Start it with `camel-mcp serve`, or check the address, then retry.",
    );
  const [first] = chain;
  if (first instanceof ProtocolError && first.code !== LOST_CODE)
    return make("rejected", `The server refused the request: ${first.message}`, "Correct the request.");
  const sdkCode = chain.find((error) => error instanceof SdkError)?.code;
  if (sdkCode === SdkErrorCode.RequestTimeout)
    return make("timeout", `${where} didn't answer in time.`, "Retry, or give the call more time.");
  // Without an errno: a blocked port, a broken certificate.
  if (sdkCode === SdkErrorCode.EraNegotiationFailed && chain.some((error) => error instanceof TypeError))
    return make(
      "unavailable",
      `${where} can't be reached: ${messageOf(chain.at(-1))}.`,
      "Check the address, then retry.",
    );
  if (sdkCode === SdkErrorCode.EraNegotiationFailed && !/^https?:/.test(where))
    return make(
      "not_mcp",
      `${where} ended or spoke something else before it answered as an MCP server.`,
      "Run the command by hand, or pass onStderr, to see what it says.",
    );
  if (sdkCode === SdkErrorCode.EraNegotiationFailed || sdkCode === SdkErrorCode.ClientHttpUnexpectedContent)
    return make(
      "not_mcp",
      `What answers at ${where} is no MCP server.`,
      "Check the address: it ends in /mcp.",
    );
  return make(
    "connection_lost",
    `The connection to ${where} was lost before the answer came.`,
    "The call may have run. Check its effect before you repeat it.",
  );
}

function fromStatus(
  status: number,
  where: string,
  make: (code: ClientErrorCode, message: string, next: string) => CamelClientError,
): CamelClientError {
  switch (status) {
    case 401:
      return make(
        "unauthorized",
        `${where} needs a valid token.`,
        "Make one on the server with `camel-mcp token create --agent ID` and pass it.",
      );
    case 403:
      return make(
        "forbidden",
        `${where} doesn't accept requests under this host name.`,
        "Use the address the server listens on, or add the name to http.allowedHosts in the server's config.",
      );
    case 404:
    case 405:
      return make("not_mcp", `There is no MCP server at ${where}.`, "Check the address: it ends in /mcp.");
    case 413:
      return make("rejected", "The request is larger than the server takes.", "Send less in one call.");
    default:
      return status >= 500 || status === 429
        ? make("unavailable", `${where} can't serve the request now (HTTP ${status}).`, "Retry in a moment.")
        : make("rejected", `${where} refused the request (HTTP ${status}).`, "Check the address.");
  }
}

function causes(thrown: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let error = thrown; error !== undefined && chain.length < 8;) {
    chain.push(error);
    error = error instanceof Error ? error.cause : undefined;
  }
  return chain;
}
