/** What a stretch of text is to the ranking. */
export const UNIT_TEXT = 0;
export const UNIT_HEADING = 1;
/** The file's own name, as a unit without text at the top of the file. */
export const UNIT_NAME = 2;

/** One sentence, line or heading. Offsets are UTF-16 positions in the file's text; lines count from 1. */
export interface Unit {
  start: number;
  end: number;
  line: number;
  kind: number;
  /** Heading level 1-6; 0 for text. */
  level: number;
  /** Position in the file of the unit that is the nearest heading above, or 0 (the name). */
  heading: number;
  /** Where a `Name:` label of this unit's line stands; equal when there's none. */
  labelStart: number;
  labelEnd: number;
}

// A unit shorter than this joins the next sentence of its line: "Wow!" is no unit of meaning.
const SHORTEST = 24;
// A sentence longer than this is cut at a space: minified or table text must not become one huge unit.
const LONGEST = 400;
const SENTENCE_END = /[.!?…]["'”’)\]]*\s+|[。！？｡]["'”’」』)）]*|\s\|\s/g;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const FENCE = /^ {0,3}(?:```|~~~)/;
const LABEL =
  /^[\s>*\-+]*(?:\*\*|__)?(\p{L}[\p{L}\p{N}.'’\- ]{0,38}[\p{L}\p{N}])(?:\*\*|__)?:(?:\*\*|__)?\s/u;

export function splitUnits(text: string): Unit[] {
  const units: Unit[] = [
    { start: 0, end: 0, line: 1, kind: UNIT_NAME, level: 0, heading: 0, labelStart: 0, labelEnd: 0 },
  ];
  const openHeadings: number[] = [];
  let heading = 0;
  let line = 1;
  let at = 0;
  let inFence = false;
  while (at < text.length) {
    const newline = text.indexOf("\n", at);
    const end = newline === -1 ? text.length : newline;
    const first = skipSpace(text, at, end);
    if (first < end) {
      const content = text.slice(at, end);
      if (FENCE.test(content)) inFence = !inFence;
      const marks = inFence ? null : HEADING.exec(content);
      if (marks) {
        const level = marks[1]?.length ?? 1;
        while (openHeadings.length > 0 && (units[openHeadings.at(-1) ?? 0]?.level ?? 0) >= level)
          openHeadings.pop();
        const above = openHeadings.at(-1) ?? 0;
        heading = units.length;
        openHeadings.push(heading);
        units.push({
          start: first,
          end: trimEnd(text, first, end),
          line,
          kind: UNIT_HEADING,
          level,
          heading: above,
          labelStart: 0,
          labelEnd: 0,
        });
      } else {
        splitLine(text, first, trimEnd(text, first, end), content, at, line, heading, units);
      }
    }
    at = end + 1;
    line += 1;
  }
  return units;
}

function splitLine(
  text: string,
  from: number,
  to: number,
  content: string,
  lineStart: number,
  line: number,
  heading: number,
  units: Unit[],
): void {
  const label = LABEL.exec(content);
  const name = label?.[1] ?? "";
  const labelStart = label ? lineStart + content.indexOf(name) : from;
  const labelEnd = label ? labelStart + name.length : from;
  const push = (start: number, end: number): void => {
    if (start < end)
      units.push({ start, end, line, kind: UNIT_TEXT, level: 0, heading, labelStart, labelEnd });
  };
  let start = from;
  SENTENCE_END.lastIndex = from;
  for (let match = SENTENCE_END.exec(text); match && match.index < to; match = SENTENCE_END.exec(text)) {
    const end = Math.min(match.index + match[0].length, to);
    if (end - start < SHORTEST) continue;
    start = pushBounded(text, start, end, push);
  }
  // A short rest belongs to the sentence before it.
  const last = units.at(-1);
  if (start > from && to - start < SHORTEST && last && last.line === line) last.end = to;
  else pushBounded(text, start, to, push);
}

function pushBounded(
  text: string,
  from: number,
  to: number,
  push: (start: number, end: number) => void,
): number {
  let start = from;
  while (to - start > LONGEST) {
    let cut = text.lastIndexOf(" ", start + LONGEST);
    if (cut <= start + LONGEST / 2) {
      cut = start + LONGEST;
      const code = text.charCodeAt(cut);
      if (code >= 0xdc00 && code <= 0xdfff) cut += 1;
    }
    push(start, cut);
    start = skipSpace(text, cut, to);
  }
  push(start, trimEnd(text, start, to));
  return to;
}

function skipSpace(text: string, from: number, to: number): number {
  let at = from;
  while (at < to && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function trimEnd(text: string, from: number, to: number): number {
  let at = to;
  while (at > from && isSpace(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

function isSpace(code: number): boolean {
  return (
    code === 0x20 || code === 0x09 || code === 0x0d || code === 0xa0 || code === 0xfeff || code === 0x3000
  );
}
