import { indentOf } from "./indent.ts";
import { countBelow, type Hits } from "./search.ts";
import { normalize } from "./tiers.ts";

export interface AnchorMatch {
  /** The earliest line at which all stacked anchors have been passed; undefined where one is missing. */
  after?: number;
  /** The one line the last anchor names, where it names one. */
  unique?: number;
  /** All lines the last anchor could mean. */
  lines: Hits;
  missing?: string;
}

const NONE: Hits = new Int32Array(0);
/** An anchor that begins more lines than this says nothing; it counts as missing. */
const MAX_BEGINNINGS = 200;
/** How far below a block its next sibling is looked for. */
const MAX_SIBLING_SCAN = 500;

/** Looks anchors up: same line, then same apart from blanks, then apart from punctuation, then as a line's beginning. */
export class AnchorIndex {
  private readonly lines: readonly string[];
  private readonly exact = new Map<string, number[]>();
  private readonly trimmed = new Map<string, number[]>();
  private readonly mapped = new Map<string, number[]>();
  private sorted: { text: string; line: number }[] | undefined;
  private readonly matches = new Map<string, AnchorMatch>();
  private ends: Int32Array | undefined;
  private readonly found = new Map<string, Hits>();

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

  private occurrences(anchor: string, anyDepth: boolean): Hits {
    const key = `${anyDepth ? " " : "="}${anchor}`;
    const cached = this.found.get(key);
    if (cached !== undefined) return cached;
    let lines = anyDepth ? [] : (this.exact.get(anchor) ?? []);
    if (lines.length === 0) lines = this.trimmed.get(anchor.trim()) ?? [];
    if (lines.length === 0) lines = this.mapped.get(normalize(anchor, "punctuation")) ?? [];
    if (lines.length === 0) lines = this.beginnings(anchor.trim());
    const hits = Int32Array.from(lines);
    this.found.set(key, hits);
    return hits;
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
    for (; this.sorted[low]?.text.startsWith(text) === true; low++) {
      if (lines.length === MAX_BEGINNINGS) return [];
      lines.push(this.sorted[low]?.line ?? 0);
    }
    return lines.sort((a, b) => a - b);
  }

  /** `anyDepth`: a line that differs in its indentation is as good as one that doesn't. */
  match(anchors: readonly string[], anyDepth = false): AnchorMatch {
    const key = `${anyDepth ? " " : "="}${anchors.join("\n")}`;
    let known = this.matches.get(key);
    if (known === undefined) {
      known = this.chain(anchors, anyDepth);
      this.matches.set(key, known);
    }
    return known;
  }

  private chain(anchors: readonly string[], anyDepth: boolean): AnchorMatch {
    let after = -1;
    let scope = { start: -1, end: this.lines.length };
    let unique: number | undefined;
    let lines = NONE;
    for (const anchor of anchors) {
      const all = this.occurrences(anchor, anyDepth);
      lines = all.subarray(countBelow(all, after + 1));
      const next = lines[0];
      if (next === undefined) return { lines, missing: anchor };
      after = next;
      // Only a chain whose every link is the only one in its parent's block names one line.
      const inside = lines.subarray(countBelow(lines, scope.start + 1), countBelow(lines, scope.end));
      unique = inside.length === 1 && (unique !== undefined || scope.start === -1) ? inside[0] : undefined;
      if (unique !== undefined) scope = { start: unique, end: this.blockEnd(unique) };
    }
    return { after, lines, ...(unique === undefined ? {} : { unique }) };
  }

  /** First line after the block that `line` opens, by indentation. */
  private blockEnd(line: number): number {
    this.ends ??= blockEnds(this.lines);
    return this.ends[line] ?? this.lines.length;
  }

  /**
   * Of several hits below a unique anchor, the one inside its block is meant, provided that each other hit lies
   * beyond a line which would have been the natural anchor for it (a name at the anchor's depth or less).
   */
  narrow(hits: Hits, length: number, anchor: number): Hits {
    const end = this.blockEnd(anchor);
    const from = countBelow(hits, anchor - length + 1);
    const to = countBelow(hits, end - length + 1);
    if (from > 0 || to <= from || to === hits.length) return hits;
    const depth = indentOf(this.lines[anchor] ?? "").length;
    const last = Math.min(this.lines.length, end + MAX_SIBLING_SCAN);
    for (let sibling = end; sibling < last; sibling++) {
      const text = this.lines[sibling] ?? "";
      if (indentOf(text).length > depth || !/^[A-Za-z_$]/.test(text.trimStart())) continue;
      return (hits[to] ?? 0) > sibling ? hits.subarray(from, to) : hits;
    }
    return hits;
  }
}

/** For each line the next one that is not blank and not deeper; all of them in one pass from below. */
function blockEnds(lines: readonly string[]): Int32Array {
  const ends = new Int32Array(lines.length);
  const open: { line: number; depth: number }[] = [];
  for (let i = lines.length - 1; i >= 0; i--) {
    const text = lines[i] ?? "";
    const depth = indentOf(text).length;
    while ((open.at(-1)?.depth ?? -1) > depth) open.pop();
    ends[i] = open.at(-1)?.line ?? lines.length;
    if (text.trim() !== "") open.push({ line: i, depth });
  }
  return ends;
}
