import { Cron } from "croner";
import { CamelError } from "../../shared/errors.ts";
import { suggestSchedule } from "./suggest-schedule.ts";
import { closestZone, instantOfWall, isZone, oddityOf } from "./zone.ts";

/** What a schedule text means. Frozen when a job is added, so that every process computes the same slots. */
export type Schedule =
  | { kind: "every"; milliseconds: number; anchor: number }
  | { kind: "at"; at: number }
  /** `wild`: minute or hour begins with `*`; it decides what happens when the clock is changed. */
  | { kind: "cron"; pattern: string; zone: string; wild: boolean };

const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const LONGEST_INTERVAL = 3_660 * 86_400_000;

const FORMATS =
  "Use 30s, 5m, 1h or 1d to repeat; five cron fields (0 9 * * 1-5), six with seconds, or @daily; +20m, +2h or +1d, or an ISO time (2027-03-14T09:00) for once.";

/** The nicknames of Debian's cron, spelled out; @reboot is an event, not a time. */
const NICKNAMES: Record<string, string> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** `now` is when the job was added: `+20m` counts from it, and an interval's slots are counted from it. */
export function parseSchedule(text: string, context: { zone: string; now: number }): Schedule {
  const given = text.trim();
  const { zone, now } = context;
  if (!isZone(zone)) throw unknownZone(zone);
  const length = /^(\+?)(\d{1,9})\s*(s|m|h|d)$/i.exec(given);
  if (length !== null) {
    const [, plus = "", count = "", unit = ""] = length;
    const milliseconds = Number(count) * (UNITS[unit.toLowerCase()] ?? 0);
    if (milliseconds < 1_000 || milliseconds > LONGEST_INTERVAL) {
      throw refused(
        `"${given}" is not between 1s and ten years.`,
        "Give a length within it: 30s, 5m, 1h, 1d. A time further away is an ISO time.",
      );
    }
    return plus === "+"
      ? { kind: "at", at: now + milliseconds }
      : { kind: "every", milliseconds, anchor: now };
  }
  if (/^\d{4}-|^\d{8}(?!\S* )/.test(given)) return { kind: "at", at: parseTimestamp(given, zone) };
  return parseCron(given, context);
}

/** What was most likely meant by a text that is no schedule, as the beginning of a hint. */
function guessed(text: string, context: { zone: string; now: number }): string {
  const guess = suggestSchedule(text, context);
  try {
    if (guess !== undefined && parseSchedule(guess, context)) return `Did you mean "${guess}"? `;
  } catch {
    // No better than what was given.
  }
  return "";
}

function unknownZone(zone: string): CamelError {
  const guess = closestZone(zone);
  return refused(
    `"${zone.slice(0, 80)}" is not a time zone.`,
    `${guess === undefined ? "" : `Did you mean ${guess}? `}Use an IANA name such as Europe/Berlin, America/New_York or UTC.`,
  );
}

