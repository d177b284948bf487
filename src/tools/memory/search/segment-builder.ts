import { dateTerms, dayNumber, dayOfPath, writtenDates, type WrittenDate } from "./dates.ts";
import { HashTable } from "./hash-table.ts";
import { fold, termOf } from "./normalise.ts";
import { POSTING_LABEL, PostingLists } from "./posting-lists.ts";
import type { Segment, SegmentFile } from "./segment.ts";
import { familyOf, hashTerm } from "./term-hash.ts";
import { tokenize, type TokenKind } from "./tokenize.ts";
import {
  endsAsking,
  splitUnits,
  UNIT_ASKS,
  UNIT_CONTINUES,
  UNIT_HEADING,
  UNIT_NAME,
  type Unit,
} from "./units.ts";

/** Grows by doubling; `push` is the builder's hottest call after the tokenizer. */
class Column {
  data = new Uint32Array(4096);
  length = 0;
  push(value: number): void {
    if (this.length === this.data.length) {
      const larger = new Uint32Array(this.data.length * 2);
      larger.set(this.data);
      this.data = larger;
    }
    this.data[this.length++] = value;
  }
}

export interface SourceFile extends Omit<SegmentFile, "day"> {
  text: string;
}

export class SegmentBuilder {
  readonly #files: SegmentFile[] = [];
  readonly #fileUnits = new Column();
  readonly #start = new Column();
  readonly #end = new Column();
  readonly #kind = new Column();
  readonly #flags = new Column();
  readonly #length = new Column();
  readonly #terms = new HashTable(1 << 10);
  /** Words as written, by their hash, so that each spelling is normalised once. */
  readonly #spellings = new HashTable(1 << 10);
  readonly #groups = new HashTable(1 << 8);
  readonly #groupNext = new Column();
  readonly #postings = new PostingLists();
  #tokens = 0;

  add(file: SourceFile): void {
    const { text, ...facts } = file;
    const fileDay = dayOfPath(file.path);
    this.#files.push({ ...facts, day: fileDay });
    this.#fileUnits.push(this.#start.length);
    // The file's own date counts for the whole file already.
    const dates = writtenDates(text).filter(
      ({ year, month, day }) => dayNumber(year, month, day) !== fileDay,
    );
    let next = 0;
    let ofSection: WrittenDate[] = [];
    let level = 0;
    for (const unit of splitUnits(text)) {
      this.#addUnit(file, unit);
      if (dates.length === 0 || unit.kind === UNIT_NAME) continue;
      const own: WrittenDate[] = [];
      for (let date = dates[next]; date !== undefined && date.at < unit.end; date = dates[++next])
        if (date.at >= unit.start) own.push(date);
      if (unit.kind === UNIT_HEADING) {
        const marks = /^#+/.exec(text.slice(unit.start, unit.start + 6))?.[0].length ?? 1;
        // A day's heading dates all that stands below it, subheadings too.
        if (own.length > 0 || marks <= level) {
          ofSection = own;
          level = marks;
        }
      }
      for (const date of own.length > 0 ? own : ofSection) this.#addDate(date);
    }
  }

  /** Found by the whole date, by its day in any year, and by its month. */
  #addDate({ year, month, day }: WrittenDate): void {
    const id = this.#start.length - 1;
    for (const term of [...dateTerms({ year, month, day }), ...dateTerms({ year, month })])
      this.#postings.add(this.#termId(term, "single"), id, 0);
  }

  #addUnit(file: SourceFile, unit: Unit): void {
    const id = this.#start.length;
    this.#start.push(unit.start);
    this.#end.push(unit.end);
    this.#kind.push(unit.kind);
    this.#flags.push(
      (unit.continues ? UNIT_CONTINUES : 0) | (endsAsking(file.text, unit.start, unit.end) ? UNIT_ASKS : 0),
    );
    let length = 0;
    const source = unit.kind === UNIT_NAME ? file.path.replace(/\.md$/i, "") : file.text;
    const from = unit.kind === UNIT_NAME ? 0 : unit.start;
    const to = unit.kind === UNIT_NAME ? source.length : unit.end;
    tokenize(source, from, to, (start, end, kind) => {
      if (kind !== "single") length += 1;
      const isLabel = start >= unit.labelStart && end <= unit.labelEnd;
      this.#postings.add(this.#termAt(source, start, end, kind), id, isLabel ? POSTING_LABEL : 0);
    });
    // The label speaks for its whole line, not only for the first sentence.
    if (unit.labelStart < unit.labelEnd && unit.start > unit.labelStart) {
      tokenize(source, unit.labelStart, unit.labelEnd, (start, end, kind) => {
        this.#postings.add(this.#termAt(source, start, end, kind), id, POSTING_LABEL);
      });
    }
    this.#length.push(Math.min(length, 255));
    this.#tokens += length;
  }

  #termAt(text: string, start: number, end: number, kind: TokenKind): number {
    let low = kind === "word" ? 0x811c9dc5 : 0x1b873593;
    let high = 0x9e3779b9;
    for (let at = start; at < end; at += 1) {
      const code = text.charCodeAt(at);
      low = Math.imul(low ^ code, 0x01000193);
      high = Math.imul(high ^ code, 0x85ebca6b);
      high ^= high >>> 15;
    }
    low >>>= 0;
    high >>>= 0;
    const known = this.#spellings.get(low, high);
    if (known >= 0) return known;
    const word = text.slice(start, end);
    const term = this.#termId(kind === "word" ? termOf(word) : fold(word), kind);
    this.#spellings.add(low, high, term);
    return term;
  }

  #termId(term: string, kind: TokenKind): number {
    const hash = hashTerm(term);
    const known = this.#terms.get(hash.low, hash.high);
    if (known >= 0) return known;
    const id = this.#postings.create();
    this.#terms.add(hash.low, hash.high, id);
    this.#groupNext.push(id);
    const family = kind === "word" ? familyOf(term) : undefined;
    if (family !== undefined) {
      const group = hashTerm(family);
      const head = this.#groups.get(group.low, group.high);
      if (head < 0) this.#groups.add(group.low, group.high, id);
      else {
        this.#groupNext.data[id] = this.#groupNext.data[head] ?? head;
        this.#groupNext.data[head] = id;
      }
    }
    return id;
  }

  finish(): Segment {
    this.#fileUnits.push(this.#start.length);
    const { bytes, offsets, units } = this.#postings.finish();
    const column = (source: Column): Uint32Array => source.data.slice(0, source.length);
    return {
      files: this.#files,
      fileUnits: column(this.#fileUnits),
      unitStart: column(this.#start),
      unitEnd: column(this.#end),
      unitKind: Uint8Array.from(column(this.#kind)),
      unitFlags: Uint8Array.from(column(this.#flags)),
      unitLength: Uint8Array.from(column(this.#length)),
      tokenCount: this.#tokens,
      terms: this.#terms,
      termOffset: offsets,
      termUnits: units,
      termNext: column(this.#groupNext),
      groups: this.#groups,
      postings: bytes,
    };
  }
}

export function buildSegment(files: Iterable<SourceFile>): Segment {
  const builder = new SegmentBuilder();
  for (const file of files) builder.add(file);
  return builder.finish();
}
