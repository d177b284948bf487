import type { Hunk, HunkLine, Repair } from "./patch.ts";

/** One reading of a hunk. The first one is what it says; later ones are tried only when no place fits earlier ones. */
export interface Reading {
  lines: HunkLine[];
  repair?: Omit<Repair, "patchLine">;
}

const LITERAL_TABS = /^(?:\\t)+/;

export function readingsOf(hunk: Hunk): Reading[] {
  const asWritten: Reading = { lines: hunk.lines };
  const readings: Reading[] = [];
  if (hunk.lines.some((line) => line.unprefixed === true)) {
    // Where one context line lost its prefix, the indented ones did too, though they still begin with a blank.
    const whole = hunk.lines.map((line): HunkLine =>
      line.kind === " " && line.unprefixed !== true && line.bare !== true
        ? { ...line, text: ` ${line.text}` }
        : line,
    );
    readings.push({
      lines: whole,
      repair: { kind: "unprefixed_context", message: "context lines were read without a prefix" },
    });
  }
  readings.push(asWritten);
  const firstReal = hunk.lines.findIndex((line) => line.bare !== true);
  const rest = hunk.lines.slice(firstReal);
  if (firstReal > 0 && rest.some((line) => line.kind !== "+")) {
    readings.push({
      lines: rest,
      repair: {
        kind: "leading_blank",
        message: `${firstReal} empty line(s) at the hunk's start were not read as context`,
      },
    });
  }
  if (hunk.lines.some((line) => LITERAL_TABS.test(line.text))) {
    readings.push({
      lines: hunk.lines.map((line) => ({
        ...line,
        text: line.text.replace(LITERAL_TABS, (tabs) => "\t".repeat(tabs.length / 2)),
      })),
      repair: { kind: "literal_tab", message: 'indentation written as "\\t" was read as tabs' },
    });
  }
  return readings;
}
