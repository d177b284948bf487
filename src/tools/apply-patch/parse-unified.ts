/**
 * Unified diffs as git, diff -u and models write them:
 *
 *   diff    = { file }
 *   file    = [ "diff --git a/old b/new" { extended } ] [ "--- " name "+++ " name { hunk } ]
 *   hunk    = "@@ -l[,c] +l[,c] @@" [ " " text ] { ( " " | "+" | "-" ) text | "\ No newline at end of file" }
 *
 * Counts are believed first, because only they tell a removed "-- x" from a file header. Where they don't fit the
 * body, the whole diff is read again by its prefixes, and that is reported.
 */
import { gitNames, nameOf, prefixStripper, unquote } from "./diff-names.ts";
import type { Hunk, ParsedPatch, PatchOp, Repair, SourceLine, UpdateOp } from "./patch.ts";
import {
  closeHunk,
  emptyHunk,
  invalid,
  parseHunkHeader,
  pushHunkLine,
  reportHunkRepairs,
  saysNoNewline,
} from "./parse-hunk.ts";
import { startsUnified, type Wrapping } from "./unwrap.ts";

const COUNTS = /^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@/;

class CountMismatch extends Error {}

interface FileSection {
  patchLine: number;
  git: boolean;
  oldName?: string;
  newName?: string;
  renameFrom?: string;
  renameTo?: string;
  isNew: boolean;
  isDeleted: boolean;
  mode?: number;
  hunks: Hunk[];
}

export function parseUnified(wrapping: Wrapping): ParsedPatch {
  try {
    return new UnifiedParser(wrapping, true).parse();
  } catch (error) {
    if (!(error instanceof CountMismatch)) throw error;
    const parsed = new UnifiedParser(wrapping, false).parse();
    parsed.repairs.unshift({
      kind: "wrong_counts",
      patchLine: wrapping.first + 1,
      message: "the line counts in the @@ headers did not fit and were ignored",
    });
    return parsed;
  }
}

class UnifiedParser {
  private at: number;
  private readonly lines: SourceLine[];
  private readonly closers: ReadonlySet<string>;
  private readonly ops: PatchOp[] = [];
  private readonly repairs: Repair[] = [];
  private readonly counted: boolean;
  private envelopeOpen = false;
  /** The patch text itself came with CRLF, which says nothing about the files. */
  private readonly crlf: boolean;

  constructor(wrapping: Wrapping, counted: boolean) {
    this.lines = wrapping.lines;
    this.at = wrapping.first;
    this.closers = wrapping.closers;
    this.counted = counted;
    this.crlf = this.lines[this.at]?.cr === true;
  }

  parse(): ParsedPatch {
    let ended = false;
    while (this.at < this.lines.length) {
      const line = this.text();
      if (line.trim() === "" || isMailLine(line)) this.at++;
      else if (/^\*\*\*[ \t]*Begin Patch/i.test(line)) {
        this.envelopeOpen = true;
        this.at++;
      } else if (/^[ \t]*\*\*\*[ \t]*End Patch/i.test(line)) {
        this.envelopeOpen = false;
        ended = true;
        this.at++;
      } else if (this.closers.has(line.trim())) {
        ended = true;
        this.at++;
      } else if (!ended && startsUnified(this.lines, this.at)) this.section();
      else if (this.skipMailSignature()) continue;
      else if (!ended && this.skipMailHeader()) continue;
      else if (this.counted && !ended) throw new CountMismatch();
      else {
        throw invalid(
          `"${line.slice(0, 60)}" is not part of a diff.`,
          this.at + 1,
          "Remove it, or give the line its prefix: a blank, + or -.",
        );
      }
    }
    if (this.envelopeOpen) {
      throw invalid(
        '"*** End Patch" is missing: the patch may have been cut off.',
        this.lines.length,
        'Send the whole patch again, ending with "*** End Patch".',
      );
    }
    return { format: "unified", ops: this.ops, repairs: this.repairs };
  }

  private text(): string {
    const line = this.lines[this.at]?.text ?? "";
    // diff says it in the user's language.
    return line.startsWith("\\ ") ? "\\ No newline at end of file" : line;
  }

