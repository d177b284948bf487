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
  approval_denied: { retryable: false },
  blocked_by_hook: { retryable: false },
  rate_limited: { retryable: true },
  limit_reached: { retryable: false },
  circuit_open: { retryable: true },
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
  tool_failed: { retryable: false },
  workspace_unsafe: { retryable: false },
  busy: { retryable: true },
  timeout: { retryable: true },
  cancelled: { retryable: true },
  damaged: { retryable: false },
  unauthorized: { retryable: false },
  unavailable: { retryable: true },
  io_error: { retryable: true },
  usage: { retryable: false },
  internal: { retryable: false },
} as const satisfies Record<string, { retryable: boolean }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** For docs/errors.md; `npm run check` names a code that has none. */
export const ERROR_MEANINGS: Partial<Record<ErrorCode, string>> = {
  invalid_input: "The arguments don't fit the tool's schema. The message names each wrong one.",
  invalid_config: "A config file can't be read or has wrong keys. The message names file, line and key.",
  unknown_tool: "No tool of this name is available to this caller.",
  denied_by_policy: "Policy refuses the call. The message names the rule; only a person can change it.",
  approval_required: "Policy wants a person's approval, and nobody gave it.",
  approval_denied: "A person said no. Their note is in the message.",
  blocked_by_hook: "A script of the user's stopped the call. Its reason is in the message.",
  rate_limited: "Too many calls of this tool in a short time. Wait, then retry.",
  limit_reached: "A limit on calls, tools, depth or evolution is reached.",
  circuit_open: "The tool failed several times in a row and is left alone for a while.",
  path_outside_root: "The path leads out of the workspace or the memory folder, directly or through a link.",
  path_forbidden: "The path is protected: by policy, by the operating system, or because of what it is.",
  not_found: "The file, record or id doesn't exist.",
  not_a_file: "The path is a folder or something else that has no text.",
  not_text: "The file is binary or in an encoding that can't be read as text.",
  already_exists: "Something is already there, and it is never replaced in silence.",
  conflict: "Somebody else changed it in the meantime. Read it again, then retry.",
  too_large: "A file, an argument or a message is over its limit.",
  patch_invalid: "The patch can't be parsed. The message names the line.",
  patch_no_match: "A hunk's old lines are not in the file. The message shows the nearest place.",
  patch_ambiguous: "A hunk fits in several places. Give more context lines.",
  tool_failed: "The tool ran and failed. The message is its own.",
  damaged:
    "A stored tool, secret or key can't be opened: it was changed, cut off or sealed with another key.",
  workspace_unsafe:
    "The workspace would be the file system's root or the home folder. Name one with --workspace.",
  busy: "Another process holds the lock, or too many calls run at once.",
  timeout: "The call took longer than it may.",
  cancelled: "The caller cancelled the call or went away.",
  unauthorized: "The token or the identity is missing, unknown or revoked.",
  unavailable: "The server is stopping, or something it needs can't be reached.",
  io_error: "The disk failed: full, read-only or broken.",
  usage: "The command line is wrong. See camel-mcp --help.",
  internal: "A bug in camel-mcp. Please report it with the message.",
};

/** The next step where the error itself names none. */
export const ERROR_NEXT: Record<ErrorCode, string> = {
  invalid_input: "Correct the arguments and repeat the call.",
  invalid_config: "Tell the user to correct the config file.",
  unknown_tool: "Use a tool that is listed.",
  denied_by_policy: "Don't try to get round it. Work without this, or tell the user.",
  approval_required: "Ask the user to approve it, then repeat exactly the same call.",
  approval_denied: "Don't repeat the call. Ask the user what to do instead.",
  blocked_by_hook: "Don't repeat the call unchanged. Follow what the reason says, or tell the user.",
  rate_limited: "Wait a little, then repeat the call.",
  limit_reached: "Go on without it, or ask the user to raise the limit.",
  circuit_open: "Do something else, and try it again later.",
  path_outside_root: "Use a path inside the folder.",
  path_forbidden: "Use another file, or tell the user.",
  not_found: "Check the name; list what there is.",
  not_a_file: "Name a file.",
  not_text: "Use a tool that reads this kind of file.",
  already_exists: "Choose another name, or change what is there.",
  conflict: "Look at it again, then repeat the call.",
  too_large: "Send or ask for less in one call.",
  patch_invalid: "Correct the patch and send all of it again.",
  patch_no_match: "Read the file again and make the patch from what it says now.",
  patch_ambiguous: "Add context lines until the place is the only one.",
  tool_failed: "Correct the arguments if the message says so; else tell the user.",
  workspace_unsafe: "Ask the user to start the server with --workspace and the project's folder.",
  busy: "Wait a moment, then repeat the call.",
  timeout: "Ask for less in one call, then try again.",
  cancelled: "Repeat the call if it is still wanted.",
  damaged: "Tell the user; a backup or a new one is needed.",
  unauthorized: "Tell the user that the identity or the PIN was not accepted.",
  unavailable: "Wait, then repeat the call; if it stays so, tell the user.",
  io_error: "Check that the disk has space and can be written, then repeat the call.",
  usage: "See camel-mcp --help.",
  internal: "This is a fault of the server. Don't repeat the call unchanged; tell the user.",
};

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

const NO_RIGHTS =
  "Ask the user to correct its owner and rights, or use another path (the state directory: --home).";

const ERRNO: Record<string, { code: ErrorCode; next: string }> = {
  ENOENT: { code: "not_found", next: "Check that the path exists." },
  ENOTDIR: { code: "not_found", next: "A part of that path is a file and not a folder; use another path." },
  EISDIR: { code: "not_a_file", next: "Name a file, not a folder." },
  EEXIST: { code: "already_exists", next: ERROR_NEXT.already_exists },
  EACCES: {
    code: "path_forbidden",
    next: NO_RIGHTS,
  },
  EPERM: {
    code: "path_forbidden",
    next: NO_RIGHTS,
  },
  EROFS: { code: "io_error", next: "That file system can't be written to; use another path." },
  ENOSPC: { code: "io_error", next: "The disk is full. Free some space, then retry." },
};

/** Turns anything thrown into a CamelError; an unexpected one becomes `internal` (or `io_error` with its errno). */
export function toCamelError(thrown: unknown): CamelError {
  if (thrown instanceof CamelError) return thrown;
  if (thrown instanceof Error && "syscall" in thrown && codeOf(thrown) !== "") {
    const { code, next } = ERRNO[codeOf(thrown)] ?? { code: "io_error", next: ERROR_NEXT.io_error };
    return new CamelError(code, thrown.message, { cause: thrown, next });
  }
  return new CamelError("internal", messageOf(thrown), { cause: thrown });
}

/** Of whatever was thrown, which needn't be an error. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The code of a system error, such as ENOENT; empty for anything else. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
}
