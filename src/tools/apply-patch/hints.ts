/** What an error says about a hunk that fits nowhere. Guesses live only here; nothing here ever changes a file. */
import type { TextDocument } from "./document.ts";
import type { Hunk } from "./patch.ts";
import { findAll } from "./search.ts";
import { normalize, normalizeAll } from "./tiers.ts";

export interface Hint {
  alreadyAppliedAt?: number;
  nearest?: {
    from: number;
    to: number;
    line: number;
    patchLine: number;
    expected: string;
    found: string;
    /** The file's own lines from the difference on, numbered, blanks visible. */
    excerpt: string[];
  };
}

/** A line that is everywhere says nothing about where the hunk belongs. */
const MAX_OCCURRENCES = 40;
const MAX_SCORED_LINES = 20_000;
const MAX_EXCERPT = 10;

export function hintFor(document: TextDocument, hunk: Hunk): Hint {
  const old = hunk.lines.filter((line) => line.kind !== "+");
  const after = hunk.lines.filter((line) => line.kind !== "-");
  const hint: Hint = {};
  if (hunk.lines.some((line) => line.kind === "+")) {
    const trimmed = normalizeAll(document.lines, "trailing-blanks");
    const hit = findAll(trimmed, [after.map((line) => line.text.trimEnd())])[0]?.[0];
    if (hit !== undefined) hint.alreadyAppliedAt = hit + 1;
  }
  const start = nearestStart(
    document.lines,
    old.map((line) => line.text),
  );
  if (start === undefined || old.length === 0) return hint;
  const at = old.findIndex((line, i) => (document.lines[start + i] ?? "\0") !== line.text);
  const differing = old[at];
  if (differing === undefined) return hint;
  hint.nearest = {
    from: start + 1,
    to: Math.min(document.lines.length, start + old.length),
    line: start + at + 1,
    patchLine: differing.patchLine,
    expected: differing.text,
    found: document.lines[start + at] ?? "(end of file)",
    excerpt: excerptOf(document, start + at, Math.min(MAX_EXCERPT, old.length - at)),
  };
  return hint;
}

function excerptOf(document: TextDocument, from: number, count: number): string[] {
  return document.lines.slice(from, from + count).map((line, i) => `${from + i + 1} |${visible(line, 120)}|`);
}

function nearestStart(lines: readonly string[], old: readonly string[]): number | undefined {
  const wanted = new Map<string, number[]>();
  for (const [i, line] of old.entries()) {
    const key = normalize(line, "punctuation");
    if (key === "") continue;
    const offsets = wanted.get(key) ?? [];
    if (offsets.length < 4) offsets.push(i);
    wanted.set(key, offsets);
  }
  const positions = new Map<string, number[]>();
  for (const [i, key] of normalizeAll(lines, "punctuation").entries()) {
    if (!wanted.has(key)) continue;
    const list = positions.get(key) ?? [];
    if (list.length <= MAX_OCCURRENCES) list.push(i);
    positions.set(key, list);
  }
  const votes = new Map<number, number>();
  for (const [key, list] of positions) {
    if (list.length > MAX_OCCURRENCES) continue;
    for (const line of list) {
      for (const offset of wanted.get(key) ?? []) {
        const start = line - offset;
        if (start >= 0) votes.set(start, (votes.get(start) ?? 0) + 1 / list.length);
      }
    }
  }
  let best: number | undefined;
  for (const [start, score] of votes) {
    if (best === undefined || score > (votes.get(best) ?? 0)) best = start;
  }
  return best ?? mostSimilar(lines, old);
}

/** No line in common: the line that shares most of the words of the hunk's most telling line. */
function mostSimilar(lines: readonly string[], old: readonly string[]): number | undefined {
  let offset = 0;
  for (const [i, line] of old.entries())
    if (line.trim().length > (old[offset] ?? "").trim().length) offset = i;
  const words = new Set(wordsOf(old[offset] ?? ""));
  if (words.size === 0) return undefined;
  let best = { start: -1, score: 0.4 };
  for (let i = 0; i < Math.min(lines.length, MAX_SCORED_LINES); i++) {
    const other = wordsOf((lines[i] ?? "").slice(0, 400));
    if (other.length === 0) continue;
    const shared = other.filter((word) => words.has(word)).length;
    const score = (2 * shared) / (words.size + other.length);
    if (score > best.score && i >= offset) best = { start: i - offset, score };
  }
  return best.start === -1 ? undefined : best.start;
}

function wordsOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** Blanks made visible, long lines cut. */
export function visible(line: string, longest = 160): string {
  const cut = line.length > longest ? `${line.slice(0, longest - 3)}...` : line;
  const blanks = cut.replace(/^[ \t]+|[ \t]+$|\u00A0/g, (run) =>
    run
      .replace(/ /g, "·")
      .replace(/\t/g, "→")
      .replace(/\u00A0/g, "⍽"),
  );
  return blanks.replace(/\t/g, "→");
}
