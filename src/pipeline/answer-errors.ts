import { ERROR_NEXT, toCamelError, type CamelError } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import type { Call, Middleware, ToolResult } from "./call.ts";

/** Whatever was thrown below becomes a result that a model can act on; nothing thrown reaches the protocol. */
export function answerErrors(options: { log: Logger }): Middleware<Call> {
  return async function answerErrors(call, next) {
    try {
      return await next();
    } catch (thrown) {
      const error = toCamelError(thrown);
      if (error.code === "internal")
        options.log.error(
          `${call.name}: ${error.cause instanceof Error ? (error.cause.stack ?? error.message) : error.message}`,
        );
      return errorResult(error);
    }
  };
}

export function errorResult(error: CamelError): ToolResult {
  const next = error.next ?? ERROR_NEXT[error.code];
  return {
    isError: true,
    code: error.code,
    text: `Error (${error.code}): ${error.message}\nNext: ${next}`,
    structured: {
      error: {
        code: error.code,
        message: error.message,
        next,
        retryable: error.retryable,
        ...(error.details === undefined ? {} : { details: error.details }),
      },
    },
  };
}
