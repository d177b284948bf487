/** What a stretch of text is to the ranking. */
export const UNIT_TEXT = 0;
export const UNIT_HEADING = 1;
/** The file's own name, as a unit without text at the top of the file. */
export const UNIT_NAME = 2;

/** Flag of a unit that goes on in the line of the one before it. */
export const UNIT_CONTINUES = 1;
/** Flag of a unit that ends in a question mark. */
export const UNIT_ASKS = 2;

/** One sentence, line or heading. Offsets are UTF-16 positions in the file's text. */
export interface Unit {
  start: number;
  end: number;
  kind: number;
  /** Whether it goes on in the line of the unit before it. */
  continues: boolean;
  /** Where a `Name:` label of this unit's line stands; equal when there's none. */
  labelStart: number;
  labelEnd: number;
}

// A unit shorter than this joins the next sentence of its line: "Wow!" is no unit of meaning.
const SHORTEST = 24;
// A sentence longer than this is cut at a space: minified or table text must not become one huge unit.
const LONGEST = 400;
/** These end a sentence before a space, those anywhere; closing marks after either still belong to it. */
const STOPS = ".!?…";
const DENSE_STOPS = "。！？｡";
const CLOSERS = "\"'”’)]」』）";
const ASKING = "?？؟";
const STOP = 1;
const DENSE_STOP = 2;
/** Between the cells of a table. */
const BAR = 3;
const ASCII_ROLES = Uint8Array.from({ length: 0x80 }, (_, code) => roleOf(code));
const HEADING = /^ {0,3}#{1,6}(?:[ \t]+|$)/;
const FENCE = /^ {0,3}(?:```|~~~)/;
const MARKS = String.raw`[\s>*\-+]*`;
/** `[10:32]`, `12/03/24, 9:15 PM -`, `2026-03-09T10:32:`, as chats put before a name or, in brackets, after it. */
const TIME = String.raw`[\[(]?\d[\d:./\-T]*\d(?:,?\s+\d[\d:.]*\d)?(?:\s?[AaPp]\.?[Mm]\.?)?[\])]?`;
const NAME = String.raw`(\p{L}[\p{L}\p{N}_.'’\- ]{0,38}[\p{L}\p{N}_])`;
const BOLD = String.raw`(?:\*\*|__)?`;
const LABEL = new RegExp(
  `^${MARKS}(?:${TIME}\\s*[\\-–:]?\\s*)?${BOLD}(?:<${NAME}>|${NAME}${BOLD}(?:\\s*[\\[(]${TIME}[\\])])?:)${BOLD}\\s`,
  "u",
);
/** No label reaches further into its line. */
const LONGEST_LABEL = 90;

export function splitUnits(text: string): Unit[] {
  const units: Unit[] = [{ start: 0, end: 0, kind: UNIT_NAME, continues: false, labelStart: 0, labelEnd: 0 }];
  let at = 0;
  let inFence = false;
  let colon = -1;
  while (at < text.length) {
    const newline = text.indexOf("\n", at);
    const end = newline === -1 ? text.length : newline;
    const first = skipSpace(text, at, end);
    if (first < end) {
      // The expressions are for the few lines that can match: they cost more than all the rest.
      const mark = text[first];
      if ((mark === "`" || mark === "~") && FENCE.test(text.slice(at, end))) inFence = !inFence;
      const isHeading = mark === "#" && !inFence && HEADING.test(text.slice(at, end));
      if (colon < first) colon = text.indexOf(":", first);
      if (colon === -1) colon = text.length;
      const mayHaveLabel = colon < Math.min(end, first + LONGEST_LABEL) || mark === "<";
      if (isHeading) {
        units.push({
          start: first,
          end: trimEnd(text, first, end),
          kind: UNIT_HEADING,
          continues: false,
          labelStart: 0,
          labelEnd: 0,
        });
      } else {
        const label = mayHaveLabel
          ? LABEL.exec(text.slice(first, Math.min(end, first + LONGEST_LABEL)))
          : null;
        splitLine(text, first, trimEnd(text, first, end), label, units);
      }
    }
    at = end + 1;
  }
  return units;
}

function splitLine(
  text: string,
  from: number,
  to: number,
  label: RegExpExecArray | null,
  units: Unit[],
): void {
  const name = label?.[1] ?? label?.[2] ?? "";
  const labelStart = label ? from + label[0].lastIndexOf(name) : from;
  const labelEnd = label ? labelStart + name.length : from;
  const push = (start: number, end: number): void => {
    if (start < end)
      units.push({ start, end, kind: UNIT_TEXT, continues: start > from, labelStart, labelEnd });
  };
  let start = from;
  for (let end = sentenceEnd(text, from, to); end < to; end = sentenceEnd(text, end, to)) {
    if (end - start < SHORTEST) continue;
    start = pushBounded(text, start, end, push);
  }
  // A short rest belongs to the sentence before it.
  const last = units.at(-1);
  if (start > from && to - start < SHORTEST && last) last.end = to;
  else pushBounded(text, start, to, push);
}

/** Where the sentence at `from` ends, the white space after it included; `to` where it doesn't end before. */
function sentenceEnd(text: string, from: number, to: number): number {
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    const role = code < 0x80 ? (ASCII_ROLES[code] ?? 0) : code >= 0x2026 ? roleOf(code) : 0;
    if (role === 0) continue;
    if (role === BAR) {
      if (at > from && isSpace(text.charCodeAt(at - 1)) && isSpace(text.charCodeAt(at + 1))) return at + 2;
      continue;
    }
    let end = at + 1;
    while (end < to && CLOSERS.includes(text[end] ?? "")) end += 1;
    if (role === DENSE_STOP) return end;
    if (end < to && isSpace(text.charCodeAt(end))) return skipSpace(text, end, to);
  }
  return to;
}

/** Whether what stands between `from` and `to` ends as a question does. */
export function endsAsking(text: string, from: number, to: number): boolean {
  let at = to - 1;
  while (at > from && CLOSERS.includes(text[at] ?? "")) at -= 1;
  return at >= from && ASKING.includes(text[at] ?? "");
}

function roleOf(code: number): number {
  const character = String.fromCharCode(code);
  if (STOPS.includes(character)) return STOP;
  return DENSE_STOPS.includes(character) ? DENSE_STOP : character === "|" ? BAR : 0;
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
