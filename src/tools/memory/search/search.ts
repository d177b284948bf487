import { setImmediate as nextTurn } from "node:timers/promises";
import picomatch from "picomatch";
import type { SemanticIndex } from "../embeddings/semantic-index.ts";
import { NO_DAY } from "./dates.ts";
import { noneSkipped, type Skipped } from "./discover.ts";
import { keywordRanking } from "./keyword-ranking.ts";
import type { IndexEvents, MemoryIndex } from "./memory-index.ts";
import { foldPhrase, parseQuery } from "./query.ts";
import { rank, type Candidate, type Ranking } from "./rank.ts";
import { readTextSync } from "./read-text.ts";
import { fileOfUnit, type Segment } from "./segment.ts";
import { choosePassages, type Passage } from "./snippets.ts";
import { UNIT_HEADING, UNIT_NAME } from "./units.ts";

export interface SearchRequest {
  query: string;
  maxResults: number;
  file?: string;
  /** Days since 1970, inclusive. */
  sinceDay?: number;
  untilDay?: number;
  ranking?: "passages" | "keyword";
  /** Meaning beside words, where the user set it up. */
  semantic?: SemanticIndex;
}

export interface SearchHit {
  file: string;
  startLine: number;
  endLine: number;
  score: number;
  heading: string;
  snippet: string;
}

export interface SearchAnswer {
  hits: SearchHit[];
  fileCount: number;
  skipped: Skipped;
  /** The quoted words stand nowhere as written; the hits hold them apart. */
  isPhraseMissing: boolean;
  /** The query says what to leave out and nothing to look for. */
  isOnlyExclusions: boolean;
  /** What the embeddings have to say about this answer; "" for nothing. */
  semanticNote: string;
}

/** An index and the prefix its files are shown with: "" for the agent's own, `shared/NAME/` for a granted one. */
export interface SearchRoot {
  index: MemoryIndex;
  prefix: string;
  /** Whether policy lets the caller see lines of the file; `path` is relative to the root. */
  mayShow?(this: void, path: string): Promise<boolean>;
}

interface SearchedSegment {
  segment: Segment;
  root: SearchRoot;
  isLive(this: void, file: number): boolean;
}

interface Text {
  text: string;
  isCurrent: boolean;
}

const MOST_ATTEMPTS = 4;
/** The best unit and its neighbours, to which its words spread: they follow it in the ranking and are shown with it. */
const UNITS_A_PASSAGE = 20;
/** That a phrase's words stand in its order is checked in the text of so many units at most; others go on meanwhile. */
const MOST_CHECKED = 20_000;
const TURN_AFTER = 200;

export async function searchMemory(
  roots: readonly SearchRoot[],
  request: SearchRequest,
  events: IndexEvents = {},
): Promise<SearchAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    for (const { index } of roots) await index.refresh(events);
    const answer = await searchOnce(roots, request);
    // A file of a hit changed between refresh and reading: what would be shown is not what was ranked.
    if (answer.isCurrent || attempt === MOST_ATTEMPTS) return answer;
  }
}

