import cronstrue from "cronstrue";
import { daysNarrow, type Schedule } from "./schedule.ts";

/** A schedule in words a person would use. */
export function describeSchedule(schedule: Schedule, zone: string): string {
  switch (schedule.kind) {
    case "at":
      return `once, ${localTime(schedule.at, zone)}`;
    case "every":
      return `every ${describeLength(schedule.milliseconds)}`;
    case "cron":
      return `${describeCron(schedule.pattern)} (${schedule.zone})`;
  }
}

function describeCron(pattern: string): string {
  try {
    const said = cronstrue.toString(pattern, { use24HourTimeFormat: true, verbose: false });
    const words = daysNarrow(pattern) ? said.replace(", and on ", ", only on ") : said;
    return words.charAt(0).toLowerCase() + words.slice(1);
  } catch {
    // Some of croner's finer modifiers have no words there; the expression itself is always right.
    return `cron ${pattern}`;
  }
}

const LENGTHS: readonly [number, string][] = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1_000, "second"],
];

export function describeLength(milliseconds: number): string {
  const [size, name] = LENGTHS.find(([unit]) => milliseconds % unit === 0) ?? [1_000, "second"];
  const count = Math.round(milliseconds / size);
  return count === 1 ? name : `${count} ${name}s`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** `Thu 2026-11-19 09:00:00 GMT+1`: unambiguous, sortable by eye. */
export function localTime(instant: number, zone: string): string {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      weekday: "short",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23",
      timeZoneName: "short",
    });
    formats.set(zone, format);
  }
  const parts: Record<string, string> = {};
  for (const part of format.formatToParts(instant)) parts[part.type] = part.value;
  const { weekday, year, month, day, hour, minute, second, timeZoneName } = parts;
  return `${weekday} ${year}-${month}-${day} ${hour}:${minute}:${second} ${timeZoneName}`;
}

export function utcTime(instant: number): string {
  return new Date(instant).toISOString().replace(".000Z", "Z");
}
