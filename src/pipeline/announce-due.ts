import type { Clock } from "../shared/clock.ts";
import type { Inbox } from "../stores/inbox.ts";
import type { Call, Middleware, Next, ToolResult } from "./call.ts";

/** What becomes due is announced after at most this time. */
const LOOK_MS = 100;

/**
 * One short line on any result while scheduled prompts wait for the caller: most hosts show nothing a server says on
 * its own. Not within a job's run, and not on errors, which must stay as short as they are.
 */
export function announceDue(options: {
  clock: Clock;
  inbox: () => Promise<Inbox>;
  enabled: () => boolean;
}): Middleware<Call> {
  const known = new Map<string, { mark: string; line: string | undefined; at: number }>();

  /** Only that nothing is due is remembered: what was just done must not be announced. */
  const isQuiet = (agentId: string): boolean => {
    const last = known.get(agentId);
    return last !== undefined && last.line === undefined && options.clock.monotonic() - last.at < LOOK_MS;
  };
  const lineFor = async (agentId: string): Promise<string | undefined> => {
    const at = options.clock.monotonic();
    const last = known.get(agentId);
    const inbox = await options.inbox();
    const mark = await inbox.mark(agentId);
    if (mark === last?.mark && last.line !== undefined) return last.line;
    const line = mark === "-" ? undefined : describe(await inbox.list(agentId));
    known.set(agentId, { mark, line, at });
    return line;
  };

  return function announceDue(call, next) {
    return call.caller.depth > 0 || !options.enabled() ? next() : withLine(call, next);
  };

  async function withLine(call: Call, next: Next): Promise<ToolResult> {
    const result = await next();
    if (result.isError === true) return result;
    // A result that tells of the inbox needs no line about it.
    if (result.structured?.["inbox"] !== undefined || isQuiet(call.caller.agentId)) return result;
    const line = await lineFor(call.caller.agentId).catch(() => undefined);
    if (line === undefined) return result;
    return {
      ...result,
      text: `${result.text}\n\n${line}`,
      ...(result.structured === undefined ? {} : { structured: { ...result.structured, due: line } }),
    };
  }
}

function describe(entries: readonly { job: { id: string } }[]): string | undefined {
  if (entries.length === 0) return undefined;
  const ids = [...new Set(entries.map((entry) => entry.job.id))];
  const shown = ids.slice(0, 3).join(", ") + (ids.length > 3 ? ", …" : "");
  return `[cron] ${entries.length} scheduled ${entries.length === 1 ? "prompt is" : "prompts are"} due: ${shown}. Call cron with action run and the id.`;
}