  private hasOwnCr(): boolean {
    return !this.crlf && this.lines[this.at]?.cr === true;
  }

  /** `git format-patch` ends a mail with "-- " and its version. */
  private skipMailSignature(): boolean {
    if (this.text() !== "-- " && this.text() !== "--") return false;
    const next = this.lines[this.at + 1]?.text ?? "";
    if (!/^\d+\.\d/.test(next)) return false;
    this.at += 2;
    return true;
  }

  /** Several mails in one file: from "From <hash>" to the next diff is the commit message. */
  private skipMailHeader(): boolean {
    if (!/^From [0-9a-f]{40} /.test(this.text())) return false;
    do this.at++;
    while (this.at < this.lines.length && !startsUnified(this.lines, this.at));
    return true;
  }

  private section(): void {
    const file: FileSection = {
      patchLine: this.at + 1,
      git: false,
      isNew: false,
      isDeleted: false,
      hunks: [],
    };
    if (this.text().startsWith("diff --git ")) {
      file.git = true;
      this.gitHeader(file);
    }
    if (this.text().startsWith("--- ") && (this.lines[this.at + 1]?.text.startsWith("+++ ") ?? false)) {
      file.oldName = nameOf(this.text().slice(4));
      file.newName = nameOf(this.lines[this.at + 1]?.text.slice(4) ?? "");
      this.at += 2;
      while (this.text().startsWith("@@")) this.hunk(file);
    }
    this.ops.push(this.toOp(file));
  }

  private gitHeader(file: FileSection): void {
    const names = gitNames(this.text().slice("diff --git ".length));
    if (names !== undefined) [file.oldName, file.newName] = names;
    this.at++;
    for (; this.at < this.lines.length; this.at++) {
      const line = this.text();
      if (line.startsWith("rename from ")) file.renameFrom = unquote(line.slice(12));
      else if (line.startsWith("rename to ")) file.renameTo = unquote(line.slice(10));
      else if (line.startsWith("new file mode ")) {
        file.isNew = true;
        file.mode = permissions(line.slice(14), this.at + 1);
      } else if (line.startsWith("deleted file mode ")) file.isDeleted = true;
      else if (line.startsWith("new mode ")) file.mode = permissions(line.slice(9), this.at + 1);
      else if (
        line.startsWith("copy from ") ||
        line.startsWith("Binary files ") ||
        line === "GIT binary patch"
      ) {
        throw invalid(
          `"${line.slice(0, 60)}": copies and binary changes are not supported.`,
          this.at + 1,
          "Leave this file out of the patch; write a copied file as a new one.",
        );
      } else if (!/^(?:old mode|similarity index|dissimilarity index|index) /.test(line)) break;
    }
  }

  private hunk(file: FileSection): void {
    const header = this.text();
    const hunk = emptyHunk(file.hunks.length + 1, this.at + 1);
    const { anchor, oldStart } = parseHunkHeader(header);
    if (anchor !== "") hunk.anchors.push(anchor);
    hunk.advisoryAnchors = true;
    if (oldStart !== undefined) hunk.oldStart = oldStart;
    this.at++;
    const counts = COUNTS.exec(header);
    if (this.counted && counts !== null)
      this.countedBody(hunk, Number(counts[1] ?? 1), Number(counts[2] ?? 1));
    else this.prefixedBody(hunk);
    closeHunk(hunk);
    if (hunk.lines.length === 0) {
      throw invalid(
        `hunk ${hunk.number} of ${file.newName ?? "the diff"} has no lines.`,
        hunk.patchLine,
        "Add the hunk's lines, or remove its header.",
      );
    }
    reportHunkRepairs(file.newName ?? file.oldName ?? "", hunk, this.repairs);
    file.hunks.push(hunk);
  }

