/**
 * Positions to new contents, on an overlay and in patch order: an operation sees what the ones before it did.
 * Reads only, through `io`. Every failure of the whole patch is collected before any is reported.
 */
import { isUtf8 } from "node:buffer";
import { basename, dirname } from "node:path";
import { CamelError, toCamelError, type ErrorCode } from "../../shared/errors.ts";
import type { FileContent, PlannedFile } from "../../stores/checkpoints/commit.ts";
import { describeEdits, placeInText, type FileChange } from "./change.ts";
import { applyEdits, parseDocument } from "./document.ts";
import { describeFailure, MAX_DETAILED, type PlanFailure } from "./failure.ts";
import type { AddOp, DeleteOp, ParsedPatch, PatchOp, Repair, UpdateOp } from "./patch.ts";

export interface DiskFile {
  kind: "file" | "missing" | "directory" | "other";
  bytes?: Buffer;
  mode?: number;
  owner?: FileContent["owner"];
  links?: number;
}

export interface PlanIo {
  /** The real path inside the workspace; throws where there is none. `access` is what the operation would do. */
  resolve(requested: string, access: "write" | "delete"): Promise<string>;
  read(path: string): Promise<DiskFile>;
  /** An existing file that may be meant by a path which names none. */
  alike?(requested: string): Promise<string | undefined>;
}

export interface Plan {
  files: PlannedFile[];
  changes: FileChange[];
  warnings: string[];
  repairs: Repair[];
}

interface Entry {
  before: FileContent | undefined;
  after: FileContent | undefined;
  /** The patch itself removed or moved it away. */
  gone: boolean;
}

/** Each Update section reads its file anew; past this many bytes read again, sections should be joined. */
const MAX_BYTES_AGAIN = 64 * 1024 * 1024;

export async function planPatch(patch: ParsedPatch, io: PlanIo): Promise<Plan> {
  const planner = new Planner(io, patch.repairs);
  for (const op of patch.ops) await planner.run(op);
  return planner.finish();
}

class Planner {
  private readonly io: PlanIo;
  private readonly overlay = new Map<string, Entry>();
  private readonly changes: FileChange[] = [];
  private readonly warnings: string[] = [];
  private readonly repairs: Repair[];
  private readonly failures: PlanFailure[] = [];
  private readonly updated = new Set<string>();
  private bytesAgain = 0;

  constructor(io: PlanIo, repairs: readonly Repair[]) {
    this.io = io;
    this.repairs = [...repairs];
  }

  async run(op: PatchOp): Promise<void> {
    try {
      if (op.kind === "add") await this.add(op);
      else if (op.kind === "delete") await this.delete(op);
      else await this.update(op);
    } catch (thrown) {
      const error = toCamelError(thrown);
      if (error.code === "internal") throw error;
      this.failures.push({
        code: error.code,
        path: op.path,
        patchLine: op.patchLine,
        message: error.message,
        ...(error.next === undefined ? {} : { next: error.next }),
      });
    }
  }

  finish(): Plan {
    if (this.failures.length > 0) throw describeFailure(this.failures);
    const files: PlannedFile[] = [];
    for (const [path, { before, after }] of this.overlay) {
      const unchanged =
        before === after ||
        (before !== undefined &&
          after !== undefined &&
          before.mode === after.mode &&
          before.bytes.equals(after.bytes));
      if (!unchanged) files.push({ path, before, after });
    }
    refuseFileAndFolder(files);
    return { files, changes: this.changes, warnings: this.warnings, repairs: this.repairs };
  }

