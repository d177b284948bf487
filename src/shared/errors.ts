/**
 * One error class and one table of codes. Every message says what was wrong and what to do next, in words a
 * model can act on. `retryable` tells the caller whether the very same call may succeed later.
 */
export const ERROR_CODES = {
  invalid_input: { retryable: false },
  invalid_config: { retryable: false },
  unknown_tool: { retryable: false },
  denied_by_policy: { retryable: false },
  approval_required: { retryable: false },
  path_outside_root: { retryable: false },
  path_forbidden: { retryable: false },
  not_found: { retryable: false },
  not_a_file: { retryable: false },
  not_text: { retryable: false },
  already_exists: { retryable: false },
  conflict: { retryable: true },
  too_large: { retryable: false },
  patch_invalid: { retryable: false },
  patch_no_match: { retryable: false },
  patch_ambiguous: { retryable: false },
  workspace_unsafe: { retryable: false },
  busy: { retryable: true },
  timeout: { retryable: true },
  cancelled: { retryable: true },
  tool_failed: { retryable: false },
  limit_reached: { retryable: false },
  damaged: { retryable: false },
  unauthorized: { retryable: false },
  unavailable: { retryable: true },
  io_error: { retryable: true },
  usage: { retryable: false },
  internal: { retryable: false },
} as const satisfies Record<string, { retryable: boolean }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface CamelErrorOptions {
  /** The next step, one sentence, imperative. */
  next?: string;
  /** Facts a program may read: paths, line numbers, candidates. JSON values only. */
  details?: Record<string, unknown>;
  cause?: unknown;
}

export class CamelError extends Error {
  readonly code: ErrorCode;
  readonly next: string | undefined;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, options: CamelErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CamelError";
    this.code = code;
    this.next = options.next;
    this.details = options.details;
  }

  get retryable(): boolean {
    return ERROR_CODES[this.code].retryable;
  }
}

const ERRNO_CODES: Record<string, ErrorCode> = {
  ENOENT: "not_found",
  ENOTDIR: "not_found",
  EISDIR: "not_a_file",
  EEXIST: "already_exists",
  EACCES: "path_forbidden",
  EPERM: "path_forbidden",
};

/** Turns anything thrown into a CamelError; an unexpected one becomes `internal` (or `io_error` with its errno). */
export function toCamelError(thrown: unknown): CamelError {
  if (thrown instanceof CamelError) return thrown;
  if (thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" && "syscall" in thrown) {
    return new CamelError(ERRNO_CODES[thrown.code] ?? "io_error", thrown.message, {
      cause: thrown,
      next: "Check that the file system has space and that the path is readable and writable, then retry.",
    });
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new CamelError("internal", message, { cause: thrown });
}
