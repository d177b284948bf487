import { counted } from "../../shared/counted.ts";
import type { Hunk, HunkLine, Repair } from "./patch.ts";

/** One reading of a hunk. The first one is what it says; later ones are tried only when no place fits earlier ones. */
export interface Reading {
  lines: HunkLine[];
  repair?: Omit<Repair, "patchLine">;
  /** Holds only where its old lines end the file. */
  atEnd?: true;
  /** Another reading of equal rank: where indentation may differ, both must give the same lines. */
  rival?: HunkLine[];
}

const LITERAL_TABS = /^(?:\\t)+/;

export function hasTabsAsText(lines: readonly string[]): boolean {
  return lines.some((line) => LITERAL_TABS.test(line));
}

/** In order of rank; readings of one rank are tried together, tier by tier. `fileHasTabs`: and none written as text. */
export function readingsOf(hunk: Hunk, fileHasTabs: boolean): Reading[][] {
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
    const message = `${counted(firstReal, "empty line")} at the hunk's start, not read as context`;
    ranks.push([{ lines: rest, repair: { kind: "leading_blank", message } }]);
  }
  // A blank line of context below the file's last line: what a newline at its end looks like.
  const lastReal = hunk.lines.findLastIndex(({ kind, text }) => kind !== " " || text.trim() !== "");
  const upToEnd = hunk.lines.slice(0, lastReal + 1);
  if (upToEnd.length < hunk.lines.length && upToEnd.some(({ kind }) => kind !== "+")) {
    const message = "blank context below the end of the file was not read as a line";
    ranks.push([{ lines: upToEnd, repair: { kind: "trailing_blank", message }, atEnd: true }]);
  }
  if (hasTabsAsText(hunk.lines.map(({ text }) => text))) {
    const lines = hunk.lines.map((line) => ({
      ...line,
      text: line.text.replace(LITERAL_TABS, (tabs) => "\t".repeat(tabs.length / 2)),
    }));
    const message = 'indentation written as "\\t" was read as tabs';
    const asTabs: Reading[] = [{ lines, repair: { kind: "literal_tab", message } }];
    // Where no old line here shows it, the hunk fits either way; what the patch does elsewhere tells.
    if (hunk.tabsAsText === true && fileHasTabs) ranks.unshift(asTabs);
    else ranks.push(asTabs);
  }
  return ranks;
}