/** Extended (2027-03-14T09:00) or basic (20270314T0900) form; no zone is further from UTC than 14 hours. */
const TIMESTAMP =
  /^(\d{4})(-?)(\d{2})\2(\d{2})(?:[T ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?$/i;

/** ISO 8601. Without an offset it is the job's own wall clock; a date alone is midnight. */
export function parseTimestamp(text: string, zone: string): number {
  const found = TIMESTAMP.exec(text.trim());
  if (found === null) {
    throw refused(
      `"${text}" is not an ISO 8601 time.`,
      "Write 2027-03-14T09:00, or 2027-03-14T09:00:00Z for UTC; a zone goes into tz.",
    );
  }
  const [, year, , month, day, hour = "0", minute = "0", second = "0", fraction = "0", offset] = found;
  const parts = [year, month, day, hour, minute, second].map(Number);
  const [y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0] = parts;
  const wall = Date.UTC(y, mo - 1, d, h, mi, s);
  const back = new Date(wall);
  const shown = [
    back.getUTCFullYear(),
    back.getUTCMonth() + 1,
    back.getUTCDate(),
    back.getUTCHours(),
    back.getUTCMinutes(),
    back.getUTCSeconds(),
  ];
  if (shown.some((value, index) => value !== parts[index])) {
    throw refused(`"${text}" does not exist in the calendar.`, "Check the day of the month and the hour.");
  }
  const exact = wall + Math.floor(Number(`0.${fraction}`) * 1000);
  if (offset === undefined) return instantOfWall(zone, exact);
  if (offset.toUpperCase() === "Z") return exact;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(":", ""));
  return exact - (offset.startsWith("-") ? -minutes : minutes) * 60_000;
}

/** What to know of a one-shot's time that its zone's clock skips or shows twice; nothing of any other. */
export function oddityOfTime(text: string, zone: string): "skipped" | "twice" | undefined {
  const offset = TIMESTAMP.exec(text.trim())?.at(-1);
  const isWallTime = offset === undefined && TIMESTAMP.test(text.trim());
  return isWallTime ? oddityOf(zone, parseTimestamp(text, "UTC")) : undefined;
}

function parseCron(text: string, context: { zone: string; now: number }): Schedule {
  const { zone } = context;
  if (text.toLowerCase() === "@reboot") {
    throw refused(
      "@reboot is an event, not a time.",
      "Use a time, or let the operating system start the work.",
    );
  }
  const pattern = (NICKNAMES[text.toLowerCase()] ?? text).replaceAll(/\s+/g, " ");
  const fields = pattern.split(" ");
  if (fields.length !== 5 && fields.length !== 6) {
    throw refused(
      `"${text}" is not a schedule${fields.length > 1 ? `: cron has 5 or 6 fields, this has ${fields.length}` : ""}.`,
      guessed(text, context) + FORMATS,
    );
  }
  // croner would read `?` as "what the clock says now", which differs from process to process.
  if (pattern.includes("?"))
    throw refused(`"?" is not allowed in "${text}".`, `${guessed(text, context)}Use * instead.`);
  let first: Date | null;
  try {
    first = matcher(pattern).nextRun(new Date(Date.UTC(2000, 0, 1)));
  } catch (error) {
    const why = error instanceof Error ? inItsOwnNumbers(error.message) : String(error);
    throw refused(
      `"${text}" is not a cron expression: ${why}`,
      `${guessed(text, context)}Fields: minute 0-59, hour 0-23, day 1-31, month 1-12, weekday 0-7 (Sunday is 0 and 7); six fields begin with seconds.`,
    );
  }
  if (first === null) {
    throw refused(
      `"${text}" never happens: no month has that day.`,
      "Correct the day of the month; L is the last day.",
    );
  }
  const [minute = "", hour = ""] = fields.slice(-5);
  return { kind: "cron", pattern, zone, wild: minute.startsWith("*") || hour.startsWith("*") };
}

/** croner counts days and months from 0 in what it says. */
function inItsOwnNumbers(message: string): string {
  return message
    .replace(/^CronPattern: /, "")
    .replace(
      /(Invalid value for (?:day|month): )(-?\d+)/,
      (_, before: string, value: string) => `${before}${Number(value) + 1}`,
    );
}

/** Cron's rule: a day field that begins with `*` narrows the other one; otherwise either will do. */
export function daysNarrow(pattern: string): boolean {
  const [day = "", , weekday = ""] = pattern.split(" ").slice(-3);
  return day.startsWith("*") || weekday.startsWith("*");
}

const matchers = new Map<string, Cron>();

/**
 * croner over the bare wall clock: an offset of zero has no daylight saving, so its answers are plain calendar
 * arithmetic, and what a changed clock does to them is decided in next-slot.ts alone.
 */
export function matcher(pattern: string): Cron {
  let cron = matchers.get(pattern);
  if (cron === undefined) {
    cron = new Cron(pattern, {
      utcOffset: 0,
      mode: "5-or-6-parts",
      paused: true,
      domAndDow: daysNarrow(pattern),
    });
    if (matchers.size > 500) matchers.clear();
    matchers.set(pattern, cron);
  }
  return cron;
}

function refused(message: string, next: string): CamelError {
  return new CamelError("invalid_input", message, { next });
}
