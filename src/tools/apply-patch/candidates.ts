/** Every place where a hunk's old lines stand, and what the hunk does at one of them. */
import type { AnchorIndex } from "./anchors.ts";
import type { Edit, NewLine, TextDocument } from "./document.ts";
import { reindent } from "./indent.ts";
import type { Hunk, HunkLine } from "./patch.ts";
import { hasTabsAsText, readingsOf, type Reading } from "./repair.ts";
import { countBelow, findAll, type Hits } from "./search.ts";
import { normalize, normalizeAll, TIERS, type MatchTier } from "./tiers.ts";

export interface Candidate {
  hunk: Hunk;
  reading: Reading;
  /** Old lines, in order. */
  old: HunkLine[];
  hits: Hits;
  tier: MatchTier;
  /** Offsets within `old` of the first and past the last changed line: what may not overlap. */
  core: [number, number];
  anchorMissing?: string;
  blockedHits?: Hits;
}

/** Checking indentation costs a hunk's length a hit; past this much work only the chosen place is checked. */
const INDENT_CHECK_BUDGET = 2_000_000;
const NONE: Hits = new Int32Array(0);

export function toNewLines(lines: readonly HunkLine[]): NewLine[] {
  return lines.map(({ text, noNewline }) => (noNewline === true ? { text, noNewline } : { text }));
}

/** The same line removed and added with the other ending: what such a hunk changes is the endings. */
function changesEndings(lines: readonly HunkLine[]): boolean {
  if (!lines.some((line) => line.cr === true)) return false;
  const removed = new Set(
    lines.filter((line) => line.kind === "-").map((line) => `${line.cr ?? false} ${line.text}`),
  );
  return lines.some((line) => line.kind === "+" && removed.has(`${!(line.cr ?? false)} ${line.text}`));
}

export function findCandidates(
  document: TextDocument,
  hunks: readonly Hunk[],
  index: AnchorIndex,
): Candidate[] {
  const finder = new CandidateFinder(document, index);
  const fileHasTabs =
    hunks.some(({ tabsAsText }) => tabsAsText === true) &&
    document.lines.some((line) => line.startsWith("\t")) &&
    !hasTabsAsText(document.lines);
  const ranks = hunks.map((hunk) => readingsOf(hunk, fileHasTabs));
  const candidates = hunks.map((hunk) => toCandidate(hunk, { lines: hunk.lines }));
  const depth = ranks.reduce((most, list) => Math.max(most, list.length), 0);
  for (let rank = 0; rank < depth; rank++) {
    const width = ranks.reduce((most, list) => Math.max(most, list[rank]?.length ?? 0), 0);
    for (const tier of TIERS) {
      for (let k = 0; k < width; k++) {
        const pending: Candidate[] = [];
        for (const [i, candidate] of candidates.entries()) {
          const reading = ranks[i]?.[rank]?.[k];
          if (candidate.hits.length > 0 || reading === undefined) continue;
          Object.assign(candidate, toCandidate(candidate.hunk, reading), { tier });
          pending.push(candidate);
        }
        if (pending.length > 0) finder.search(pending, tier);
      }
    }
  }
  return candidates;
}

function toCandidate(hunk: Hunk, reading: Reading): Candidate {
  const old: HunkLine[] = [];
  let from = -1;
  let to = 0;
  for (const line of reading.lines) {
    if (line.kind !== " " && from === -1) from = old.length;
    if (line.kind !== "+") old.push({ ...line, text: line.text.replace(/^\uFEFF/, "") });
    if (line.kind !== " ") to = old.length;
  }
  return { hunk, reading, old, hits: NONE, tier: "exact", core: from === -1 ? [0, 0] : [from, to] };
}

class CandidateFinder {
  private readonly document: TextDocument;
  private readonly index: AnchorIndex;
  private readonly normalized = new Map<MatchTier, readonly string[]>();
  private budget = INDENT_CHECK_BUDGET;

  constructor(document: TextDocument, index: AnchorIndex) {
    this.document = document;
    this.index = index;
  }

