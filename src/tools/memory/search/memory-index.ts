import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf } from "../../../shared/errors.ts";
import { buildInWorker } from "./build-in-worker.ts";
import {
  discover,
  isMainFile,
  isMarkdown,
  kindOf,
  noneSkipped,
  statFile,
  type EntryKind,
  type FoundFile,
  type Skipped,
} from "./discover.ts";
import { FolderWatch } from "./folder-watch.ts";
import { decodeSegment, loadSegments, saveSegments } from "./persist.ts";
import { readText } from "./read-text.ts";
import { buildSegment, type SourceFile } from "./segment-builder.ts";
import type { Segment } from "./segment.ts";

export interface IndexEvents {
  /** Files read of files to read, during a long build. */
  progress?(done: number, total: number): void;
  warn?(message: string): void;
}

/** A part of the index that never changes; files that did since are marked. */
interface Block {
  segment: Segment;
  /** The segment as it is saved. */
  bytes: Uint8Array;
  /** By file: 1 where it was changed or deleted since. */
  dead: Uint8Array;
}

/** More changed files, or more of their text, than this make a block of their own. */
const LARGEST_DELTA = 64;
const LARGEST_DELTA_CHARACTERS = 1_000_000;
/** With more small blocks than this, or more dead than living files, everything is built anew. */
const MOST_SMALL_BLOCKS = 16;
/** What a whole build makes of a huge memory is larger: it isn't worn from the start. */
const SMALL_BLOCK_BYTES = 1_000_000;

/**
 * The index of one memory root: blocks, saved to disk, and a small delta for what changed since. Before each search it
 * takes in what the watches reported; without watches it compares every file's stat. Processes share the saved blocks
 * and nothing else: none waits for another.
 */
export class MemoryIndex {
  readonly root: string;
  readonly savePath: string;
  #blocks: Block[] = [];
  #delta: Segment = buildSegment([]);
  readonly #deltaFiles = new Map<string, SourceFile>();
  /** The block that holds the living version of a file, and the file's number in it. */
  readonly #places = new Map<string, { block: Block; file: number }>();
  #skipped: Skipped = noneSkipped();
  readonly #unusable = new Map<string, Pick<FoundFile, "size" | "ctimeMs"> & { reason: keyof Skipped }>();
  readonly #watch: FolderWatch;
  /** Paths reported by the watches; "*" for "anything". */
  readonly #dirty = new Set<string>(["*"]);
  #isLoaded = false;
  #queue: Promise<void> = Promise.resolve();
  #saved: Promise<void> = Promise.resolve();

  constructor(root: string, home: string) {
    this.root = root;
    this.savePath = join(
      home,
      "index",
      `${createHash("sha256").update(root).digest("hex").slice(0, 24)}.idx`,
    );
    this.#watch = new FolderWatch(root, (folder, kind, name) => this.#report(folder, kind, name));
  }

  /** The blocks, then the delta. */
  get segments(): Segment[] {
    return [...this.#blocks.map(({ segment }) => segment), this.#delta];
  }

  isLive(segment: number, file: number): boolean {
    return this.#blocks[segment]?.dead[file] !== 1;
  }

  get fileCount(): number {
    return this.#places.size + this.#deltaFiles.size;
  }

  get skipped(): Skipped {
    const total = { ...this.#skipped };
    for (const { reason } of this.#unusable.values()) total[reason] += 1;
    return total;
  }

  /** Resolves when the index holds every change made before the call. Calls queue behind each other. */
  refresh(events: IndexEvents = {}): Promise<void> {
    return this.#inTurn(() => this.#refresh(events));
  }

  /** Reads every file again, whatever is saved. */
  rebuild(events: IndexEvents = {}): Promise<void> {
    return this.#inTurn(async () => {
      this.#isLoaded = true;
      this.#dirty.clear();
      await this.#buildAll(await this.#scan(), events);
    });
  }

  /** Resolves when nothing is being written to disk any more. */
  settled(): Promise<void> {
    return this.#saved;
  }

  /** Says that a file isn't what the index holds; the next refresh looks at it. */
  markChanged(path: string): void {
    this.#dirty.add(path);
  }

  close(): void {
    this.#watch.close();
    this.#dirty.add("*");
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => {});
    return turn;
  }

