/** Open addressing from a pair of 32-bit hashes to a small integer, in typed arrays that can be saved as they are. */
export class HashTable {
  size = 0;
  low: Uint32Array;
  high: Uint32Array;
  /** Value plus one; 0 marks a free slot. */
  values: Uint32Array;

  constructor(capacity = 1024) {
    this.low = new Uint32Array(capacity);
    this.high = new Uint32Array(capacity);
    this.values = new Uint32Array(capacity);
  }

  get(low: number, high: number): number {
    const mask = this.values.length - 1;
    let slot = (low ^ (high >>> 7)) & mask;
    for (;;) {
      const value = this.values[slot] ?? 0;
      if (value === 0) return -1;
      if (this.low[slot] === low && this.high[slot] === high) return value - 1;
      slot = (slot + 1) & mask;
    }
  }

  /** The key must not be there yet. */
  add(low: number, high: number, value: number): void {
    if (this.size * 2 >= this.values.length) this.#grow();
    this.#put(low, high, value + 1);
    this.size += 1;
  }

  #put(low: number, high: number, stored: number): void {
    const mask = this.values.length - 1;
    let slot = (low ^ (high >>> 7)) & mask;
    while (this.values[slot] !== 0) slot = (slot + 1) & mask;
    this.low[slot] = low;
    this.high[slot] = high;
    this.values[slot] = stored;
  }

  #grow(): void {
    const { low, high, values } = this;
    this.low = new Uint32Array(values.length * 2);
    this.high = new Uint32Array(values.length * 2);
    this.values = new Uint32Array(values.length * 2);
    for (let slot = 0; slot < values.length; slot += 1) {
      const stored = values[slot] ?? 0;
      if (stored !== 0) this.#put(low[slot] ?? 0, high[slot] ?? 0, stored);
    }
  }
}
