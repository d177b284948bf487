import { closest } from "../../shared/glob.ts";

/**
 * Wall clocks of zones. A zone is a row of stretches with one offset each; all daylight-saving questions are
 * answered on stretches, so that they are answered in one place.
 */
export interface Stretch {
  /** Instants, milliseconds: the offset holds from `start` up to, but not at, `end`. */
  start: number;
  end: number;
  /** Wall clock minus UTC, milliseconds. */
  offset: number;
  /** The offset that held right before `start`. */
  offsetBefore: number;
}

const DAY = 86_400_000;
/** No zone has ever changed its clock and changed it back within this time. */
const STEP = 5 * DAY;
/** A stretch is cut here even where the clock never changes, so that looking for its end is bounded. */
const LONGEST = 200 * DAY;

const knownZones = new Set<string>();

export function isZone(name: string): boolean {
  // Asked once for every job, and each answer takes longer than reading the job.
  if (knownZones.has(name)) return true;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    knownZones.add(name);
    return true;
  } catch {
    return false;
  }
}

/** A zone as it is written; names are understood in any case. One that is none stays as it is. */
export function zoneNamed(name: string): string {
  if (!isZone(name)) return name;
  const { timeZone } = new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions();
  return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name;
}

/** People's names for zones that are no places, and offsets: the sign of `Etc/GMT` is the other way round. */
function usualZone(plain: string): string | undefined {
  const offset = /^(?:utc|gmt)?([+-])0?(\d{1,2})(?::?00)?$/.exec(plain.replaceAll(/\s/g, ""));
  if (offset !== null) return `Etc/GMT${offset[1] === "+" ? "-" : "+"}${offset[2]}`;
  return Object.entries(USUAL).find(([, names]) =>
    names.includes(plain.replace(/ (standard|daylight)?\s*time$/, "")),
  )?.[0];
}
const USUAL: Record<string, readonly string[]> = {
  "America/New_York": ["eastern", "edt", "et"],
  "America/Chicago": ["central", "cdt", "ct"],
  "America/Denver": ["mountain", "mdt"],
  "America/Los_Angeles": ["pacific", "pdt", "pt"],
  "Europe/London": ["bst"],
  "Europe/Paris": ["cest"],
  "Asia/Tokyo": ["jst"],
  "Australia/Sydney": ["aest", "aedt"],
};

/** The zone a misspelt name, or a town alone, is meant as. */
export function closestZone(name: string): string | undefined {
  const usual = usualZone(name.trim().toLowerCase());
  if (usual !== undefined && isZone(usual)) return usual;
  const zones = Intl.supportedValuesOf("timeZone");
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[\s_-]+/g, "");
  const town = plain(name.slice(name.lastIndexOf("/") + 1));
  return zones.find((zone) => plain(zone.slice(zone.lastIndexOf("/") + 1)) === town) ?? closest(name, zones);
}

export function systemZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function offsetFormat(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
    formats.set(zone, format);
  }
  return format;
}

export function offsetAt(zone: string, instant: number): number {
  const name = offsetFormat(zone)
    .formatToParts(instant)
    .find((part) => part.type === "timeZoneName")?.value;
  const found = /^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(name ?? "");
  if (found === null) throw new Error(`the zone ${zone} has no readable offset: ${name}`);
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = found;
  const size = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === "-" ? -size : size;
}

const known = new Map<string, Stretch[]>();
const MAX_KNOWN = 200;

/** The stretch that holds at an instant. */
export function stretchAt(zone: string, instant: number): Stretch {
  let stretches = known.get(zone);
  if (stretches === undefined) {
    stretches = [];
    known.set(zone, stretches);
  }
  const found = stretches.find((one) => one.start <= instant && instant < one.end);
  if (found !== undefined) return found;
  const fresh = findStretch(zone, instant);
  if (stretches.length >= MAX_KNOWN) stretches.length = 0;
  stretches.push(fresh);
  return fresh;
}

function findStretch(zone: string, instant: number): Stretch {
  const offset = offsetAt(zone, instant);
  const change = (direction: 1 | -1): number | undefined => {
    for (let distance = STEP; distance <= LONGEST; distance += STEP) {
      const probe = instant + direction * distance;
      if (offsetAt(zone, probe) !== offset) {
        const [before, after] = direction === 1 ? [probe - STEP, probe] : [probe, probe + STEP];
        return firstInstantOf(zone, offsetAt(zone, after), before, after);
      }
    }
    return undefined;
  };
  const start = change(-1);
  return {
    start: start ?? instant - LONGEST,
    end: change(1) ?? instant + LONGEST,
    offset,
    offsetBefore: start === undefined ? offset : offsetAt(zone, start - 1),
  };
}

/** The first instant in (low, high] at which the zone has this offset; clocks change at whole seconds. */
function firstInstantOf(zone: string, offset: number, low: number, high: number): number {
  let [without, having] = [Math.floor(low / 1000), Math.ceil(high / 1000)];
  while (having - without > 1) {
    const middle = Math.floor((without + having) / 2);
    if (offsetAt(zone, middle * 1000) === offset) having = middle;
    else without = middle;
  }
  return having * 1000;
}

/**
 * The instant at which a zone's wall clock shows `wall` (milliseconds, read as if it were UTC). A time that the
 * clock skips is the instant of the jump; of a time it shows twice, the first.
 */
export function instantOfWall(zone: string, wall: number): number {
  const early = stretchAt(zone, wall - DAY);
  let stretch = early;
  for (;;) {
    const instant = Math.max(stretch.start, wall - stretch.offset);
    if (instant < stretch.end) return instant;
    stretch = stretchAt(zone, stretch.end);
  }
}

/** Whether the clock, where it was changed, shows this wall time not at all, or twice. */
export function oddityOf(zone: string, wall: number): "skipped" | "twice" | undefined {
  const instant = instantOfWall(zone, wall);
  const stretch = stretchAt(zone, instant);
  if (instant + stretch.offset !== wall) return "skipped";
  const next = stretchAt(zone, stretch.end);
  return wall - next.offset >= next.start ? "twice" : undefined;
}
