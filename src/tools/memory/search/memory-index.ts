import { createHash } from "node:crypto";
import { watch, type FSWatcher } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  discover,
  isMainFile,
  isMarkdown,
  noneSkipped,
  statFile,
  type FoundFile,
  type Skipped,
} from "./discover.ts";
import { loadSegment, saveSegment } from "./persist.ts";
import { readText } from "./read-text.ts";
import { buildSegment, SegmentBuilder, type SourceFile } from "./segment-builder.ts";
import type { Segment } from "./segment.ts";

export interface IndexEvents {
  /** Files read of files to read, during a long build. */
  progress?(done: number, total: number): void;
  warn?(message: string): void;
}

const BATCH = 48;
/** With more changed files than this the main segment is built anew instead of carrying them beside it. */
const LARGEST_DELTA = 300;
/** One watch a folder; with more folders than this every search scans instead. */
const MOST_WATCHES = 2000;

/**
 * The index of one memory root: a main segment, saved to disk, and a delta segment for what changed since. Before
 * each search it takes in what the watches reported; without watches it compares every file's stat.
 */
export class MemoryIndex {
  readonly root: string;
  readonly #savePath: string;
  #main: Segment = buildSegment([]);
  #delta: Segment = buildSegment([]);
  readonly #deltaFiles = new Map<string, SourceFile>();
  #mainNumber = new Map<string, number>();
  /** By file of the main segment: 1 where it was changed or deleted since. */
  #dead = new Uint8Array(0);
  #skipped: Skipped = noneSkipped();
  readonly #unusable = new Map<string, FoundFile & { reason: keyof Skipped }>();
  readonly #watchers = new Map<string, FSWatcher>();
  #watching = false;
  /** Paths reported by the watches; "*" for "anything". */
  #dirty = new Set<string>(["*"]);
  #isLoaded = false;
  #queue: Promise<void> = Promise.resolve();

