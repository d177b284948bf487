import { indentOf, normalize } from "./tiers.ts";

export interface AnchorMatch {
  /** The earliest line at which all stacked anchors have been passed; undefined where one is missing. */
  after?: number;
  /** The one line the last anchor names, where it names one. */
  unique?: number;
  /** All lines the last anchor could mean. */
  lines: number[];
  missing?: string;
}

/** Looks anchors up: same line, then same apart from blanks, then apart from punctuation, then as a line's beginning. */
export class AnchorIndex {
  private readonly lines: readonly string[];
  private readonly exact = new Map<string, number[]>();
  private readonly trimmed = new Map<string, number[]>();
  private readonly mapped = new Map<string, number[]>();
  private sorted: { text: string; line: number }[] | undefined;
  private readonly matches = new Map<string, AnchorMatch>();
  private readonly ends = new Map<number, number>();
  private readonly found = new Map<string, number[]>();

  constructor(lines: readonly string[], anchors: Iterable<string>) {
    this.lines = lines;
    for (const anchor of anchors) {
      this.exact.set(anchor, []);
      this.trimmed.set(anchor.trim(), []);
      this.mapped.set(normalize(anchor, "punctuation"), []);
    }
    if (this.exact.size === 0) return;
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i] ?? "";
      this.exact.get(line)?.push(i);
      this.trimmed.get(line.trim())?.push(i);
      this.mapped.get(normalize(line, "punctuation"))?.push(i);
    }
  }

  private occurrences(anchor: string): number[] {
    const cached = this.found.get(anchor);
    if (cached !== undefined) return cached;
    let lines = this.exact.get(anchor) ?? [];
    if (lines.length === 0) lines = this.trimmed.get(anchor.trim()) ?? [];
    if (lines.length === 0) lines = this.mapped.get(normalize(anchor, "punctuation")) ?? [];
    if (lines.length === 0) lines = this.beginnings(anchor.trim());
    this.found.set(anchor, lines);
    return lines;
  }

  private beginnings(text: string): number[] {
    this.sorted ??= this.lines
      .map((line, index) => ({ text: line.trim(), line: index }))
      .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : a.line - b.line));
    let low = 0;
    let high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.sorted[middle]?.text ?? "") < text) low = middle + 1;
      else high = middle;
    }
    const lines: number[] = [];
    for (; this.sorted[low]?.text.startsWith(text) === true; low++) lines.push(this.sorted[low]?.line ?? 0);
    return lines.sort((a, b) => a - b);
  }

  match(anchors: readonly string[]): AnchorMatch {
    const key = anchors.join("\n");
    let known = this.matches.get(key);
    if (known === undefined) {
      known = this.chain(anchors);
      this.matches.set(key, known);
    }
    return known;
  }

  private chain(anchors: readonly string[]): AnchorMatch {
    let after = -1;
    let scope = { start: -1, end: this.lines.length };
    let unique: number | undefined;
    let lines: number[] = [];
    for (const anchor of anchors) {
      const all = this.occurrences(anchor);
      const next = firstAbove(all, after);
      if (next === undefined) return { lines: [], missing: anchor };
      after = next;
      lines = all.slice(all.indexOf(next));
      // Only a chain whose every link is the only one in its parent's block names one line.
      const inside = lines.filter((line) => line > scope.start && line < scope.end);
      unique = inside.length === 1 && (unique !== undefined || scope.start === -1) ? inside[0] : undefined;
      if (unique !== undefined) scope = { start: unique, end: this.blockEnd(unique) };
    }
    return { after, lines, ...(unique === undefined ? {} : { unique }) };
  }

  /** First line after the block that `line` opens, by indentation. */
  private blockEnd(line: number): number {
    const known = this.ends.get(line);
    if (known !== undefined) return known;
    const depth = indentOf(this.lines[line] ?? "").length;
    let end = line + 1;
    while (end < this.lines.length) {
      const text = this.lines[end] ?? "";
      if (text.trim() !== "" && indentOf(text).length <= depth) break;
      end++;
    }
    this.ends.set(line, end);
    return end;
  }

  /**
   * Of several hits below a unique anchor, the one inside its block is meant, provided that each other hit lies
   * beyond a line which would have been the natural anchor for it (a name at the anchor's depth or less).
   */
  narrow(hits: number[], length: number, anchor: number): number[] {
    const end = this.blockEnd(anchor);
    const inside = hits.filter((hit) => hit + length > anchor && hit + length <= end);
    if (inside.length === 0 || inside.length === hits.length) return hits;
    const depth = indentOf(this.lines[anchor] ?? "").length;
    let sibling = end;
    while (sibling < this.lines.length) {
      const text = this.lines[sibling] ?? "";
      if (indentOf(text).length <= depth && /^[A-Za-z_$]/.test(text.trimStart())) break;
      sibling++;
    }
    return hits.every((hit) => (hit + length > anchor && hit + length <= end) || hit > sibling)
      ? inside
      : hits;
  }
}

function firstAbove(sorted: readonly number[], value: number): number | undefined {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return sorted[low];
}