  private countedBody(hunk: Hunk, oldCount: number, newCount: number): void {
    let oldLeft = oldCount;
    let newLeft = newCount;
    for (; this.at < this.lines.length && (oldLeft > 0 || newLeft > 0); this.at++) {
      const line = this.text();
      const first = line[0];
      if (first === "+") newLeft--;
      else if (first === "-") oldLeft--;
      else if (first === " " || first === undefined) {
        oldLeft--;
        newLeft--;
      } else if (!saysNoNewline(line)) throw new CountMismatch();
      pushHunkLine(hunk, line, this.at + 1, this.hasOwnCr());
    }
    if (oldLeft !== 0 || newLeft !== 0) throw new CountMismatch();
    while (saysNoNewline(this.text())) {
      pushHunkLine(hunk, this.text(), this.at + 1, this.hasOwnCr());
      this.at++;
    }
    const next = this.text();
    const bodyGoesOn = /^[ +-]/.test(next) && !startsUnified(this.lines, this.at);
    if (bodyGoesOn && !/^--? ?$/.test(next)) throw new CountMismatch();
  }

  private prefixedBody(hunk: Hunk): void {
    for (; this.at < this.lines.length; this.at++) {
      const line = this.text();
      if (line.startsWith("@@") || startsUnified(this.lines, this.at)) return;
      if (/^\*\*\*[ \t]*(?:End|Begin) Patch/i.test(line)) return;
      if (!this.envelopeOpen && this.closers.has(line.trimEnd())) return;
      if (/^--? ?$/.test(line) && /^\d+\.\d/.test(this.lines[this.at + 1]?.text ?? "")) return;
      if (/^\*\*\*[ \t]*End of File/i.test(line)) {
        hunk.endOfFile = true;
        this.at++;
        return;
      }
      pushHunkLine(hunk, line, this.at + 1, this.hasOwnCr());
    }
  }

  private toOp(file: FileSection): PatchOp {
    const { patchLine, hunks } = file;
    const strip = prefixStripper(file);
    const oldPath = file.renameFrom ?? strip(file.oldName);
    const newPath = file.renameTo ?? strip(file.newName);
    if (file.isNew || (oldPath === undefined && newPath !== undefined)) {
      const path = newPath ?? oldPath ?? "";
      const added = hunks.flatMap((hunk) => hunk.lines);
      if (added.some((line) => line.kind !== "+")) {
        throw invalid(`${path} is new, but the diff has old lines for it.`, patchLine, "Use + lines only.");
      }
      const crContent = !(this.lines[patchLine - 1]?.cr ?? false);
      const text = added.map(
        (line) => line.text + (crContent && this.lines[line.patchLine - 1]?.cr ? "\r" : ""),
      );
      const newline = added.at(-1)?.noNewline === true ? "" : "\n";
      return {
        kind: "add",
        path,
        patchLine,
        content: text.length === 0 ? "" : text.join("\n") + newline,
        lineCount: text.length,
        ...(file.mode === undefined ? {} : { mode: file.mode }),
      };
    }
    if (oldPath === undefined)
      throw invalid("the diff names no file.", patchLine, "Write --- and +++ lines.");
    if (file.isDeleted || newPath === undefined) {
      const old = hunks.flatMap((hunk) => hunk.lines).filter((line) => line.kind !== "+");
      return {
        kind: "delete",
        path: oldPath,
        patchLine,
        ...(old.length === 0 ? {} : { expected: old.map((line) => line.text) }),
      };
    }
    const renamed = file.renameTo !== undefined && file.renameTo !== oldPath;
    const op: UpdateOp = { kind: "update", path: renamed ? oldPath : newPath, patchLine, hunks };
    if (renamed) op.moveTo = newPath;
    if (file.mode !== undefined) op.mode = file.mode;
    if (hunks.length > 0 && hunks.every((hunk) => hunk.oldStart === 0)) op.createIfMissing = true;
    if (hunks.length === 0 && !renamed && op.mode === undefined) {
      throw invalid(`${newPath} has no hunks.`, patchLine, "Add @@ hunks, or remove the file from the diff.");
    }
    return op;
  }
}

function isMailLine(line: string): boolean {
  return line.startsWith("Index: ") || /^={10,}$/.test(line) || /^diff (?!--git )/.test(line);
}

function permissions(text: string, patchLine: number): number {
  const mode = text.trim();
  if (mode === "100644" || mode === "100755") return Number.parseInt(mode.slice(3), 8);
  throw invalid(
    `file mode ${mode.slice(0, 10)} is not a regular file's.`,
    patchLine,
    "Leave links and submodules out.",
  );
}
