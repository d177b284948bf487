import type { Clock } from "../shared/clock.ts";
import { CamelError, toCamelError, type ErrorCode } from "../shared/errors.ts";
import type { ToolDef, ToolLimits } from "../tools/tool.ts";
import type { Middleware, Next, ResolvedCall, ToolResult } from "./call.ts";

interface Circuit {
  failures: number;
  /** When it opened; undefined while closed. */
  openedAt: number | undefined;
  /** A trial call is under way after the cool-down. */
  trying: boolean;
}

const DEFAULT_COOLDOWN_SECONDS = 60;

/** The caller's own mistakes say nothing about the tool's health. */
const FAULTS: ReadonlySet<ErrorCode> = new Set([
  "internal",
  "io_error",
  "timeout",
  "unavailable",
  "busy",
  "tool_failed",
]);

/** Closed: calls pass. After `threshold` faults in a row: open, refused at once. After the cool-down one call tries. */
export function circuitBreaker(options: { clock: Clock; limitsOf(tool: ToolDef): ToolLimits }): Middleware {
  const circuits = new Map<string, Circuit>();
  return function circuitBreaker(call, next) {
    const setting = options.limitsOf(call.tool).circuitBreaker;
    return setting === undefined ? next() : guarded(setting, call, next);
  };

  async function guarded(
    setting: NonNullable<ToolLimits["circuitBreaker"]>,
    call: ResolvedCall,
    next: Next,
  ): Promise<ToolResult> {
    const { threshold, cooldownSeconds = DEFAULT_COOLDOWN_SECONDS } = setting;
    // A tool that was repaired is another one, and so is another session's of the same name.
    const key = `${call.tool.name}\0${call.tool.fingerprint ?? ""}`;
    const circuit = circuits.get(key) ?? { failures: 0, openedAt: undefined, trying: false };
    circuits.set(key, circuit);
    const isTrial = circuit.openedAt !== undefined;
    if (circuit.openedAt !== undefined) {
      const rest = circuit.openedAt + cooldownSeconds * 1000 - options.clock.monotonic();
      if (rest > 0 || circuit.trying) {
        const seconds = Math.max(1, Math.ceil(rest / 1000));
        throw new CamelError(
          "circuit_open",
          `${call.tool.name} failed ${circuit.failures} times in a row and is paused.`,
          {
            next: `Do something else; it is tried again in ${seconds} s.`,
            details: { retryAfterSeconds: seconds },
          },
        );
      }
      circuit.trying = true;
    }
    try {
      const result = await next();
      // One that began before it opened says nothing of what came after.
      if (isTrial || circuit.openedAt === undefined) {
        circuit.failures = 0;
        circuit.openedAt = undefined;
      }
      return result;
    } catch (thrown) {
      const error = toCamelError(thrown);
      if (FAULTS.has(error.code)) {
        circuit.failures += 1;
        if (isTrial || circuit.failures >= threshold) circuit.openedAt = options.clock.monotonic();
      }
      throw error;
    } finally {
      if (isTrial) circuit.trying = false;
    }
  }
}
