const MONTHS = "january february march april may june july august september october november december".split(
  " ",
);
const NO_DAY = -0x80000000;

/** Days since 1970 of a date in a file's path (`2026-03-09`, `2026/03/09`, `20260309`), or `NO_DAY`. */
export function dayOfPath(path: string): number {
  const match = /(?:^|[^\d])((?:19|20)\d{2})[-_/.]?(\d{2})[-_/.]?(\d{2})(?!\d)/.exec(path);
  return match ? dayNumber(Number(match[1]), Number(match[2]), Number(match[3])) : NO_DAY;
}

export function dayNumber(year: number, month: number, day: number): number {
  const at = new Date(Date.UTC(year, month - 1, day));
  const isReal = at.getUTCMonth() === month - 1 && at.getUTCDate() === day;
  return isReal ? at.getTime() / 86_400_000 : NO_DAY;
}

/** A date as a question names it; parts not said are absent. */
export interface DateHint {
  year?: number;
  month?: number;
  day?: number;
}

const NAMED = `(${MONTHS.map((month) => `${month.slice(0, 3)}(?:${month.slice(3)})?`).join("|")}|sept)`;
const DAY = "(\\d{1,2})(?:st|nd|rd|th)?";
const MONTH_FIRST = new RegExp(
  `\\b${NAMED}\\b\\.?(?:\\s+${DAY}(?!\\d))?(?:,?\\s+(?:of\\s+)?((?:19|20)\\d{2}))?`,
  "gi",
);
const DAY_FIRST = new RegExp(`\\b${DAY}\\s+(?:of\\s+)?${NAMED}\\b\\.?(?:,?\\s+((?:19|20)\\d{2}))?`, "gi");
const YEAR_MONTH = /\b((?:19|20)\d{2})-(\d{2})\b/g;
const YEAR = /\b((?:19|20)\d{2})\b/g;

/** Every date form of a query, the most exact first; overlapping readings of the same words count once. */
export function dateHints(query: string): DateHint[] {
  const hints: DateHint[] = [];
  let rest = query;
  const take = (
    pattern: RegExp,
    read: (match: readonly (string | undefined)[]) => DateHint | undefined,
  ): void => {
    rest = rest.replace(pattern, (...match: (string | undefined)[]) => {
      const hint = read(match);
      if (!hint) return match[0] ?? "";
      hints.push(hint);
      return " ";
    });
  };
  for (const { year, month, day } of writtenDates(query)) hints.push({ year, month, day });
  rest = rest.replace(NUMERIC, " ");
  take(YEAR_MONTH, ([, year, month]) => hintOf(year, Number(month), undefined));
  take(DAY_FIRST, ([, day, month, year]) => hintOf(year, monthOf(month), day));
  take(MONTH_FIRST, ([whole, month, day, year]) =>
    // "may" and "march" are words too: alone they name a month only when written as one.
    day === undefined &&
    year === undefined &&
    !/^[A-Z]/.test(whole ?? "") &&
    /^(?:may|mar|march|sep|dec|jan)$/i.test(month ?? "")
      ? undefined
      : hintOf(year, monthOf(month), day),
  );
  take(YEAR, ([, year]) => hintOf(year, undefined, undefined));
  return hints;
}

function monthOf(name: string | undefined): number {
  return MONTHS.findIndex((month) => month.startsWith((name ?? "").slice(0, 3).toLowerCase())) + 1;
}

function hintOf(year: string | undefined, month: number | undefined, day: string | undefined): DateHint {
  return {
    ...(year === undefined ? {} : { year: Number(year) }),
    ...(month === undefined ? {} : { month }),
    ...(day === undefined ? {} : { day: Number(day) }),
  };
}

/**
 * How well a file written on `fileDay` fits the hint, 0 to 1. What people write about a day is mostly written on
 * it or soon after ("yesterday", "last weekend"), so the fit falls off slowly after the day and fast before it.
 */
export function dateFit(hint: DateHint, fileDay: number): number {
  if (fileDay === NO_DAY) return 0;
  const file = new Date(fileDay * 86_400_000);
  const year = hint.year ?? file.getUTCFullYear();
  if (hint.month === undefined) return file.getUTCFullYear() === year ? 0.15 : 0;
  if (hint.day === undefined) {
    const months = (file.getUTCFullYear() - year) * 12 + file.getUTCMonth() + 1 - hint.month;
    if (months === 0) return 0.6;
    // "Last month" is said all through the next one.
    return months === 1 ? 0.25 : 0;
  }
  const after = fileDay - dayNumber(year, hint.month, hint.day);
  if (after === 0) return 1;
  if (after > 0 && after <= 3) return 0.8;
  if (after > 0 && after <= 10) return 0.5;
  return after >= -3 && after < 0 ? 0.3 : 0;
}

/** A date written in numbers, and where. */
export interface WrittenDate {
  at: number;
  year: number;
  month: number;
  day: number;
}

// 2026-03-09, 2026/3/9, 2026年3月9日; 9.3.2026, 09/03/26. Longer chains of numbers are versions and addresses.
const NUMERIC =
  /(?<![\d./-])(?:((?:19|20)\d{2})(?:([-/.])(\d{1,2})\2(\d{1,2})|年(\d{1,2})月(\d{1,2})日)|(\d{1,2})([./])(\d{1,2})\8((?:19|20)?\d{2}))(?![\d/-]|\.\d)/g;

/** Dates in numbers, in order. Where day and month could be either, as in 3/9/26, both readings. */
export function writtenDates(text: string): WrittenDate[] {
  const dates: WrittenDate[] = [];
  const add = (at: number, year: number, month: number, day: number): void => {
    if (dayNumber(year, month, day) !== NO_DAY) dates.push({ at, year, month, day });
  };
  for (const match of text.matchAll(NUMERIC)) {
    const at = match.index;
    const [, yearFirst, , month, date, kanjiMonth, kanjiDate, one, mark, other, yearLast] = match;
    if (yearFirst !== undefined) {
      add(at, Number(yearFirst), Number(month ?? kanjiMonth), Number(date ?? kanjiDate));
      continue;
    }
    const year = Number(yearLast) + (yearLast?.length === 2 ? 2000 : 0);
    add(at, year, Number(other), Number(one));
    if (mark === "/" && one !== other) add(at, year, Number(one), Number(other));
  }
  return dates;
}

/** Terms that stand for a date, however it is written; no word looks like one. */
export function dateTerms({ year, month, day }: DateHint): string[] {
  const two = (value: number): string => String(value).padStart(2, "0");
  if (month === undefined) return [];
  const date = day === undefined ? two(month) : `${two(month)}-${two(day)}`;
  return [`@${date}`, ...(year === undefined ? [] : [`@${year}-${date}`])];
}

export { NO_DAY };
