import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CamelError } from "../../../src/shared/errors.ts";
import { describeSchedule, localTime } from "../../../src/tools/cron/describe.ts";
import { nextSlot, nextSlots } from "../../../src/tools/cron/next-slot.ts";
import { parseSchedule } from "../../../src/tools/cron/schedule.ts";
import { instantOfWall, offsetAt } from "../../../src/tools/cron/zone.ts";

const NOW = Date.UTC(2026, 10, 18, 12, 0, 7);
const parse = (text: string, zone = "Europe/Berlin") => parseSchedule(text, { zone, now: NOW });
const next = (text: string, zone?: string): string | undefined => {
  const slot = nextSlot(parse(text, zone), NOW);
  return slot === undefined ? undefined : new Date(slot).toISOString();
};

describe("schedules", () => {
  it.each([
    ["30s", "2026-11-18T12:00:37.000Z"],
    ["5m", "2026-11-18T12:05:07.000Z"],
    ["1h", "2026-11-18T13:00:07.000Z"],
    ["1d", "2026-11-19T12:00:07.000Z"],
    ["+20m", "2026-11-18T12:20:07.000Z"],
    ["+2h", "2026-11-18T14:00:07.000Z"],
    ["+1d", "2026-11-19T12:00:07.000Z"],
    ["0 9 * * *", "2026-11-19T08:00:00.000Z"],
    ["*/5 * * * *", "2026-11-18T12:05:00.000Z"],
    ["*/10 * * * * *", "2026-11-18T12:00:10.000Z"],
    ["0 9 * * MON-FRI", "2026-11-19T08:00:00.000Z"],
    ["@daily", "2026-11-18T23:00:00.000Z"],
    ["@hourly", "2026-11-18T13:00:00.000Z"],
    ["0 0 L * *", "2026-11-29T23:00:00.000Z"],
    ["0 0 15W * *", "2026-12-14T23:00:00.000Z"],
    ["0 0 * * FRI#2", "2026-12-10T23:00:00.000Z"],
    ["0 0 29 2 *", "2028-02-28T23:00:00.000Z"],
    ["2027-03-14T09:00", "2027-03-14T08:00:00.000Z"],
    ["2027-03-14T09:00:00Z", "2027-03-14T09:00:00.000Z"],
    ["2027-03-14T09:00:00+05:30", "2027-03-14T03:30:00.000Z"],
    ["2027-03-14T09:00:00.250+01", "2027-03-14T08:00:00.250Z"],
    ["20270314T090000Z", "2027-03-14T09:00:00.000Z"],
    ["0 9 */2 * 1", "2026-11-23T08:00:00.000Z"], // a day field with * narrows the other: Monday and odd
    ["0 9 13 * 1", "2026-11-23T08:00:00.000Z"], // otherwise either will do
    ["2027-03-28T02:30", "2027-03-28T01:00:00.000Z"], // skipped by the clock: the jump
    ["2026-10-25T02:30", undefined], // in the past
  ])("%s is next due at %s", (text, expected) => {
    expect(next(text)).toBe(expected);
  });

  it.each([
    ["0 0 30 2 *", /never happens/],
    ["60 * * * *", /not a cron expression/],
    ["? * * * *", /"\?" is not allowed/],
    ["@reboot", /an event/],
    ["every day", /not a schedule/],
    ["0s", /not between/],
    ["2027-02-30T09:00", /does not exist/],
    ["2027-02-03T25:00", /does not exist/],
    ["2027-2-3", /not an ISO/],
    ["2027-03-14T09:00:00+99:00", /not an ISO/],
    ["0 0 32 * *", /day: 32/],
    ["0 0 * 13 *", /month: 13/],
    ["1 2 3 4 5 6 7", /5 or 6 fields/],
    ["", /not a schedule/],
  ])("%s is refused with a reason and a correction", (text, reason) => {
    const error = thrownBy(() => parse(text));
    expect(error.message).toMatch(reason);
    expect(error.next).toMatch(/\w/);
  });

  // The clock stands at 2026-11-18T12:00Z, in Berlin.
  it.each([
    ["every day at 9am", "0 9 * * *"],
    ["every weekday at 9:30", "30 9 * * 1-5"],
    ["mondays at 9pm", "0 21 * * 1"],
    ["9am every day", "0 9 * * *"],
    ["noon", "0 12 * * *"],
    ["daily", "@daily"],
    ["tomorrow 9am", "2026-11-19T09:00"],
    ["every 5 minutes", "5m"],
    ["@every 90s", "90s"],
    ["an hour", "1h"],
    ["in 2 hours", "+2h"],
    ["2h from now", "+2h"],
    ["1w", "7d"],
    ["+1w", "+7d"],
    ["2h30m", "150m"],
    ["1.5 h", "90m"],
    ["PT15M", "15m"],
    ["rate(5 minutes)", "5m"],
    ["cron(0 9 * * ? *)", "0 9 * * *"],
    ["0 0 9 ? * MON 2027", "0 0 9 * * mon"],
    ['"0 9 * * *"', "0 9 * * *"],
    ["0 9 * * * # daily", "0 9 * * *"],
    ["whenever", undefined],
    ["every other day", undefined],
    ["5", undefined],
    ["every 0 minutes", undefined],
    ["0 25 * * ?", undefined],
  ])("%s is refused, and what was meant proposed: %s", (text, meant) => {
    const { next } = thrownBy(() => parse(text));
    expect(/Did you mean "(.+?)"\?/.exec(next ?? "")?.[1]).toBe(meant);
  });

  it("refuses a zone that is none", () => {
    expect(thrownBy(() => parse("1h", "Mars/Olympus")).message).toMatch(/not a time zone/);
  });

  it("is said in words", () => {
    expect(describeSchedule(parse("0 9 * * 1-5"), "Europe/Berlin")).toBe(
      "at 09:00, Monday through Friday (Europe/Berlin)",
    );
    expect(describeSchedule(parse("90m"), "UTC")).toBe("every 90 minutes");
    expect(describeSchedule(parse("1h"), "UTC")).toBe("every hour");
    expect(describeSchedule(parse("+20m"), "Europe/Berlin")).toMatch(/^once, Wed 2026-11-18 13:20:07 /);
    expect(localTime(NOW, "America/New_York")).toBe("Wed 2026-11-18 07:00:07 GMT-5");
  });
});

