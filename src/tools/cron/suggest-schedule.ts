import { offsetAt } from "./zone.ts";

/** What somebody who wrote a schedule in words most likely meant; a proposal for a message, never taken by itself. */
export function suggestSchedule(text: string, context: { zone: string; now: number }): string | undefined {
  const words = text
    .toLowerCase()
    .replaceAll(/["'`]|#.*$/g, "")
    .replaceAll(/[\s,]+/g, " ")
    .trim();
  return bareFields(words, text) ?? length(words) ?? dayAndTime(words, context);
}

/** Right but for its wrapping: quotes, a comment, `?`, a year. */
function bareFields(words: string, text: string): string | undefined {
  const fields = words
    .replace(/^cron\s*\(?|\)$/g, "")
    .trim()
    .replaceAll("?", "*")
    .split(" ");
  // Clouds write the year last, and no seconds in front of it.
  if (fields.length === (words.startsWith("cron") ? 6 : 7) && /^(\*|\d{4})$/.test(fields.at(-1) ?? ""))
    fields.pop();
  const bare = fields.join(" ");
  const isCron = (fields.length === 5 || fields.length === 6) && fields.every((field) => FIELD.test(field));
  if (isCron) return bare === text ? undefined : bare;
  const nickname = NICKNAMES.find((name) => name === `@${words.replace(/^(every|each) /, "")}`);
  return nickname ?? (/^[+]?\d+[smhd]$/.test(words) && words !== text.toLowerCase() ? words : undefined);
}
const FIELD =
  /^(\d|\*|(sun|mon|tue|wed|thu|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|l)\b)[\w*/,#-]*$/;
const NICKNAMES = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

const UNITS: readonly [RegExp, number][] = [
  [/^s(ec(ond)?s?)?$/, 1],
  [/^m(in(ute)?s?)?$/, 60],
  [/^h((ou)?rs?)?$/, 3_600],
  [/^d(ays?)?$/, 86_400],
  [/^w(eeks?)?$/, 604_800],
];

/** `every 5 minutes`, `in 2 hours`, `2h from now`, `@every 5m`, `1w`, `2h30m`, `1.5h`, `rate(5 minutes)`, `PT15M`. */
function length(words: string): string | undefined {
  const bare = words.replace(/^(@every|every|each|rate ?\(|in|after|r\/pt?|pt?(?=\d)|\+) ?/, "");
  const isOnce = /^(in|after|\+)/.test(words) || /(from now|later)$/.test(words);
  const rest = bare.replace(/\)$| ?(from now|later)$/g, "").trim();
  const one = /^(an?|one) ?(?=[a-z])/.test(rest) || /^(second|minute|hour|day|week)$/.test(rest);
  const parts = (one ? `1 ${rest.replace(/^(an?|one) /, "")}` : rest).matchAll(
    /(\d+(?:\.\d+)?) ?([a-z]+) ?(?:and )?/g,
  );
  let seconds = 0;
  let matched = 0;
  for (const [whole, count, unit = ""] of parts) {
    const size = UNITS.find(([name]) => name.test(unit))?.[1];
    if (size === undefined) return undefined;
    seconds += Number(count) * size;
    matched += whole.length;
  }
  if (matched === 0 || (!one && matched < rest.length) || seconds < 1 || !Number.isInteger(seconds))
    return undefined;
  const [name, size] = (
    [
      ["d", 86_400],
      ["h", 3_600],
      ["m", 60],
      ["s", 1],
    ] as const
  ).find(([, unit]) => seconds % unit === 0) ?? ["s", 1];
  return `${isOnce ? "+" : ""}${seconds / size}${name}`;
}

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** `every day at 9am`, `weekdays at 9:30`, `monday 9am`, `tomorrow at 09:00`, `9am`. */
function dayAndTime(words: string, { zone, now }: { zone: string; now: number }): string | undefined {
  const found =
    /^(?:(on|every|each) )?(?:([a-z]+?)s? ?)??(?:(?:at|@) ?)?(?:(\d{1,2})(?::(\d{2}))? ?([ap]m)?|(noon|midnight))?(?: (daily|every day))?$/.exec(
      words,
    );
  if (found === null) return undefined;
  const [, , day = "", hours, minutes = "0", half, name, daily] = found;
  if (hours === undefined && name === undefined && day === "") return undefined;
  let hour = name === undefined ? Number(hours ?? 9) : name === "noon" ? 12 : 0;
  if (half === "pm" && hour < 12) hour += 12;
  if (half === "am" && hour === 12) hour = 0;
  if (hour > 23 || Number(minutes) > 59) return undefined;
  if (day === "today" || day === "tomorrow") {
    const wall = new Date(now + offsetAt(zone, now) + (day === "tomorrow" ? 86_400_000 : 0));
    return `${wall.toISOString().slice(0, 10)}T${String(hour).padStart(2, "0")}:${minutes.padStart(2, "0")}`;
  }
  const weekday = DAYS.indexOf(day.slice(0, 3));
  const isDay = day === "" || day === "day" || day === "daily" || daily !== undefined;
  // A bare number may be anything.
  if (day === "" && half === undefined && name === undefined && !words.includes(":")) return undefined;
  const field = isDay
    ? "*"
    : day === "weekday"
      ? "1-5"
      : day === "weekend"
        ? "0,6"
        : weekday === -1
          ? undefined
          : `${weekday}`;
  return field === undefined ? undefined : `${Number(minutes)} ${hour} * * ${field}`;
}
