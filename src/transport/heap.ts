/** A binary heap with the earliest entry first; an entry that has changed is pushed again and the old one ignored. */
export class Heap<T> {
  readonly #items: { at: number; value: T }[] = [];

  get size(): number {
    return this.#items.length;
  }

  peek(): { at: number; value: T } | undefined {
    return this.#items[0];
  }

  push(at: number, value: T): void {
    const items = this.#items;
    let index = items.push({ at, value }) - 1;
    for (;;) {
      const parent = (index - 1) >> 1;
      const [above, here] = [items[parent], items[index]];
      if (index === 0 || above === undefined || here === undefined || above.at <= here.at) return;
      [items[parent], items[index]] = [here, above];
      index = parent;
    }
  }

  pop(): { at: number; value: T } | undefined {
    const items = this.#items;
    const [first] = items;
    const last = items.pop();
    if (first === undefined || last === undefined || items.length === 0) return first;
    items[0] = last;
    let index = 0;
    for (;;) {
      let least = index;
      for (const child of [2 * index + 1, 2 * index + 2]) {
        const [candidate, best] = [items[child], items[least]];
        if (candidate !== undefined && best !== undefined && candidate.at < best.at) least = child;
      }
      const [here, there] = [items[index], items[least]];
      if (least === index || here === undefined || there === undefined) return first;
      [items[index], items[least]] = [there, here];
      index = least;
    }
  }
}