  private async entry(path: string, shown: string): Promise<Entry> {
    const known = this.overlay.get(path);
    if (known !== undefined) return known;
    const file = await this.io.read(path);
    if (file.kind === "directory") {
      throw fault(
        "not_a_file",
        `${shown} is a directory.`,
        "Name a file; directories are never changed as such.",
      );
    }
    if (file.kind === "other") {
      throw fault("not_a_file", `${shown} is not a regular file.`, "Name a regular file.");
    }
    if ((file.links ?? 1) > 1) {
      throw fault(
        "path_forbidden",
        `${shown} has ${file.links} hard links, so changing it could change a file elsewhere.`,
        "Copy it over itself to break the link, or leave it out.",
      );
    }
    const { bytes, mode, owner } = file;
    const content = bytes === undefined ? undefined : { bytes, mode, owner };
    const entry: Entry = { before: content, after: content, gone: false };
    this.overlay.set(path, entry);
    return entry;
  }

  private async add(op: AddOp): Promise<void> {
    const path = await this.io.resolve(op.path, "write");
    const entry = await this.entry(path, op.path);
    if (entry.after !== undefined) {
      throw fault(
        "already_exists",
        `${op.path} already exists; Add File never replaces a file.`,
        `Use "*** Update File: ${op.path}" to change it, or "*** Delete File: ${op.path}" before the Add to replace it.`,
      );
    }
    entry.after = { bytes: Buffer.from(op.content), mode: op.mode ?? entry.before?.mode };
    entry.gone = false;
    this.changes.push({
      status: "A",
      path: op.path,
      added: op.lineCount,
      removed: 0,
      ranges: op.lineCount === 0 ? [] : [[1, op.lineCount]],
      tiers: [],
      document: parseDocument(""),
      edits: [{ at: 0, remove: 0, hunk: 1, add: contentLines(op.content) }],
    });
  }

  private async delete(op: DeleteOp): Promise<void> {
    const path = await this.io.resolve(op.path, "delete");
    const entry = await this.entry(path, op.path);
    if (entry.after === undefined) {
      if (entry.gone) {
        throw fault(
          "patch_invalid",
          `${op.path} was already moved or deleted earlier in this patch.`,
          "Remove the second operation on it.",
        );
      }
      this.warnings.push(`${op.path} was not there: nothing to delete`);
      return;
    }
    const document = isText(entry.after.bytes)
      ? parseDocument(entry.after.bytes.toString("utf8"))
      : undefined;
    const lines = document?.lines ?? [];
    if (op.expected !== undefined) {
      const differs =
        op.expected.length !== lines.length ||
        op.expected.some((line, i) => line.trimEnd() !== (lines[i] ?? "").trimEnd());
      if (differs) {
        throw fault(
          "patch_no_match",
          `${op.path} is not what the diff deletes: its content has changed.`,
          `Read the file again; to delete it whatever it holds, use "*** Delete File: ${op.path}".`,
        );
      }
    }
    entry.after = undefined;
    entry.gone = true;
    this.changes.push({
      status: "D",
      path: op.path,
      added: 0,
      removed: lines.length,
      ranges: [],
      tiers: [],
      ...(document === undefined
        ? {}
        : { document, edits: [{ at: 0, remove: lines.length, add: [], hunk: 1 }] }),
    });
  }