const zones = fc.constantFrom(
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kolkata",
  "UTC",
  "Africa/Casablanca",
);
const instants = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2030, 0, 1) });
const field = (low: number, high: number) =>
  fc.oneof(
    fc.constant("*"),
    fc.integer({ min: low, max: high }).map(String),
    fc.integer({ min: 2, max: 10 }).map((step) => `*/${step}`),
    fc
      .uniqueArray(fc.integer({ min: low, max: high }), { minLength: 2, maxLength: 4 })
      .map((all) => all.join(",")),
  );
const patterns = fc
  .tuple(field(0, 59), field(0, 23), fc.oneof(fc.constant("*"), fc.integer({ min: 1, max: 28 }).map(String)))
  .map(([minute, hour, day]) => `${minute} ${hour} ${day} * *`);

describe("slots", () => {
  it("come in order, each strictly after the last, and do not depend on where the search starts", () => {
    fc.assert(
      fc.property(patterns, zones, instants, (pattern, zone, after) => {
        const schedule = parseSchedule(pattern, { zone, now: after });
        const slots = nextSlots(schedule, after, 5);
        expect(slots).toHaveLength(5);
        for (const [index, slot] of slots.entries()) {
          const before = slots[index - 1] ?? after;
          expect(slot).toBeGreaterThan(before);
          expect(nextSlot(schedule, before + Math.floor((slot - before) / 2))).toBe(slot);
          expect(nextSlot(schedule, slot - 1)).toBe(slot);
        }
      }),
      { numRuns: 150 },
    );
  });

  it("of an interval are counted from its anchor, wherever the search starts", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), instants, fc.nat(10 ** 9), (seconds, now, later) => {
        const slot = nextSlot(parseSchedule(`${seconds}s`, { zone: "UTC", now }), now + later)!;
        expect((slot - now) % (seconds * 1000)).toBe(0);
        expect(slot).toBeGreaterThan(now + later);
        expect(slot - (now + later)).toBeLessThanOrEqual(seconds * 1000);
      }),
    );
  });

  it("a wall time that exists once is the instant that shows it", () => {
    fc.assert(
      fc.property(zones, instants, (zone, instant) => {
        const wall = instant + offsetAt(zone, instant);
        const found = instantOfWall(zone, wall);
        expect(found + offsetAt(zone, found)).toBe(wall);
        expect(found).toBeLessThanOrEqual(instant);
      }),
    );
  });
});

function thrownBy(work: () => unknown): CamelError {
  try {
    work();
  } catch (error) {
    if (error instanceof CamelError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
