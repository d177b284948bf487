import { describe, expect, it } from "vitest";
import { nextSlot } from "../../../src/tools/cron/next-slot.ts";
import { parseSchedule } from "../../../src/tools/cron/schedule.ts";

/**
 * The oracle is Debian cron's main loop, minute by minute: a virtual clock that follows the wall clock, wildcard
 * jobs judged on the wall clock, fixed jobs on the virtual one. It shares no code with what it checks.
 */
const ZONES = [
  "America/New_York",
  "Europe/Berlin",
  "Australia/Lord_Howe", // half an hour
  "America/Santiago", // at midnight: a day without 00:00
  "Africa/Cairo", // at midnight, back at the end of the day
  "Pacific/Chatham", // at a quarter to three
  "Antarctica/Troll", // two hours
  "Africa/Casablanca", // back for one month
];
const PATTERNS = [
  "* * * * *",
  "*/15 * * * *",
  "30 * * * *",
  "0 */2 * * *",
  "*/20 2 * * *",
  "30 2 * * *",
  "0 0 * * *",
  "0,30 1,2,3 * * *",
  "15 1-3 * * *",
  "45 23 * * *",
  "5 0-4/2 * * 0",
  "10,50 2 1-31 * 6,0",
];
const MINUTE = 60_000;
const YEAR = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2027, 0, 1) };

describe.each(ZONES)("the clock changes of 2026 in %s", (zone) => {
  const wallMinute = wallClockOf(zone);
  const changes = changesOf(wallMinute);

  it("has changes to test", () => {
    expect(changes.length).toBeGreaterThanOrEqual(2);
  });

  it.each(PATTERNS)("%s fires when Debian's cron fires it", (pattern) => {
    const schedule = parseSchedule(pattern, { zone, now: YEAR.from });
    for (const change of changes) {
      const [from, to] = [change - 30 * 60 * MINUTE, change + 30 * 60 * MINUTE];
      const ours: string[] = [];
      for (
        let slot = nextSlot(schedule, from);
        slot !== undefined && slot <= to;
        slot = nextSlot(schedule, slot)
      )
        ours.push(new Date(slot).toISOString());
      expect(ours).toEqual(debian(pattern, wallMinute, from, to));
    }
  });
});

function debian(
  pattern: string,
  wallMinute: (instant: number) => number,
  from: number,
  to: number,
): string[] {
  const entry = parseEntry(pattern);
  const fired = new Set<number>();
  let virtual = wallMinute(from);
  for (let instant = from + MINUTE; instant <= to; instant += MINUTE) {
    const running = wallMinute(instant);
    const difference = running - virtual;
    const find = (minute: number, wild: boolean, fixed: boolean): void => {
      if ((entry.wild ? wild : fixed) && entry.matches(minute)) fired.add(instant);
    };
    if (difference === 1) {
      virtual = running;
      find(virtual, true, true);
    } else if (difference > 5 && difference <= 180) {
      find(running, true, false);
      while (virtual < running) find(++virtual, false, true);
    } else if (difference <= 0 && difference > -180) {
      find(running, true, false);
    } else throw new Error(`an unexpected change of ${difference} minutes`);
  }
  return [...fired].map((instant) => new Date(instant).toISOString());
}

function parseEntry(pattern: string): { wild: boolean; matches(minute: number): boolean } {
  const [minutes = "", hours = "", days = "", , weekdays = ""] = pattern.split(" ");
  const set = (field: string, low: number, high: number): Set<number> => {
    const values = new Set<number>();
    for (const item of field.split(",")) {
      const [range = "", step = "1"] = item.split("/");
      const [first = "", last = first] = range === "*" ? [String(low), String(high)] : range.split("-");
      for (let value = Number(first); value <= Number(last); value += Number(step)) values.add(value);
    }
    return values;
  };
  const [m, h, d, w] = [set(minutes, 0, 59), set(hours, 0, 23), set(days, 1, 31), set(weekdays, 0, 6)];
  return {
    wild: minutes.startsWith("*") || hours.startsWith("*"),
    matches(minute) {
      const wall = new Date(minute * MINUTE);
      const [day, weekday] = [d.has(wall.getUTCDate()), w.has(wall.getUTCDay())];
      const onDay = days.startsWith("*") || weekdays.startsWith("*") ? day && weekday : day || weekday;
      return onDay && m.has(wall.getUTCMinutes()) && h.has(wall.getUTCHours());
    },
  };
}

/** Minutes of the wall clock, from the date's own fields and not from an offset. */
function wallClockOf(zone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  const seen = new Map<number, number>();
  return (instant) => {
    let minute = seen.get(instant);
    if (minute === undefined) {
      const part: Record<string, number> = {};
      for (const { type, value } of format.formatToParts(instant)) part[type] = Number(value);
      minute =
        Date.UTC(part["year"]!, part["month"]! - 1, part["day"], part["hour"], part["minute"]) / MINUTE;
      seen.set(instant, minute);
    }
    return minute;
  };
}

function changesOf(wallMinute: (instant: number) => number): number[] {
  const changes: number[] = [];
  const step = 15 * MINUTE;
  let shown = wallMinute(YEAR.from);
  for (let instant = YEAR.from + step; instant < YEAR.to; instant += step) {
    const now = wallMinute(instant);
    if (now - shown !== 15) changes.push(instant);
    shown = now;
  }
  return changes;
}
