import { matcher, type Schedule } from "./schedule.ts";
import { stretchAt, type Stretch } from "./zone.ts";

const HOUR = 3_600_000;
/** Debian's cron: a clock moved by more than this was set, not shifted, and nothing is made up for. */
const LARGEST_SHIFT = 3 * HOUR;
const MOST_STRETCHES = 400;

/** The first instant after `after` at which the schedule is due; undefined when there is none. */
export function nextSlot(schedule: Schedule, after: number): number | undefined {
  switch (schedule.kind) {
    case "at":
      return schedule.at > after ? schedule.at : undefined;
    case "every": {
      const passed = Math.floor((after - schedule.anchor) / schedule.milliseconds);
      return schedule.anchor + Math.max(1, passed + 1) * schedule.milliseconds;
    }
    case "cron":
      return rememberedCronSlot(schedule, after);
  }
}

const answers = new Map<string, number | undefined>();
const MOST_ANSWERS = 2_000;

/** Jobs that are due together mostly say so in the same words, and each is asked about more than once. */
function rememberedCronSlot(schedule: Schedule & { kind: "cron" }, after: number): number | undefined {
  const question = `${schedule.pattern}\n${schedule.zone}\n${after}`;
  if (answers.has(question)) return answers.get(question);
  const slot = nextCronSlot(schedule, after);
  if (answers.size >= MOST_ANSWERS) answers.clear();
  answers.set(question, slot);
  return slot;
}

export function nextSlots(schedule: Schedule, after: number, count: number): number[] {
  const slots: number[] = [];
  let from = after;
  while (slots.length < count) {
    const slot = nextSlot(schedule, from);
    if (slot === undefined) break;
    slots.push(slot);
    from = slot;
  }
  return slots;
}

/**
 * Debian's rule. A job with `*` in the minute or hour follows the wall clock: times that are skipped don't happen,
 * times that come twice happen twice. Any other job runs once a day whatever the clock does: at the jump if its
 * time was skipped, the first time if its time comes twice.
 */
function nextCronSlot(schedule: Schedule & { kind: "cron" }, after: number): number | undefined {
  const match = matcher(schedule.pattern);
  let stretch = stretchAt(schedule.zone, after);
  const start = (): number => {
    const first = firstWall(stretch, schedule.wild) - 1;
    // Where no clock changes, a stretch may reach further back than the one before it did, to before `after`.
    return after < stretch.start ? first : Math.max(after + stretch.offset, first);
  };
  let from = start();
  for (let count = 0; count < MOST_STRETCHES; count++) {
    const wall = match.nextRun(new Date(from))?.getTime();
    if (wall === undefined) return undefined;
    const instant = Math.max(stretch.start, wall - stretch.offset);
    if (instant < stretch.end) return instant;
    // Rare jobs: go at once to the stretch that may hold the match, and not through all those before it.
    stretch = stretchAt(schedule.zone, Math.max(stretch.end, instant - 48 * HOUR));
    from = start();
  }
  return undefined;
}

/** The first wall time of a stretch that counts: for a fixed job, the one after the last that counted before. */
function firstWall(stretch: Stretch, wild: boolean): number {
  const shift = stretch.offset - stretch.offsetBefore;
  const start = stretch.start + stretch.offset;
  return wild || Math.abs(shift) > LARGEST_SHIFT ? start : start - shift;
}
