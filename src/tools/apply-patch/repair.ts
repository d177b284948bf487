import type { Hunk, HunkLine, Repair } from "./patch.ts";

/** One reading of a hunk. The first one is what it says; later ones are tried only when no place fits earlier ones. */
export interface Reading {
  lines: HunkLine[];
  repair?: Omit<Repair, "patchLine">;
  /** Another reading of equal rank: where indentation may differ, both must give the same lines. */
  rival?: HunkLine[];
}

const LITERAL_TABS = /^(?:\\t)+/;

/** In order of rank; readings of one rank are tried together, tier by tier. */
export function readingsOf(hunk: Hunk): Reading[][] {
  const asWritten: Reading = { lines: hunk.lines };
  const ranks: Reading[][] = [[asWritten]];
  if (hunk.lines.some((line) => line.unprefixed === true)) {
    // Where one context line lost its prefix, the indented ones did too, though they still begin with a blank.
    const whole = hunk.lines.map((line): HunkLine =>
      line.kind === " " && line.unprefixed !== true && line.bare !== true
        ? { ...line, text: ` ${line.text}` }
        : line,
    );
    ranks[0] = [
      {
        lines: whole,
        repair: { kind: "unprefixed_context", message: "context lines were read without a prefix" },
        rival: hunk.lines,
      },
      { ...asWritten, rival: whole },
    ];
  }
  const firstReal = hunk.lines.findIndex((line) => line.bare !== true);
  const rest = hunk.lines.slice(firstReal);
  if (firstReal > 0 && rest.some((line) => line.kind !== "+")) {
    const message = `${firstReal} empty line(s) at the hunk's start were not read as context`;
    ranks.push([{ lines: rest, repair: { kind: "leading_blank", message } }]);
  }
  if (hunk.lines.some((line) => LITERAL_TABS.test(line.text))) {
    const lines = hunk.lines.map((line) => ({
      ...line,
      text: line.text.replace(LITERAL_TABS, (tabs) => "\t".repeat(tabs.length / 2)),
    }));
    const message = 'indentation written as "\\t" was read as tabs';
    ranks.push([{ lines, repair: { kind: "literal_tab", message } }]);
  }
  return ranks;
}
