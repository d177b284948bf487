import { watch, type FSWatcher } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";

/** One watch a folder; with more folders than this every search scans instead. */
const MOST_WATCHES = 2000;
/** Linux file systems that change without this machine's kernel knowing: NFS, SMB, CIFS, FUSE, 9P. */
const REMOTE = new Set([0x6969, 0xfe534d42, 0xff534d42, 0x65735546, 0x01021997]);

/**
 * Watches on the folders of a memory. Only Linux reports a change before the call that made it returns, and only of
 * local disks; elsewhere nothing is watched and every search compares the files' stats.
 */
export class FolderWatch {
  readonly #root: string;
  readonly #report: (folder: string, kind: string, name: string | null) => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #isLocal: boolean | undefined;
  #entered = new Set<string>();
  /** True while a report is certain to come for every change. */
  isComplete = false;

  constructor(root: string, report: (folder: string, kind: string, name: string | null) => void) {
    this.#root = root;
    this.#report = report;
  }

  /** Before a scan: call `enter` with each folder, then `finish`. */
  async begin(): Promise<void> {
    this.#entered = new Set();
    if (process.platform !== "linux") return;
    // A root that doesn't exist yet is asked again at the next scan.
    this.#isLocal ??= await statfs(this.#root).then(
      ({ type }) => !REMOTE.has(type >>> 0),
      () => undefined,
    );
    this.isComplete = this.#isLocal === true;
  }

  enter(folder: string): void {
    this.#entered.add(folder);
    if (!this.isComplete || this.#watchers.has(folder)) return;
    try {
      if (this.#watchers.size >= MOST_WATCHES) throw new Error("too many folders to watch");
      const watcher = watch(join(this.#root, folder), { persistent: false }, (kind, name) => {
        this.#report(folder, kind, name);
      });
      watcher.on("error", () => this.close());
      this.#watchers.set(folder, watcher);
    } catch {
      this.close();
    }
  }

  finish(): void {
    for (const [folder, watcher] of this.#watchers) {
      if (this.#entered.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
  }

  /** A folder that comes back under its old name is another one: the old watch would stay silent. */
  forget(folder: string): void {
    for (const [watched, watcher] of this.#watchers) {
      if (watched !== folder && !watched.startsWith(`${folder}/`)) continue;
      watcher.close();
      this.#watchers.delete(watched);
    }
  }

  close(): void {
    this.isComplete = false;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
