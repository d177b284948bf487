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
/** Of scripts that say more with a letter. Thai and Lao mark no end of a sentence: their spaces stand between clauses. */
const LONGEST_DENSE = 150;
const DENSE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]{3}/u;
const PAUSES = " ，、；";
/** These end a sentence before a space, those anywhere; closing marks after either still belong to it. */
const STOPS = ".!?…।॥۔؟։።";
const DENSE_STOPS = "。！？｡။។";
const CLOSERS = "\"'”’)]」』）";
const ASKING = "?？؟";
const STOP = 1;
const DENSE_STOP = 2;
/** Between the cells of a table. */
const BAR = 3;
const roles = new Uint8Array(0x10000);
for (const [marks, role] of [
  [STOPS, STOP],
  [DENSE_STOPS, DENSE_STOP],
  ["|", BAR],
] as const)
  for (const mark of marks) roles[mark.charCodeAt(0)] = role;
const HEADING = /^ {0,3}#{1,6}(?:[ \t]+|$)/;
const FENCE = /^ {0,3}(?:```|~~~)/;
// Exports of chats begin lines with invisible marks of direction.
const MARKS = String.raw`[\s>*\-+•\u200b-\u200f\u202a-\u202e]*`;
const CLOCK = String.raw`\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\s?[AaPp]\.?[Mm]\.?)?`;
const IN_BRACKETS = String.raw`[\[(][^\])]{0,30}\d[^\])]{0,12}[\])]`;
/** `10:32`, `12/03/24, 9:15 PM`, `2026-03-09T10:32:00Z`, `Mar 12, 2024 9:15`, as chats put before a name. */
const TIME = String.raw`(?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?\s+)?\d[\d:./\-T年月日]*(?:Z|[+-]\d{2}:?\d{2})?(?:,?\s+\d[\d:.]*)?(?:,?\s+${CLOCK})?(?:\s?[AaPp]\.?[Mm]\.?)?`;
const NAME = String.raw`(\p{L}[\p{L}\p{N}_.'’\- ]{0,38}[\p{L}\p{N}_]|\p{Script=Han})`;
const QUOTE = '[*_~@"`]{0,3}';
/** What may stand between a name and its colon: `#1234`, an emoji, a time or a remark in brackets. */
const TAIL = String.raw`${QUOTE}(?:#\d{1,6})?(?:\s?[^\p{L}\p{N}\s:：()[\]<>*_]{1,8})?(?:,?\s*[\[(][^\])]{0,40}[\])]|\s+[\-–—]\s+${CLOCK})?${QUOTE}`;
const LABEL = new RegExp(
  `^${MARKS}(?:(?:${IN_BRACKETS}|${TIME}(?=[\\s\\-–—]))\\s*[\\-–—:]?\\s*)?(?:[@+~]\\s?)?${QUOTE}` +
    `(?:<[@+%&~ ]?${NAME}(?:\\|[^>]{0,20})?>\\s|${NAME}${TAIL}(?:：|:${QUOTE}\\s))`,
  "u",
);
/** A line of nothing but a name and a time, as Slack, Discord and Telegram put above what somebody said. */
const SPEAKER = new RegExp(
  `^[\\s>\u200b-\u200f\u202a-\u202e]*${QUOTE}${NAME}${QUOTE}(?:\\s*[,—–|·•]\\s*|\\s{2,}|\\s+-\\s+|(?<=[*_])\\s*|\\s+(?=[\\[(]))` +
    `[\\[(]?(?:[^\\])\\n]{0,24}[\\s,])?${CLOCK}[\\])]?\\s*$`,
  "u",
);
/** What somebody said under such a line goes on for this many lines at most. */
const LONGEST_SPEECH = 12;
/** No label reaches further into its line. */
const LONGEST_LABEL = 90;

/** Where the name of who speaks stands in the text; equal when there's none. */
interface Label {
  start: number;
  end: number;
}

const NO_LABEL: Label = { start: 0, end: 0 };

export function splitUnits(text: string): Unit[] {
  const units: Unit[] = [{ start: 0, end: 0, kind: UNIT_NAME, continues: false, labelStart: 0, labelEnd: 0 }];
  let at = 0;
  let inFence = false;
  let colon = -1;
  let wideColon = -1;
  let speaker = NO_LABEL;
  let linesLeft = 0;
  while (at < text.length) {
    const newline = text.indexOf("\n", at);
    const end = newline === -1 ? text.length : newline;
    const first = skipSpace(text, at, end);
    if (first < end) {
      // The expressions are for the few lines that can match: they cost more than all the rest.
      const mark = text[first];
      if ((mark === "`" || mark === "~") && FENCE.test(text.slice(at, end))) inFence = !inFence;
      const isHeading = mark === "#" && !inFence && HEADING.test(text.slice(at, end));
      if (colon < first) colon = placeOf(text, ":", first);
      if (wideColon < first) wideColon = placeOf(text, "：", first);
      const last = trimEnd(text, first, end);
      if (isHeading) {
        linesLeft = 0;
        units.push({
          start: first,
          end: last,
          kind: UNIT_HEADING,
          continues: false,
          labelStart: 0,
          labelEnd: 0,
        });
      } else {
        const reach = Math.min(last + 1, first + LONGEST_LABEL);
        const mayHaveLabel =
          Math.min(colon, wideColon) < reach ||
          mark === "<" ||
          mark === "[" ||
          isDigit(text.charCodeAt(first));
        const line = mayHaveLabel ? text.slice(first, reach) : "";
        const own = mayHaveLabel ? labelIn(LABEL, line, first) : NO_LABEL;
        if (own.start < own.end) linesLeft = 0;
        else if (mayHaveLabel && last - first < LONGEST_LABEL) {
          const found = labelIn(SPEAKER, line, first);
          if (found.start < found.end) {
            speaker = found;
            linesLeft = LONGEST_SPEECH + 1;
          }
        }
        const label = own.start < own.end ? own : linesLeft > 0 ? speaker : NO_LABEL;
        linesLeft -= 1;
        splitLine(text, first, last, label, units);
      }
    }
    at = end + 1;
  }
  return units;
}

function labelIn(pattern: RegExp, line: string, offset: number): Label {
  const found = pattern.exec(line);
  if (!found) return NO_LABEL;
  const name = found[1] ?? found[2] ?? "";
  const start = offset + found[0].lastIndexOf(name);
  return { start, end: start + name.length };
}

/** Where `mark` next stands; the text's length where it doesn't. */
function placeOf(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at === -1 ? text.length : at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function splitLine(text: string, from: number, to: number, label: Label, units: Unit[]): void {
  const { start: labelStart, end: labelEnd } = label;
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
    const role = roles[text.charCodeAt(at)] ?? 0;
    if (role === 0) continue;
    if (role === BAR) {
      if (at > from && isSpace(text.charCodeAt(at - 1)) && isSpace(text.charCodeAt(at + 1))) return at + 2;
      continue;
    }
    let end = at + 1;
    while (end < to && CLOSERS.includes(text[end] ?? "")) end += 1;
    if (role === DENSE_STOP) return end;
    if (end < to && isSpace(text.charCodeAt(end)) && !isInside(text, at, from))
      return skipSpace(text, end, to);
  }
  return to;
}

/** Whether the full stop is one of an initial, an ordinal or an abbreviation: J. Smith, z. B., 3. Mai. */
function isInside(text: string, at: number, from: number): boolean {
  if (text[at] !== ".") return false;
  const opens = (place: number): boolean =>
    place < from || text[place] === "(" || isSpace(text.charCodeAt(place));
  const isNumber = isDigit(text.charCodeAt(at - 1)) && isDigit(text.charCodeAt(at - 2));
  return opens(at - 2) || (isNumber && opens(at - 3));
}

/** Whether what stands between `from` and `to` ends as a question does. */
export function endsAsking(text: string, from: number, to: number): boolean {
  let at = to - 1;
  while (at > from && CLOSERS.includes(text[at] ?? "")) at -= 1;
  return at >= from && ASKING.includes(text[at] ?? "");
}

function pushBounded(
  text: string,
  from: number,
  to: number,
  push: (start: number, end: number) => void,
): number {
  let start = from;
  while (to - start > LONGEST_DENSE) {
    const longest = DENSE.test(text.slice(start, start + LONGEST_DENSE)) ? LONGEST_DENSE : LONGEST;
    if (to - start <= longest) break;
    let cut = start + longest;
    while (cut > start + longest / 2 && !PAUSES.includes(text[cut - 1] ?? "")) cut -= 1;
    if (cut <= start + longest / 2) {
      cut = start + longest;
      const code = text.charCodeAt(cut);
      if (code >= 0xdc00 && code <= 0xdfff) cut += 1;
    }
    push(start, trimEnd(text, start, cut));
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
