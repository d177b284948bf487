/** Words of a slot: low hash, high hash, value plus one (0 marks a free slot), unused. One cache line holds four slots. */
const WIDTH = 4;

/** Open addressing from a pair of 32-bit hashes to a small integer, in a typed array that can be saved as it is. */
export class HashTable {
  size = 0;
  slots: Uint32Array;

  /** `capacity` is a power of two. */
  constructor(capacity = 1024) {
    this.slots = new Uint32Array(capacity * WIDTH);
  }

  get(low: number, high: number): number {
    const { slots } = this;
    const mask = slots.length - 1;
    let at = ((low ^ (high >>> 7)) * WIDTH) & mask;
    for (;;) {
      const value = slots[at + 2] ?? 0;
      if (value === 0) return -1;
      if (slots[at] === low && slots[at + 1] === high) return value - 1;
      at = (at + WIDTH) & mask;
    }
  }

  /** The key must not be there yet. */
  add(low: number, high: number, value: number): void {
    if (this.size * 2 * WIDTH >= this.slots.length) this.#grow();
    this.#put(low, high, value + 1);
    this.size += 1;
  }

  #put(low: number, high: number, stored: number): void {
    const { slots } = this;
    const mask = slots.length - 1;
    let at = ((low ^ (high >>> 7)) * WIDTH) & mask;
    while (slots[at + 2] !== 0) at = (at + WIDTH) & mask;
    slots[at] = low;
    slots[at + 1] = high;
    slots[at + 2] = stored;
  }

  #grow(): void {
    const old = this.slots;
    this.slots = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += WIDTH) {
      const stored = old[at + 2] ?? 0;
      if (stored !== 0) this.#put(old[at] ?? 0, old[at + 1] ?? 0, stored);
    }
  }
}
