/** Data bytes of a list's first slice; each further slice holds twice as many, up to the largest. */
const FIRST_SLICE = 8;
const LARGEST_SLICE = 4096;
/** At a slice's end stands where the next one begins. */
const POINTER = 4;

/** Set on a posting where the term stands in the `Name:` label of the unit's line. */
export const POSTING_LABEL = 0x80;

/**
 * Growing lists of postings, one a term, in one pool of bytes. A posting is the varint of `gap * 2 + (has a mark byte)`,
 * then the mark byte (occurrences in the low 7 bits, POSTING_LABEL) unless the term stands there once and plainly.
 * The last posting of each list is held back, as the next token may still be of the same unit.
 */
export class PostingLists {
  #pool = new Uint8Array(1 << 16);
  #used = 0;
  #count = 0;
  #head = new Uint32Array(1 << 12);
  #write = new Uint32Array(1 << 12);
  #end = new Uint32Array(1 << 12);
  #slice = new Uint32Array(1 << 12);
  #lastUnit = new Uint32Array(1 << 12);
  #heldUnit = new Uint32Array(1 << 12);
  /** 0 where nothing is held. */
  #heldMark = new Uint8Array(1 << 12);
  #units = new Uint32Array(1 << 12);

  /** Makes an empty list and returns its number: 0, 1, 2, ... */
  create(): number {
    const list = this.#count++;
    if (list === this.#head.length) this.#growLists();
    const start = this.#allocate(FIRST_SLICE);
    this.#head[list] = start;
    this.#write[list] = start;
    this.#end[list] = start + FIRST_SLICE;
    this.#slice[list] = FIRST_SLICE;
    return list;
  }

  /** Units must not descend. */
  add(list: number, unit: number, label: number): void {
    const held = this.#heldMark[list] ?? 0;
    if (held !== 0) {
      if (this.#heldUnit[list] === unit) {
        this.#heldMark[list] = Math.min((held & 0x7f) + 1, 0x7f) | (held & POSTING_LABEL) | label;
        return;
      }
      this.#flush(list);
    }
    this.#heldUnit[list] = unit;
    this.#heldMark[list] = 1 | label;
  }

  /** All lists one after the other; offsets has one entry more than there are lists. */
  finish(): { bytes: Uint8Array; offsets: Uint32Array; units: Uint32Array } {
    for (let list = 0; list < this.#count; list += 1) if (this.#heldMark[list] !== 0) this.#flush(list);
    const bytes = new Uint8Array(this.#used);
    const offsets = new Uint32Array(this.#count + 1);
    const pool = this.#pool;
    let size = 0;
    for (let list = 0; list < this.#count; list += 1) {
      offsets[list] = size;
      const last = this.#write[list] ?? 0;
      let at = this.#head[list] ?? 0;
      let length = FIRST_SLICE;
      while (last < at || last > at + length) {
        for (let byte = at; byte < at + length; byte += 1) bytes[size++] = pool[byte] ?? 0;
        at = this.#pointerAt(at + length);
        length = Math.min(length * 2, LARGEST_SLICE);
      }
      for (let byte = at; byte < last; byte += 1) bytes[size++] = pool[byte] ?? 0;
    }
    offsets[this.#count] = size;
    return { bytes: bytes.slice(0, size), offsets, units: this.#units.slice(0, this.#count) };
  }

  #flush(list: number): void {
    const unit = this.#heldUnit[list] ?? 0;
    const mark = this.#heldMark[list] ?? 0;
    let value = (unit - (this.#lastUnit[list] ?? 0)) * 2 + (mark === 1 ? 0 : 1);
    while (value >= 0x80) {
      this.#push(list, (value & 0x7f) | 0x80);
      value = Math.floor(value / 128);
    }
    this.#push(list, value);
    if (mark !== 1) this.#push(list, mark);
    this.#lastUnit[list] = unit;
    this.#heldMark[list] = 0;
    this.#units[list] = (this.#units[list] ?? 0) + 1;
  }

  #push(list: number, byte: number): void {
    let at = this.#write[list] ?? 0;
    if (at === this.#end[list]) {
      const length = Math.min((this.#slice[list] ?? 0) * 2, LARGEST_SLICE);
      const next = this.#allocate(length);
      for (let part = 0; part < POINTER; part += 1) this.#pool[at + part] = next >>> (8 * part);
      at = next;
      this.#end[list] = next + length;
      this.#slice[list] = length;
    }
    this.#pool[at] = byte;
    this.#write[list] = at + 1;
  }

  #pointerAt(at: number): number {
    const pool = this.#pool;
    return (
      ((pool[at] ?? 0) |
        ((pool[at + 1] ?? 0) << 8) |
        ((pool[at + 2] ?? 0) << 16) |
        ((pool[at + 3] ?? 0) << 24)) >>>
      0
    );
  }

  #allocate(length: number): number {
    const start = this.#used;
    this.#used += length + POINTER;
    if (this.#used > this.#pool.length) {
      const larger = new Uint8Array(Math.max(this.#pool.length * 2, this.#used));
      larger.set(this.#pool);
      this.#pool = larger;
    }
    return start;
  }

  #growLists(): void {
    const twice = (old: Uint32Array): Uint32Array<ArrayBuffer> => {
      const larger = new Uint32Array(old.length * 2);
      larger.set(old);
      return larger;
    };
    this.#head = twice(this.#head);
    this.#write = twice(this.#write);
    this.#end = twice(this.#end);
    this.#slice = twice(this.#slice);
    this.#lastUnit = twice(this.#lastUnit);
    this.#heldUnit = twice(this.#heldUnit);
    this.#units = twice(this.#units);
    const marks = new Uint8Array(this.#heldMark.length * 2);
    marks.set(this.#heldMark);
    this.#heldMark = marks;
  }
}