async function searchOnce(
  roots: readonly SearchRoot[],
  request: SearchRequest,
): Promise<SearchAnswer & { isCurrent: boolean }> {
  const segments: SearchedSegment[] = [];
  const skipped = noneSkipped();
  let fileCount = 0;
  const glob = request.file === undefined ? undefined : picomatch(request.file, { nocase: true });
  const isFiltered = glob !== undefined || request.sinceDay !== undefined || request.untilDay !== undefined;
  for (const root of roots) {
    for (const [reason, count] of Object.entries(root.index.skipped))
      skipped[reason as keyof Skipped] += count;
    fileCount += root.index.fileCount;
    root.index.segments.forEach((segment, number) => {
      const isCurrent = (file: number): boolean => root.index.isLive(number, file);
      segments.push({
        segment,
        root,
        isLive: isFiltered
          ? (file) => isCurrent(file) && matches(segment, file, root, request, glob)
          : isCurrent,
      });
    });
  }
  const texts = new Map<string, Promise<Text>>();
  const textOf = (number: number, file: number): Promise<Text> => {
    const key = `${number}:${file}`;
    const known = texts.get(key) ?? currentText(segments[number], file);
    texts.set(key, known);
    return known;
  };

  const verdicts = new Map<string, Promise<boolean>>();
  const mayShow = (number: number, file: number): Promise<boolean> => {
    const key = `${number}:${file}`;
    const entry = segments[number];
    const path = entry?.segment.files[file]?.path ?? "";
    const known = verdicts.get(key) ?? entry?.root.mayShow?.(path) ?? Promise.resolve(true);
    verdicts.set(key, known);
    return known;
  };

  if (request.ranking === "keyword") {
    const files: { path: string; text: string }[] = [];
    for (const [number, { segment, root, isLive }] of segments.entries()) {
      for (const [file, { path }] of segment.files.entries()) {
        if (isLive(file) && (await mayShow(number, file)))
          files.push({ path: root.prefix + path, text: (await textOf(number, file)).text });
      }
    }
    const hits = keywordRanking(files, request.query, request.maxResults);
    return {
      hits: hits.map(({ path, ...hit }) => ({ file: path, heading: "", ...hit })),
      fileCount,
      skipped,
      isCurrent: true,
      isPhraseMissing: false,
      isOnlyExclusions: false,
      semanticNote: "",
    };
  }

  const query = parseQuery(request.query);
  const plain = segments.map(({ segment }) => segment);
  const corpus = {
    segments: plain,
    isLive: (number: number, file: number) => segments[number]?.isLive(file) ?? false,
  };
  const isPhrased = query.phrases.length > 0;
  const most = request.maxResults * UNITS_A_PASSAGE;
  let ranking = rank(corpus, query, isPhrased ? MOST_CHECKED : most);
  let isPhraseMissing = false;
  if (isPhrased) {
    const best: Candidate[] = [];
    for (const [at, candidate] of ranking.best.entries()) {
      if (best.length >= most) break;
      if (at % TURN_AFTER === TURN_AFTER - 1) await nextTurn();
      const segment = plain[candidate.segment];
      if (segment && (await holdsPhrases(segment, candidate, query.phrases, textOf))) best.push(candidate);
    }
    ranking.best = best;
    if (best.length === 0) {
      // Nobody wrote it like that: the passages with its words are the next best thing, and the answer says so.
      ranking = rank(corpus, { ...query, phraseTerms: [] }, most);
      isPhraseMissing = ranking.best.length > 0;
    }
  }
  let semanticNote = "";
  if (request.semantic !== undefined && (!isPhrased || isPhraseMissing)) {
    semanticNote = await request.semantic.raise(
      request.query,
      segments.map(({ segment, root, isLive }, number) => ({
        segment,
        folder: root.index.root,
        isLive,
        mayShow: (file) => mayShow(number, file),
      })),
      ranking,
    );
  }
  const { passages, isCurrent } = await showable(plain, ranking, request.maxResults, textOf, mayShow);
  const hits = passages.map(({ passage, text }): SearchHit => {
    const { segment, root } = segments[passage.segment] ?? unknownSegment();
    const start = segment.unitStart[passage.firstUnit] ?? 0;
    const snippet = text.slice(start, segment.unitEnd[passage.lastUnit]).replaceAll("\r\n", "\n");
    const startLine = 1 + (text.slice(0, start).match(/\n/g)?.length ?? 0);
    return {
      file: root.prefix + (segment.files[passage.file]?.path ?? ""),
      startLine,
      endLine: startLine + (snippet.match(/\n/g)?.length ?? 0),
      score: Math.round(passage.score * 100) / 100,
      heading: headingPath(segment, passage.firstUnit, text),
      snippet,
    };
  });
  const isOnlyExclusions = query.terms.length === 0 && query.excluded.length > 0;
  return { hits, fileCount, skipped, isCurrent, isPhraseMissing, isOnlyExclusions, semanticNote };
}