  search(pending: readonly Candidate[], tier: MatchTier): void {
    const lines = this.normalized.get(tier) ?? normalizeAll(this.document.lines, tier);
    this.normalized.set(tier, lines);
    const patterns = pending.map(({ old }) => old.map((line) => normalize(line.text, tier)));
    const found = findAll(lines, patterns);
    for (const [i, candidate] of pending.entries()) this.take(candidate, found[i] ?? NONE);
  }

  private take(candidate: Candidate, raw: Hits): void {
    const { hunk, old, tier } = candidate;
    const length = old.length;
    let hits = raw;
    const work = hits.length * length;
    if ((tier === "indentation" || tier === "punctuation") && work <= this.budget) {
      this.budget -= work;
      hits = hits.filter((hit) => editsAt(this.document, candidate, hit) !== undefined);
    }
    if (candidate.reading.atEnd === true) {
      hits = hits.filter((hit) => hit + length === this.document.lines.length);
    }
    if (hits.length === 0) return;
    if (hunk.anchors.length > 0) {
      let anchor = this.index.match(hunk.anchors);
      const last = (hits.at(-1) ?? 0) + length - 1;
      // An anchor without its indentation may name a line above, though it is all of one below.
      if (!hunk.advisoryAnchors && (anchor.after ?? 0) > last) anchor = this.index.match(hunk.anchors, true);
      if (anchor.after === undefined) {
        if (!hunk.advisoryAnchors) candidate.anchorMissing = anchor.missing ?? "";
      } else {
        const below = hits.subarray(countBelow(hits, anchor.after - length + 1));
        if (below.length === 0 && !hunk.advisoryAnchors) {
          candidate.blockedHits ??= hits;
          return;
        }
        if (below.length > 0) hits = below;
        if (hits.length > 1 && anchor.unique !== undefined) {
          hits = this.index.narrow(hits, length, anchor.unique);
        }
      }
    }
    // Ascending, so only the last one can reach the end.
    if (hunk.endOfFile && (hits.at(-1) ?? 0) + length === this.document.lines.length) {
      hits = hits.subarray(hits.length - 1);
    }
    candidate.hits = hits;
  }
}

/** The edits of one hunk at one place; undefined where added lines can't be indented like the file. */
export function editsAt(document: TextDocument, candidate: Candidate, start: number): Edit[] | undefined {
  const { reading, tier, hunk } = candidate;
  const newLines = reading.lines.filter((line) => line.kind === "+");
  let added: NewLine[] = toNewLines(newLines);
  if (changesEndings(reading.lines)) {
    for (const [i, line] of added.entries()) line.ending = newLines[i]?.cr === true ? "\r\n" : "\n";
  }
  if (tier === "indentation" || tier === "punctuation") {
    const texts = reindentedAt(document, candidate.old, added, start);
    if (texts === undefined) return undefined;
    if (reading.rival !== undefined) {
      const rivals = reading.rival.filter((line) => line.kind !== "+");
      const other = reindentedAt(document, rivals, added, start);
      if (other === undefined || other.some((text, i) => text !== texts[i])) return undefined;
    }
    added = added.map((line, i) => ({ ...line, text: texts[i] ?? line.text }));
  }
  const edits: Edit[] = [];
  let current: Edit | undefined;
  let at = start;
  let nextAdded = 0;
  for (const line of reading.lines) {
    if (line.kind === " ") {
      current = undefined;
      at++;
      continue;
    }
    if (current === undefined) {
      current = { at, remove: 0, add: [], hunk: hunk.number };
      edits.push(current);
    }
    if (line.kind === "-") {
      current.remove++;
      at++;
      continue;
    }
    const entry = added[nextAdded++];
    if (entry === undefined) continue;
    const isFirst = document.bom && current.at === 0 && current.add.length === 0;
    current.add.push(isFirst ? { ...entry, text: entry.text.replace(/^\uFEFF/, "") } : entry);
  }
  return edits;
}

function reindentedAt(
  document: TextDocument,
  old: readonly HunkLine[],
  added: readonly NewLine[],
  start: number,
): string[] | undefined {
  const pairs = old.map((line, i) => ({
    kind: line.kind === "-" ? ("-" as const) : (" " as const),
    patch: line.text,
    file: document.lines[start + i] ?? "",
  }));
  return reindent(
    document,
    pairs,
    added.map((line) => line.text),
  );
}
