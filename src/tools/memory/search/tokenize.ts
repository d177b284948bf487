/** Character classes: a word character continues a word; a dense one belongs to a script without spaces. */
const UNKNOWN = 0;
const SEPARATOR = 1;
const WORD = 2;
const DENSE = 3;
const APOSTROPHE = 4;

const classes = new Uint8Array(0x10000);
const IS_WORD = /[\p{L}\p{N}\p{M}]/u;
const IS_DENSE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]/u;
// The zero width joiner stands inside words of Indic scripts.
for (const code of [0x27, 0x2019, 0x2bc, 0x200d]) classes[code] = APOSTROPHE;

function classify(character: string): number {
  if (!IS_WORD.test(character)) return SEPARATOR;
  return IS_DENSE.test(character) ? DENSE : WORD;
}

function classAt(text: string, at: number, code: number): number {
  if (code >= 0xd800 && code <= 0xdfff) {
    // Low surrogates take the class of their pair, so that a pair is never split.
    const start = code >= 0xdc00 ? at - 1 : at;
    return start < 0 ? SEPARATOR : classify(String.fromCodePoint(text.codePointAt(start) ?? 0x20));
  }
  const known = classes[code] ?? UNKNOWN;
  if (known !== UNKNOWN) return known;
  const found = classify(String.fromCharCode(code));
  classes[code] = found;
  return found;
}

const VOICE_SIGNS: ReadonlySet<number> = new Set([0x3099, 0x309a, 0xff9e, 0xff9f]);

export type TokenKind = "word" | "pair" | "single";

/**
 * Calls `emit` for each token of `text` between `from` and `to`. Words of spaced scripts are whole; runs of dense
 * scripts (Chinese, Japanese, Thai, ...; Korean too, where endings grow onto words) give every overlapping pair of characters and, apart, every single one.
 */
export function tokenize(
  text: string,
  from: number,
  to: number,
  emit: (start: number, end: number, kind: TokenKind) => void,
): void {
  let at = from;
  while (at < to) {
    const kind = classAt(text, at, text.charCodeAt(at));
    if (kind === SEPARATOR || kind === APOSTROPHE) {
      at += 1;
    } else if (kind === DENSE) {
      at = denseRun(text, at, to, emit);
    } else {
      const start = at;
      at += 1;
      while (at < to) {
        const next = classAt(text, at, text.charCodeAt(at));
        if (next === WORD) at += 1;
        // An apostrophe belongs to the word only between two of its letters: don't, l'eau, Anna's.
        else if (
          next === APOSTROPHE &&
          at + 1 < to &&
          classAt(text, at + 1, text.charCodeAt(at + 1)) === WORD
        )
          at += 2;
        else break;
      }
      emit(start, at, "word");
    }
  }
}

function denseRun(
  text: string,
  from: number,
  to: number,
  emit: (start: number, end: number, kind: TokenKind) => void,
): number {
  let previous = -1;
  let at = from;
  while (at < to) {
    const code = text.charCodeAt(at);
    if (classAt(text, at, code) !== DENSE) break;
    let width = code >= 0xd800 && code <= 0xdbff && at + 1 < to ? 2 : 1;
    // A sign of voice written apart, as half-width and decomposed Japanese do, belongs to its syllable.
    while (at + width < to && VOICE_SIGNS.has(text.charCodeAt(at + width))) width += 1;
    emit(at, at + width, "single");
    if (previous >= 0) emit(previous, at + width, "pair");
    previous = at;
    at += width;
  }
  return at;
}