  constructor(root: string, home: string) {
    this.root = root;
    this.#savePath = join(
      home,
      "index",
      `${createHash("sha256").update(root).digest("hex").slice(0, 24)}.idx`,
    );
  }

  get segments(): readonly [Segment, Segment] {
    return [this.#main, this.#delta];
  }

  isLive(segment: number, file: number): boolean {
    return segment === 1 || this.#dead[file] !== 1;
  }

  get skipped(): Skipped {
    const total = { ...this.#skipped };
    for (const { reason } of this.#unusable.values()) total[reason] += 1;
    return total;
  }

  /** Resolves when the index holds every change made before the call. Calls queue behind each other. */
  refresh(events: IndexEvents = {}): Promise<void> {
    const turn = this.#queue.then(() => this.#refresh(events));
    this.#queue = turn.catch(() => {});
    return turn;
  }

  /** Says that a file isn't what the index holds; the next refresh looks at it. */
  markChanged(path: string): void {
    this.#dirty.add(path);
  }

  async rebuild(events: IndexEvents = {}): Promise<void> {
    this.#isLoaded = true;
    const found = await this.#scan();
    await this.#build(found, events);
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    this.#watching = false;
    this.#dirty.add("*");
  }

  async #refresh(events: IndexEvents): Promise<void> {
    // Two turns of the event loop: changes that the kernel has queued for the watches are read in between.
    if (this.#watching) {
      await nextTurn();
      await nextTurn();
    }
    if (!this.#isLoaded) {
      const saved = await loadSegment(this.#savePath);
      if (saved) this.#setMain(saved);
      this.#isLoaded = true;
    }
    if (!this.#watching || this.#dirty.has("*")) {
      this.#dirty.clear();
      await this.#compare(await this.#scan(), events);
      return;
    }
    if (this.#dirty.size === 0) return;
    const paths = [...this.#dirty];
    this.#dirty.clear();
    for (const path of paths) await this.#take(path);
    if (this.#deltaFiles.size > LARGEST_DELTA) await this.#compare(await this.#scan(), events);
    else this.#delta = buildSegment(this.#deltaFiles.values());
  }

  async #scan(): Promise<FoundFile[]> {
    // Watches first, scan second: what changes in between is reported and looked at again.
    let found = await discover(this.root);
    if (this.#watch(found.folders)) found = await discover(this.root);
    this.#skipped = found.skipped;
    return found.files;
  }

  async #compare(found: readonly FoundFile[], events: IndexEvents): Promise<void> {
    const changed: FoundFile[] = [];
    const present = new Set<string>();
    for (const file of found) {
      present.add(file.path);
      const number = this.#mainNumber.get(file.path);
      const known =
        this.#deltaFiles.get(file.path) ??
        this.#unusable.get(file.path) ??
        (number === undefined || this.#dead[number] === 1 ? undefined : this.#main.files[number]);
      if (known?.size !== file.size || known.mtimeMs !== file.mtimeMs) changed.push(file);
    }
    const isFirst = this.#main.files.length === 0 && found.length > 0;
    if (isFirst || this.#deltaFiles.size + changed.length > LARGEST_DELTA) {
      await this.#build(found, events);
      return;
    }
    for (const [path, number] of this.#mainNumber) if (!present.has(path)) this.#dead[number] = 1;
    let gone = 0;
    for (const path of this.#deltaFiles.keys())
      if (!present.has(path)) gone += Number(this.#deltaFiles.delete(path));
    for (const path of this.#unusable.keys()) if (!present.has(path)) this.#unusable.delete(path);
    for (const file of changed) await this.#take(file.path);
    if (changed.length + gone > 0) this.#delta = buildSegment(this.#deltaFiles.values());
  }

  /** Brings one path up to date in the delta. */
  async #take(path: string): Promise<void> {
    const number = this.#mainNumber.get(path);
    const stat = await statFile(this.root, path);
    if (number !== undefined) this.#dead[number] = 1;
    this.#deltaFiles.delete(path);
    this.#unusable.delete(path);
    if (!stat) return;
    const read = await readText(this.root, path);
    if (typeof read === "string") this.#unusable.set(path, { ...stat, reason: read });
    else this.#deltaFiles.set(path, read);
  }

  async #build(found: readonly FoundFile[], events: IndexEvents): Promise<void> {
    const builder = new SegmentBuilder();
    this.#unusable.clear();
    for (let at = 0; at < found.length; at += BATCH) {
      const batch = found.slice(at, at + BATCH);
      const texts = await Promise.all(batch.map(({ path }) => readText(this.root, path)));
      texts.forEach((read, index) => {
        const file = batch[index];
        if (typeof read !== "string") builder.add(read);
        else if (file) this.#unusable.set(file.path, { ...file, reason: read });
      });
      events.progress?.(Math.min(at + BATCH, found.length), found.length);
      // Other calls get their turn between batches.
      await nextTurn();
    }
    this.#deltaFiles.clear();
    this.#delta = buildSegment([]);
    this.#setMain(builder.finish());
    await saveSegment(this.#savePath, this.#main).catch((error: unknown) => {
      // A full disk costs the next start its head start, not this search its answer.
      events.warn?.(`memory index not saved: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  #setMain(segment: Segment): void {
    this.#main = segment;
    this.#dead = new Uint8Array(segment.files.length);
    this.#mainNumber = new Map(segment.files.map((file, number) => [file.path, number]));
  }

  /** True when a new watch was set. */
  #watch(folders: readonly string[]): boolean {
    if (folders.length > MOST_WATCHES) {
      this.close();
      return false;
    }
    const wanted = new Set(folders);
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    let added = false;
    try {
      for (const folder of folders) {
        if (this.#watchers.has(folder)) continue;
        const watcher = watch(join(this.root, folder), { persistent: false }, (kind, name) => {
          this.#report(folder, kind, name);
        });
        watcher.on("error", () => this.close());
        this.#watchers.set(folder, watcher);
        added = true;
      }
      this.#watching = true;
    } catch {
      // Out of watches, or a file system without them: scan at every search.
      this.close();
    }
    return added;
  }

  #report(folder: string, kind: string, name: string | null): void {
    if (name === null) this.#dirty.add("*");
    else if (folder === "") {
      // Case variants of MEMORY.md decide among each other, and memory/ itself may come or go: look at everything.
      if (isMainFile(name) && kind === "change") this.#dirty.add(this.#mainNumber.has(name) ? name : "*");
      else if (isMainFile(name) || name === "memory") this.#dirty.add("*");
    } else if (isMarkdown(name) && !name.startsWith(".")) this.#dirty.add(`${folder}/${name}`);
    // A name without .md that appears or goes may be a folder.
    else if (kind === "rename" && !name.startsWith(".")) this.#dirty.add("*");
  }
}
