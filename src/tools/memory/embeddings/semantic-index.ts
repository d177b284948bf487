import { createHash } from "node:crypto";
import { join } from "node:path";
import { LONGEST_TIMER_MS } from "../../../shared/clock.ts";
import { readText } from "../search/read-text.ts";
import type { Ranking } from "../search/rank.ts";
import type { Segment } from "../search/segment.ts";
import { chunksOf, type Chunk } from "./chunks.ts";
import type { Embed, EmbeddingSettings } from "./endpoint.ts";
import { textHash, VectorCache } from "./vector-cache.ts";

/** A segment that is searched, and the folder its files lie in. */
export interface SemanticSource {
  segment: Segment;
  folder: string;
  isLive(this: void, file: number): boolean;
  /** What policy keeps from the caller isn't sent to the endpoint for it either. */
  mayShow(this: void, file: number): Promise<boolean>;
}

const BATCH = 64;
/** After a failure the endpoint is left alone for this long: searches don't wait for it again and again. */
const PAUSE_MS = 30_000;
/** How many of the nearest chunks are raised. */
const NEAREST = 50;
const QUERIES_KEPT = 100;

interface EmbeddedChunk extends Chunk {
  hash: string;
}

/**
 * Meaning beside words: chunks of the memory as vectors of an endpoint the user named. Chunks are embedded in the
 * background; a search uses what is there and never waits for more than its own query's vector.
 */
export class SemanticIndex {
  readonly #embed: Embed;
  readonly #timeoutMs: number;
  readonly #cache: VectorCache;
  /** By path, size and checksum of the file. */
  readonly #files = new Map<string, EmbeddedChunk[]>();
  readonly #queries = new Map<string, Int8Array>();
  #pausedUntil = 0;
  #catchingUp: Promise<void> | undefined;
  /** Not embedded because its caller may not see it. */
  readonly #kept = new Set<string>();

  constructor(settings: EmbeddingSettings, embed: Embed, home: string) {
    this.#embed = embed;
    this.#timeoutMs = Math.min(settings.timeoutSeconds * 1000, LONGEST_TIMER_MS);
    const { baseUrl, model, dimensions } = settings;
    const name = createHash("sha256")
      .update(JSON.stringify([baseUrl, model, dimensions]))
      .digest("hex");
    this.#cache = new VectorCache(join(home, "index", "embeddings", name.slice(0, 24)));
  }

  /** Resolves when the background work at hand is done or given up. */
  settled(): Promise<void> {
    return this.#catchingUp ?? Promise.resolve();
  }

  /** Raises what is near the query in meaning. Returns what the answer should say, "" for nothing. */
  async raise(query: string, sources: readonly SemanticSource[], ranking: Ranking): Promise<string> {
    // What fails in the background is tried again by the next search, and ends no process.
    this.#catchingUp ??= this.#catchUp(sources)
      .catch(() => {})
      .then(() => {
        this.#catchingUp = undefined;
      });
    const asked = await this.#vectorOf(query);
    if (asked === undefined) return "The embeddings endpoint doesn't answer: ranked by words only.";
    const near: { segment: number; file: number; chunk: EmbeddedChunk; similarity: number }[] = [];
    let sum = 0;
    let isComplete = true;
    for (const [number, { segment, isLive }] of sources.entries()) {
      for (let file = 0; file < segment.files.length; file += 1) {
        if (!isLive(file)) continue;
        const key = keyOf(segment, file);
        const chunks = this.#files.get(key);
        if (chunks === undefined && !this.#kept.has(key)) isComplete = false;
        for (const chunk of chunks ?? []) {
          const vector = this.#cache.get(chunk.hash);
          if (vector === undefined) continue;
          const similarity = dot(asked, vector);
          sum += similarity;
          near.push({ segment: number, file, chunk, similarity });
        }
      }
    }
    const average = sum / Math.max(1, near.length);
    near.sort((a, b) => b.similarity - a.similarity);
    const nearest = near.slice(0, NEAREST);
    const range = Math.max(1, (nearest[0]?.similarity ?? 0) - average);
    const most = ranking.best[0]?.score ?? 1;
    for (const { segment, file, chunk, similarity } of nearest) {
      const first = sources[segment]?.segment.fileUnits[file] ?? 0;
      let unit = first + chunk.first;
      for (let other = unit + 1; other <= first + chunk.last; other += 1) {
        if (ranking.scoreOf(segment, other) > ranking.scoreOf(segment, unit)) unit = other;
      }
      const words = ranking.scoreOf(segment, unit);
      // A unit with a word the query excludes stays out.
      if (words < 0) continue;
      // Nearest in meaning counts as much as best by words; both together win.
      ranking.best.push({
        segment,
        unit,
        score: words + most * Math.max(0, (similarity - average) / range),
      });
    }
    ranking.best.sort((a, b) => b.score - a.score || a.segment - b.segment || a.unit - b.unit);
    return isComplete ? "" : "Some files are not embedded yet: those are ranked by words only.";
  }

  async #vectorOf(query: string): Promise<Int8Array | undefined> {
    const known = this.#queries.get(query);
    if (known !== undefined) return known;
    const [vector] = (await this.#ask([query])) ?? [];
    if (vector === undefined) return undefined;
    if (this.#queries.size >= QUERIES_KEPT) this.#queries.clear();
    this.#queries.set(query, vector);
    return vector;
  }

  async #ask(texts: readonly string[]): Promise<Int8Array[] | undefined> {
    if (Date.now() < this.#pausedUntil) return undefined;
    try {
      return await this.#embed(texts, AbortSignal.timeout(this.#timeoutMs));
    } catch {
      this.#pausedUntil = Date.now() + PAUSE_MS;
      return undefined;
    }
  }

  async #catchUp(sources: readonly SemanticSource[]): Promise<void> {
    await this.#cache.load();
    let texts: [hash: string, text: string][] = [];
    let waiting: [key: string, chunks: EmbeddedChunk[]][] = [];
    const send = async (): Promise<boolean> => {
      for (let at = 0; at < texts.length; at += BATCH) {
        const batch = texts.slice(at, at + BATCH);
        const vectors = await this.#ask(batch.map(([, text]) => text));
        if (vectors === undefined) return false;
        const made = new Map(batch.map(([hash], index) => [hash, vectors[index] ?? new Int8Array(0)]));
        await this.#cache.add(made).catch(() => {});
      }
      for (const [key, chunks] of waiting) this.#files.set(key, chunks);
      texts = [];
      waiting = [];
      return true;
    };
    for (const { segment, folder, isLive, mayShow } of sources) {
      for (const [file, { path, checksum }] of segment.files.entries()) {
        const key = keyOf(segment, file);
        if (!isLive(file) || this.#files.has(key)) continue;
        if (!(await mayShow(file))) {
          this.#kept.add(key);
          continue;
        }
        const read = await readText(folder, path);
        if (typeof read === "string" || read.checksum !== checksum) continue;
        const from = segment.fileUnits[file] ?? 0;
        const chunks = chunksOf(segment, file).map(({ first, last }) => {
          const text = read.text.slice(segment.unitStart[from + first], segment.unitEnd[from + last]);
          const hash = textHash(text);
          if (this.#cache.get(hash) === undefined) texts.push([hash, text]);
          return { first, last, hash };
        });
        waiting.push([key, chunks]);
        if (texts.length >= BATCH && !(await send())) return;
      }
    }
    await send();
  }
}

function keyOf(segment: Segment, file: number): string {
  const facts = segment.files[file];
  return `${facts?.path}\0${facts?.size}\0${facts?.checksum}`;
}

function dot(a: Int8Array, b: Int8Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