  private async update(op: UpdateOp): Promise<void> {
    const path = await this.io.resolve(op.path, op.moveTo === undefined ? "write" : "delete");
    const entry = await this.entry(path, op.path);
    const current = entry.after;
    if (current === undefined) {
      if (op.createIfMissing === true && !entry.gone && op.moveTo === undefined) {
        const lines = op.hunks.flatMap((hunk) => hunk.lines.map((line) => line.text));
        await this.add({
          kind: "add",
          path: op.path,
          patchLine: op.patchLine,
          content: lines.map((line) => `${line}\n`).join(""),
          lineCount: lines.length,
        });
        return;
      }
      if (entry.gone) {
        throw fault(
          "patch_invalid",
          `${op.path} was moved or deleted earlier in this patch.`,
          "Update it before it is moved or deleted, or under its new name.",
        );
      }
      const alike = await this.io.alike?.(op.path);
      throw fault(
        "not_found",
        `${op.path} does not exist, so it can't be updated.`,
        alike === undefined
          ? `Check the path, or use "*** Add File: ${op.path}" to create it.`
          : `Did you mean ${alike}? To create it, use "*** Add File: ${op.path}".`,
      );
    }
    if (this.updated.has(path)) this.bytesAgain += current.bytes.length;
    this.updated.add(path);
    if (this.bytesAgain > MAX_BYTES_AGAIN) {
      throw fault(
        "too_large",
        `${op.path} has too many Update sections for its size.`,
        "Put all hunks of a file under one Update header.",
      );
    }
    const change: FileChange = { status: "M", path: op.path, added: 0, removed: 0, ranges: [], tiers: [] };
    let bytes = current.bytes;
    if (op.hunks.length > 0) {
      const text = this.updatedText(op, current.bytes, change);
      if (text === undefined) return;
      bytes = Buffer.from(text);
    }
    const next: FileContent = { bytes, mode: op.mode ?? current.mode, owner: current.owner };
    const target = op.moveTo === undefined ? path : await this.io.resolve(op.moveTo, "write");
    if (target === path) {
      if (op.moveTo !== undefined)
        this.warnings.push(`${op.path} is moved onto itself: it stays where it is`);
      entry.after = next;
    } else {
      const destination = await this.entry(target, op.moveTo ?? op.path);
      if (destination.after !== undefined) {
        throw fault(
          "already_exists",
          `${op.moveTo} already exists; a move never replaces a file.`,
          `Choose another name, or put "*** Delete File: ${op.moveTo}" before the move.`,
        );
      }
      destination.after = next;
      destination.gone = false;
      entry.after = undefined;
      entry.gone = true;
      change.status = "R";
      change.from = op.path;
      change.path = op.moveTo ?? op.path;
    }
    if (change.status === "M" && bytes.equals(current.bytes) && next.mode === current.mode) {
      this.warnings.push(`${op.path}: the patch leaves the file as it was`);
    }
    this.changes.push(change);
  }

  private updatedText(op: UpdateOp, bytes: Buffer, change: FileChange): string | undefined {
    if (!isText(bytes)) {
      throw fault(
        "not_text",
        `${op.path} is not a UTF-8 text file (or holds NUL bytes), so it is left untouched.`,
        "Change it with a tool made for its format.",
      );
    }
    const { document, placement } = placeInText(bytes.toString("utf8"), op.hunks);
    if (Array.isArray(placement)) {
      for (const failure of placement) {
        const told = this.failures.length < MAX_DETAILED;
        this.failures.push({
          path: op.path,
          patchLine: failure.hunk.patchLine,
          failure,
          ...(told ? { document } : {}),
        });
      }
      return undefined;
    }
    for (const warning of placement.warnings) this.warnings.push(`${op.path}: ${warning}`);
    for (const one of placement.repairs) {
      this.repairs.push({ ...one, message: `${op.path} ${one.message}` });
    }
    describeEdits(change, document, placement);
    return applyEdits(document, placement.edits);
  }
}

/** One patch may not make `a` a file and put another file below it. */
function refuseFileAndFolder(files: readonly PlannedFile[]): void {
  const made = new Set(files.filter(({ after }) => after !== undefined).map(({ path }) => path));
  for (const { path, after } of files) {
    if (after === undefined) continue;
    for (let at = dirname(path); at !== dirname(at); at = dirname(at)) {
      if (!made.has(at)) continue;
      throw fault(
        "patch_invalid",
        `Nothing was written. The patch makes ${basename(at)} a file and puts ${basename(path)} below it.`,
        "Choose other paths.",
      );
    }
  }
}

function fault(code: ErrorCode, message: string, next: string): CamelError {
  return new CamelError(code, message, { next });
}

function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

function contentLines(content: string): { text: string }[] {
  const lines = content.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((text) => ({ text }));
}
