/**
 * A file as lines that remember their own endings. Text is only ever cut at line starts, so whatever an edit
 * doesn't name is copied byte for byte.
 */
export interface TextDocument {
  bom: boolean;
  /** Without the byte order mark. */
  text: string;
  lines: string[];
  /** Offset of each line in `text`, plus one entry for the end. */
  starts: number[];
  /** What new lines end with: the ending most lines have. */
  ending: string;
}

export interface NewLine {
  text: string;
  noNewline?: true;
  /** Its own ending; undefined: the file's. */
  ending?: string;
}

/** Replaces `remove` lines from line index `at` by `add`. */
export interface Edit {
  at: number;
  remove: number;
  add: NewLine[];
  hunk: number;
}

/** `loneCr`: a CR without LF ends a line too (old Mac files); tried only when the usual reading finds nothing. */
export function parseDocument(source: string, loneCr = false): TextDocument {
  const bom = source.startsWith("\uFEFF");
  const text = bom ? source.slice(1) : source;
  const lines: string[] = [];
  const starts: number[] = [];
  let lf = 0;
  let crlf = 0;
  let cr = 0;
  let start = 0;
  let nextCr = loneCr ? indexOr(text, "\r", 0) : text.length;
  while (start < text.length) {
    let end = text.indexOf("\n", start);
    let next = end + 1;
    if (end === -1) {
      end = text.length;
      next = end;
    } else if (end > start && text.charCodeAt(end - 1) === 13) {
      end--;
      crlf++;
    } else lf++;
    if (loneCr) {
      // `nextCr` is looked for again only once it is passed: else each line would search the rest of the file.
      for (; nextCr < end; nextCr = indexOr(text, "\r", start)) {
        if (nextCr < start) continue;
        starts.push(start);
        lines.push(text.slice(start, nextCr));
        start = nextCr + 1;
        cr++;
      }
      if (start === end && next === end) break;
    }
    starts.push(start);
    lines.push(text.slice(start, end));
    start = next;
  }
  starts.push(text.length);
  const ending = crlf > lf && crlf >= cr ? "\r\n" : cr > lf && cr > crlf ? "\r" : "\n";
  return { bom, text, lines, starts, ending };
}

/** Like indexOf; the text's length where there is none. */
function indexOr(text: string, char: string, from: number): number {
  const at = text.indexOf(char, from);
  return at === -1 ? text.length : at;
}

export function hasLoneCr(text: string): boolean {
  for (let at = text.indexOf("\r"); at !== -1; at = text.indexOf("\r", at + 1)) {
    if (text.charCodeAt(at + 1) !== 10) return true;
  }
  return false;
}

/** `edits` sorted by `at`, not overlapping. */
export function applyEdits(document: TextDocument, edits: readonly Edit[]): string {
  const { text, starts, ending, lines } = document;
  const parts: string[] = document.bom ? ["\uFEFF"] : [];
  let line = 0;
  let endsOpen = false;
  const copyTo = (target: number): void => {
    if (target <= line) return;
    const piece = text.slice(starts[line], starts[target]);
    parts.push(piece);
    line = target;
    endsOpen = target === lines.length && !/[\r\n]$/.test(piece.slice(-1));
  };
  for (const edit of edits) {
    copyTo(edit.at);
    for (const added of edit.add) {
      if (endsOpen) parts.push(ending);
      parts.push(added.text);
      // A line that claims to have no newline can only be the last one.
      const last =
        added.noNewline === true && edit.at + edit.remove >= lines.length && added === edit.add.at(-1);
      if (!last) parts.push(added.ending ?? ending);
      endsOpen = last;
    }
    line = Math.max(line, edit.at + edit.remove);
  }
  copyTo(lines.length);
  return parts.join("");
}