/** The best passages of files that are still what was ranked and that policy lets the caller see. */
async function showable(
  segments: readonly Segment[],
  ranking: Ranking,
  maxResults: number,
  textOf: (segment: number, file: number) => Promise<Text>,
  mayShow: (segment: number, file: number) => Promise<boolean>,
): Promise<{ passages: { passage: Passage; text: string }[]; isCurrent: boolean }> {
  for (;;) {
    const chosen = choosePassages(segments, ranking, maxResults);
    const judged = await Promise.all(
      chosen.map(async (passage) => ({
        passage,
        isAllowed: await mayShow(passage.segment, passage.file),
        ...(await textOf(passage.segment, passage.file)),
      })),
    );
    const refused = new Set(
      judged.filter(({ isAllowed }) => !isAllowed).map(({ passage }) => `${passage.segment}:${passage.file}`),
    );
    if (refused.size === 0) {
      return {
        passages: judged.filter(({ isCurrent }) => isCurrent),
        isCurrent: judged.every(({ isCurrent }) => isCurrent),
      };
    }
    // As if the refused files weren't there: others move up.
    ranking.best = ranking.best.filter(({ segment, unit }) => {
      const entry = segments[segment];
      return entry && !refused.has(`${segment}:${fileOfUnit(entry, unit)}`);
    });
  }
}

function unknownSegment(): never {
  throw new Error("a passage of a segment that was not searched");
}

async function currentText(entry: SearchedSegment | undefined, file: number): Promise<Text> {
  const known = entry?.segment.files[file];
  if (!entry || !known) return { text: "", isCurrent: false };
  // A few small files: through the thread pool they'd take several times as long.
  const read = readTextSync(entry.root.index.root, known.path);
  if (typeof read !== "string" && read.checksum === known.checksum) {
    return { text: read.text, isCurrent: true };
  }
  entry.root.index.markChanged(known.path);
  return { text: "", isCurrent: false };
}

function matches(
  segment: Segment,
  file: number,
  root: SearchRoot,
  request: SearchRequest,
  glob: ((path: string) => boolean) | undefined,
): boolean {
  const entry = segment.files[file];
  if (!entry) return false;
  const path = root.prefix + entry.path;
  // A pattern without a folder means the name, wherever the file lies.
  if (glob && !glob(request.file?.includes("/") === true ? path : path.slice(path.lastIndexOf("/") + 1)))
    return false;
  const day = entry.day === NO_DAY ? Math.floor(entry.mtimeMs / 86_400_000) : entry.day;
  return day >= (request.sinceDay ?? -Infinity) && day <= (request.untilDay ?? Infinity);
}

/** Whether the unit, with the one before and after it, holds every phrase and itself begins or holds one's text. */
async function holdsPhrases(
  segment: Segment,
  candidate: Candidate,
  phrases: readonly string[],
  textOf: (segment: number, file: number) => Promise<Text>,
): Promise<boolean> {
  const file = fileOfUnit(segment, candidate.unit);
  const first = Math.max(candidate.unit - 1, segment.fileUnits[file] ?? 0);
  const last = Math.min(candidate.unit + 1, (segment.fileUnits[file + 1] ?? 1) - 1);
  const { text } = await textOf(candidate.segment, file);
  const around = ` ${foldPhrase(text.slice(segment.unitStart[first], segment.unitEnd[last]))} `;
  return phrases.every((phrase) => around.includes(isDense(phrase) ? phrase : ` ${phrase} `));
}

function isDense(phrase: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u.test(
    phrase,
  );
}

/** Titles of the headings above the unit, its own included, the outermost first. */
function headingPath(segment: Segment, unit: number, text: string): string {
  const names: string[] = [];
  let lowest = 7;
  for (let at = unit; segment.unitKind[at] !== UNIT_NAME && lowest > 1; at -= 1) {
    if (segment.unitKind[at] !== UNIT_HEADING) continue;
    const [, marks = "", title = ""] =
      /^(#+)\s*(.*)$/su.exec(text.slice(segment.unitStart[at], segment.unitEnd[at])) ?? [];
    if (marks.length >= lowest) continue;
    lowest = marks.length;
    names.unshift(title);
  }
  return names.join(" > ");
}