  async #refresh(events: IndexEvents): Promise<void> {
    // Two turns of the event loop: changes that the kernel has queued for the watches are read in between.
    if (this.#watch.isComplete) {
      await nextTurn();
      await nextTurn();
    }
    if (!this.#watch.isComplete || this.#dirty.has("*")) {
      this.#dirty.clear();
      // The saved index is read while the files are looked at.
      const saved = this.#isLoaded ? [] : loadSegments(this.savePath);
      const found = await this.#scan();
      for (const { bytes, segment } of await saved) this.#addBlock(segment, bytes);
      this.#isLoaded = true;
      await this.#compare(found, events);
    } else if (this.#dirty.size > 0) {
      const paths = [...this.#dirty];
      this.#dirty.clear();
      const kinds = await Promise.all(paths.map((path) => kindOf(join(this.root, path))));
      const those = (kind: EntryKind): string[] => paths.filter((_path, at) => kinds[at] === kind);
      if (kinds.includes("folder")) await this.#compare(await this.#scan(), events);
      else await this.#take(those("file"), those("none"), events);
    }
    if (this.#isWorn()) await this.#buildAll(await this.#scan(), events);
  }

  #isWorn(): boolean {
    let files = 0;
    for (const { segment } of this.#blocks) files += segment.files.length;
    const dead = files - this.#places.size;
    const small = this.#blocks.filter(({ bytes }) => bytes.length < SMALL_BLOCK_BYTES).length;
    return small > MOST_SMALL_BLOCKS || dead > this.#places.size + LARGEST_DELTA;
  }

  async #scan(): Promise<FoundFile[]> {
    await this.#watch.begin();
    const found = await discover(this.root, (folder) => this.#watch.enter(folder));
    this.#watch.finish();
    this.#skipped = found.skipped;
    return found.files;
  }

  async #compare(found: readonly FoundFile[], events: IndexEvents): Promise<void> {
    const changed: string[] = [];
    let met = 0;
    for (const file of found) {
      const known =
        this.#deltaFiles.get(file.path) ?? this.#unusable.get(file.path) ?? this.#inBlock(file.path);
      if (known) met += 1;
      if (known?.size !== file.size || known.ctimeMs !== file.ctimeMs) changed.push(file.path);
    }
    let gone: string[] = [];
    if (met < this.#places.size + this.#deltaFiles.size + this.#unusable.size) {
      const present = new Set(found.map(({ path }) => path));
      const known = [...this.#places.keys(), ...this.#deltaFiles.keys(), ...this.#unusable.keys()];
      gone = known.filter((path) => !present.has(path));
    }
    await this.#take(changed, gone, events);
  }

  /** Brings paths up to date: few of them in the delta, many as a block of their own. */
  async #take(present: readonly string[], gone: readonly string[], events: IndexEvents): Promise<void> {
    const isInDelta = [...present, ...gone].some((path) => this.#deltaFiles.has(path));
    for (const path of [...present, ...gone]) this.#forget(path);
    if (present.length === 0 && !isInDelta) return;
    if (this.#deltaFiles.size + present.length <= LARGEST_DELTA) {
      for (const path of present) {
        const read = await readText(this.root, path);
        if (typeof read === "string") await this.#setAside(path, read);
        else this.#deltaFiles.set(path, read);
      }
      let characters = 0;
      for (const { text } of this.#deltaFiles.values()) characters += text.length;
      if (characters <= LARGEST_DELTA_CHARACTERS) {
        this.#delta = buildSegment(this.#deltaFiles.values());
        return;
      }
    }
    const all = new Set([...this.#deltaFiles.keys(), ...present]);
    this.#deltaFiles.clear();
    this.#delta = buildSegment([]);
    await this.#build([...all], events);
  }

  #forget(path: string): void {
    const place = this.#places.get(path);
    if (place) place.block.dead[place.file] = 1;
    this.#places.delete(path);
    this.#deltaFiles.delete(path);
    this.#unusable.delete(path);
  }

  async #setAside(path: string, reason: keyof Skipped): Promise<void> {
    const stat = await statFile(this.root, path);
    if (stat) this.#unusable.set(path, { ...stat, reason });
  }

  async #buildAll(found: readonly FoundFile[], events: IndexEvents): Promise<void> {
    this.#blocks = [];
    this.#places.clear();
    this.#deltaFiles.clear();
    this.#unusable.clear();
    this.#delta = buildSegment([]);
    await this.#build(
      found.map(({ path }) => path),
      events,
    );
  }

  async #build(found: readonly string[], events: IndexEvents): Promise<void> {
    const paths = found.toSorted();
    const unusable: [string, keyof Skipped][] = [];
    await buildInWorker({ root: this.root, paths }, (message) => {
      if (message.kind === "progress") events.progress?.(message.done, paths.length);
      else if (message.kind === "unusable") unusable.push([message.path, message.reason]);
      else {
        const segment = decodeSegment(message.bytes, { trusted: true });
        if (segment) this.#addBlock(segment, message.bytes);
      }
    });
    for (const [path, reason] of unusable) await this.#setAside(path, reason);
    this.#save(events);
  }

  /** Nobody waits for it. A full disk costs the next start its head start, not this search its answer. */
  #save(events: IndexEvents): void {
    this.#saved = this.#saved.then(async () => {
      try {
        await saveSegments(
          this.savePath,
          this.#blocks.map(({ bytes }) => bytes),
        );
      } catch (error) {
        events.warn?.(`memory index not saved: ${messageOf(error)}`);
      }
    });
  }

  #addBlock(segment: Segment, bytes: Uint8Array): void {
    const block: Block = { segment, bytes, dead: new Uint8Array(segment.files.length) };
    this.#blocks.push(block);
    for (const [file, { path }] of segment.files.entries()) {
      this.#forget(path);
      this.#places.set(path, { block, file });
    }
  }

  #inBlock(path: string): { size: number; ctimeMs: number } | undefined {
    const place = this.#places.get(path);
    return place?.block.segment.files[place.file];
  }

  #report(folder: string, kind: string, name: string | null): void {
    if (name === null) {
      this.#dirty.add("*");
      return;
    }
    const path = folder === "" ? name : `${folder}/${name}`;
    // What comes back under an old name is another folder, which the old watch knows nothing of.
    if (kind === "rename") this.#watch.forget(path);
    if (folder === "") {
      // Case variants of MEMORY.md decide among each other, and memory/ itself may come or go: look at everything.
      if (isMainFile(name)) this.#dirty.add(kind === "change" && this.#places.has(name) ? name : "*");
      else if (kind === "rename" && name === "memory") this.#dirty.add("*");
      else if (kind === "rename" && name === basename(this.root)) this.close();
    } else if (!name.startsWith(".")) {
      if (isMarkdown(name)) this.#dirty.add(path);
      // A name without .md that appears or goes may be a folder.
      else if (kind === "rename") this.#dirty.add("*");
    }
  }
}
