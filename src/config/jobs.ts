import type { Config } from "./schema.ts";
import { CamelError } from "../shared/errors.ts";
import { parseSchedule, parseTimestamp } from "../tools/cron/schedule.ts";

/** Schedules and zones are checked when the file is read: a job that never fires would not be noticed. */
export function checkJobs(
  { cron }: Config,
  position: (key: readonly PropertyKey[]) => { line: number; column: number },
  path: string,
): void {
  const ids = new Set<string>();
  for (const [index, job] of cron.jobs.entries()) {
    const fail = (key: string, message: string, next?: string): CamelError => {
      const at = position(["cron", "jobs", index, key]);
      return new CamelError(
        "invalid_config",
        `${path}:${at.line}:${at.column}: cron.jobs.${index}.${key}: ${message}`,
        {
          ...(next === undefined ? {} : { next }),
          details: { file: path, ...at },
        },
      );
    };
    if (ids.has(job.id)) throw fail("id", `"${job.id}" is there twice.`, "Give each job an id of its own.");
    ids.add(job.id);
    const zone = job.tz ?? cron.timezone ?? "UTC";
    for (const [key, check] of [
      ["schedule", () => parseSchedule(job.schedule, { zone, now: 0 })],
      ["until", () => (job.until === undefined ? 0 : parseTimestamp(job.until, zone))],
    ] as const) {
      try {
        check();
      } catch (error) {
        if (!(error instanceof CamelError)) throw error;
        throw fail(key, error.message, error.next);
      }
    }
  }
}
