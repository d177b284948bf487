/**
 * V4A, strictly:
 *
 *   patch   = [ "*** Begin Patch" [ "*** Environment ID: " id ] ] { file } [ "*** End Patch" ]
 *   file    = add | delete | update | move
 *   add     = "*** Add File: " path { "+" text }
 *   delete  = "*** Delete File: " path
 *   move    = "*** Move File: " path " -> " path
 *   update  = "*** Update File: " path [ "*** Move to: " path ] { hunk }
 *   hunk    = { anchor } { line } [ "*** End of File" ]
 *   anchor  = "@@" [ " " text [ " @@" ] ] | "@@ -" l "," c " +" l "," c " @@" [ text ]
 *   line    = ( " " | "+" | "-" ) text
 *
 * More lenient, each reported as a repair: an empty line is blank context (or an empty added line in Add File), a
 * line without a prefix is context, a `---`/`+++` pair after the Update header is skipped, a path in quotes is
 * meant without them. Markers are known in any case, and with blanks before them where no line of a hunk can
 * stand. Text before the first marker, code fences and heredocs are wrapping. A "*** Begin Patch" without its end
 * is refused: the text was probably cut off. Text after the end is refused too, save prose behind a closing fence,
 * which is reported: nothing the caller sent is dropped in silence.
 */
import { sep } from "node:path";
import { counted } from "../../shared/counted.ts";
import {
  closeHunk,
  emptyHunk,
  invalid,
  parseHunkHeader,
  pushHunkLine,
  reportHunkRepairs,
  saysNoNewline,
} from "./parse-hunk.ts";
import type { Hunk, ParsedPatch, PatchOp, Repair, SourceLine, UpdateOp } from "./patch.ts";
import type { Wrapping } from "./unwrap.ts";

export function parseV4a(wrapping: Wrapping): ParsedPatch {
  return new V4aParser(wrapping).parse();
}

const HEADER = /^\*\*\*[ \t]*([A-Za-z][A-Za-z ]{2,20}?)[ \t]*(?::(.*))?$/;
const NAMES = new Map(
  [
    "Begin Patch",
    "Environment ID",
    "End Patch",
    "Add File",
    "Update File",
    "Delete File",
    "Move File",
    "Move to",
    "End of File",
  ].map((name) => [name.toLowerCase(), name]),
);

interface Header {
  name: string;
  value: string;
}

class V4aParser {
  private at: number;
  private readonly lines: SourceLine[];
  private readonly closers: ReadonlySet<string>;
  private readonly ops: PatchOp[] = [];
  private readonly repairs: Repair[] = [];
  private envelope: { open: boolean; line: number } = { open: false, line: 0 };
  private ended = false;
  /** The patch text itself came with CRLF, which says nothing about the files. */
  private readonly crlf: boolean;
  /** Where the last line that says anything stands. */
  private readonly last: number;

  constructor(wrapping: Wrapping) {
    this.lines = wrapping.lines;
    this.at = wrapping.first;
    this.closers = wrapping.closers;
    this.crlf = this.lines[this.at]?.cr === true;
    this.last = this.lines.findLastIndex(({ text }) => text.trim() !== "" && !this.closers.has(text.trim()));
  }

  parse(): ParsedPatch {
    while (this.at < this.lines.length) this.section();
    if (this.envelope.open) {
      throw invalid(
        'the patch begins with "*** Begin Patch" but "*** End Patch" is missing: it may have been cut off.',
        this.lines.length,
        'Send the whole patch again, ending with "*** End Patch".',
      );
    }
    return { format: "v4a", ops: this.ops, repairs: this.repairs };
  }

  private text(): string {
    return this.lines[this.at]?.text ?? "";
  }

  /** Behind a blank it is a header only where no line of a hunk can stand: there the blank is a prefix. */
  private header(mayBePadded: boolean): Header | undefined {
    const line = mayBePadded ? this.text().trimStart() : this.text();
    if (!line.startsWith("***")) return undefined;
    const [, name = "", value = ""] = HEADER.exec(line.trimEnd()) ?? [];
    const known = NAMES.get(name.toLowerCase());
    if (known === undefined && !/^[A-Z]/.test(name)) return undefined;
    return { name: known ?? name, value: value.trim() };
  }

  /** The last line of all, and without it the patch would have no end. */
  private isPaddedEnd(): boolean {
    return this.at === this.last && this.envelope.open && this.header(true)?.name === "End Patch";
  }

  private path(value: string, patchLine: number): string {
    const path = this.unquoted(value, patchLine);
    // Where "/" parts folders, "\\" is what Windows writes; in a file's name it is next to never meant.
    if (sep !== "/" || !/^[\w.@-]+(?:\\[\w.@-][^\\/]*)+$/.test(path)) return path;
    const repaired = path.replaceAll("\\", "/");
    this.repairs.push({ kind: "backslashes", patchLine, message: `${path} was read as ${repaired}` });
    return repaired;
  }

  private unquoted(value: string, patchLine: number): string {
    const inner = /^"([^"]+)"$|^'([^']+)'$|^`([^`]+)`$/.exec(value)?.slice(1).find(Boolean);
    if (inner === undefined) return value;
    this.repairs.push({
      kind: "quoted_path",
      patchLine,
      message: `the quotes around ${inner} were not read as part of the path`,
    });
    return inner;
  }

  /** Behind a blank it may be context, so there only the last line of all closes. */
  private closes(): boolean {
    const line = this.text().trimEnd();
    if (this.envelope.open) return false;
    return this.closers.has(line) || (this.at > this.last && this.closers.has(line.trimStart()));
  }

  private section(): void {
    const number = this.at + 1;
    const line = this.text();
    if (line.trim() === "") {
      this.at++;
      return;
    }
    if (this.closes()) {
      this.at++;
      this.ended = true;
      return;
    }
    const header = this.header(true);
    if (header?.name === "Begin Patch") {
      if (this.envelope.open) {
        throw invalid('a second "*** Begin Patch" before "*** End Patch".', number, "Send one envelope.");
      }
      this.envelope = { open: true, line: number };
      this.at++;
      return;
    }
    if (header?.name === "End Patch") {
      this.envelope.open = false;
      this.ended = true;
      this.at++;
      return;
    }
    // Some agents have several machines, and say to theirs which one is meant. Here there is one.
    if (header?.name === "Environment ID" && header.value !== "" && number === this.envelope.line + 1) {
      const message = `"*** Environment ID: ${header.value}" was not heeded: the patch is for this workspace`;
      this.repairs.push({ kind: "environment", patchLine: number, message });
      this.at++;
      return;
    }
    if (this.ended && !this.envelope.open) {
      throw invalid(
        `"${shorten(line)}" follows the end of the patch.`,
        number,
        'Remove everything after "*** End Patch", or move it inside.',
      );
    }
    if (header === undefined) {
      const last = this.ops.at(-1);
      const where =
        last === undefined
          ? ""
          : last.kind === "add"
            ? ` Lines of "*** Add File: ${last.path}" must start with "+".`
            : last.kind === "delete"
              ? ` "*** Delete File:" takes no lines.`
              : "";
      throw invalid(
        `"${shorten(line)}" is not a file header.${where}`,
        number,
        'Start each file with "*** Add File: path", "*** Update File: path" or "*** Delete File: path", and each line of a new file with "+".',
      );
    }
    if (/^[ \t]/.test(line)) {
      const message = `the blanks before "*** ${header.name}" were not read as part of the patch`;
      this.repairs.push({ kind: "padded_marker", patchLine: number, message });
    }
    this.file(header, number);
  }

  private file(header: Header, patchLine: number): void {
    const { name } = header;
    if (!["Add File", "Delete File", "Update File", "Move File"].includes(name)) {
      throw invalid(
        `"*** ${name}" is not a known header here.`,
        patchLine,
        'Known headers: "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:" right after an Update header, "*** End of File" after a hunk. Prefix the line with a blank if it is context.',
      );
    }
    if (header.value === "")
      throw invalid(`"*** ${name}:" names no path.`, patchLine, "Write the path after the colon.");
    this.at++;
    const paths = name === "Move File" ? header.value.split(" -> ") : [header.value];
    const [from = "", to, more] = paths.map((path) => this.path(path.trim(), patchLine));
    if (name === "Add File") this.addFile(from, patchLine);
    else if (name === "Delete File") this.ops.push({ kind: "delete", path: from, patchLine });
    else if (name === "Update File") this.updateFile(from, patchLine);
    else {
      if (from === "" || to === undefined || to === "" || more !== undefined) {
        throw invalid(
          '"*** Move File:" needs "old -> new".',
          patchLine,
          'Write "*** Move File: old -> new".',
        );
      }
      this.ops.push({ kind: "update", path: from, moveTo: to, hunks: [], patchLine });
    }
  }

  private addFile(path: string, patchLine: number): void {
    const headerHasCr = this.lines[patchLine - 1]?.cr ?? false;
    const content: string[] = [];
    let pendingBlanks = 0;
    let blanks = 0;
    let newlineAtEnd = true;
    for (; this.at < this.lines.length; this.at++) {
      const line = this.lines[this.at];
      if (line === undefined) break;
      if (line.text === "") {
        pendingBlanks++;
        continue;
      }
      if (saysNoNewline(line.text) && content.length > 0) {
        newlineAtEnd = false;
        continue;
      }
      if (!line.text.startsWith("+")) break;
      for (; pendingBlanks > 0; pendingBlanks--, blanks++) content.push("");
      // CRLF in the content only (the markers are LF) is what the new file is meant to hold.
      content.push(line.text.slice(1) + (line.cr && !headerHasCr ? "\r" : ""));
    }
    if (blanks > 0) {
      this.repairs.push({
        kind: "blank_prefix",
        patchLine,
        message: `${path}: ${counted(blanks, "empty line")} without "+", read as empty lines of the new file`,
      });
    }
    const text = content.length === 0 ? "" : content.join("\n") + (newlineAtEnd ? "\n" : "");
    this.ops.push({ kind: "add", path, patchLine, content: text, lineCount: content.length });
  }

  private updateFile(path: string, patchLine: number): void {
    const op: UpdateOp = { kind: "update", path, patchLine, hunks: [] };
    const move = this.header(true);
    if (move?.name === "Move to") {
      if (move.value === "")
        throw invalid('"*** Move to:" names no path.', this.at + 1, "Write the new path.");
      op.moveTo = this.path(move.value, this.at + 1);
      this.at++;
    }
    this.skipUnifiedHeaders(path);
    let hunk: Hunk | undefined;
    const finish = (): void => {
      if (hunk === undefined) return;
      closeHunk(hunk);
      if (hunk.lines.length === 0) {
        if (hunk.anchors.length === 0 && hunk.patchLine === 0) return;
        throw invalid(
          `hunk ${hunk.number} of ${path} has no lines.`,
          hunk.patchLine,
          'After "@@" write the old lines (prefix " " or "-") and the new ones (prefix "+").',
        );
      }
      reportHunkRepairs(path, hunk, this.repairs);
      op.hunks.push(hunk);
      hunk = undefined;
    };
    for (; this.at < this.lines.length; this.at++) {
      const line = this.text();
      const number = this.at + 1;
      const header = this.header(false);
      if (header !== undefined) {
        if (header.name !== "End of File") break;
        if (hunk === undefined) {
          throw invalid(
            '"*** End of File" without a hunk before it.',
            number,
            "Put it after the hunk's lines.",
          );
        }
        hunk.endOfFile = true;
        finish();
        continue;
      }
      if (this.closes() || this.isPaddedEnd()) break;
      if (line.startsWith("@@")) {
        if (hunk !== undefined && hunk.lines.some((entry) => entry.bare !== true)) finish();
        hunk ??= emptyHunk(op.hunks.length + 1, number);
        hunk.lines = [];
        const { anchor, oldStart } = parseHunkHeader(line);
        if (oldStart !== undefined) {
          hunk.oldStart = oldStart;
          if (hunk.anchors.length === 0) hunk.advisoryAnchors = true;
        } else if (anchor !== "") hunk.advisoryAnchors = false;
        if (anchor.trim() !== "") hunk.anchors.push(anchor);
        continue;
      }
      // Empty lines between the header and the first hunk, or after a finished one, are spacing.
      if (line === "" && hunk === undefined) continue;
      hunk ??= emptyHunk(op.hunks.length + 1, number);
      pushHunkLine(hunk, line, number, !this.crlf && this.lines[this.at]?.cr === true);
    }
    finish();
    if (op.hunks.length === 0 && op.moveTo === undefined) {
      throw invalid(
        `"*** Update File: ${path}" has no hunks.`,
        patchLine,
        'Add "@@" and the lines to change, or remove the section.',
      );
    }
    this.ops.push(op);
  }

  private skipUnifiedHeaders(path: string): void {
    if (this.text().startsWith("--- ") && (this.lines[this.at + 1]?.text.startsWith("+++ ") ?? false)) {
      const after = this.lines[this.at + 2]?.text ?? "";
      // Both lines must name this file: "--- x" may be a removed "-- x", a comment in SQL.
      const names = [this.text(), this.lines[this.at + 1]?.text ?? ""].map((line) => line.slice(4).trim());
      const isHeader = (name: string): boolean => {
        const bare = name.split("\t")[0] ?? "";
        return bare === "/dev/null" || bare === path || bare.slice(2) === path;
      };
      if (!after.startsWith("@@") || !names.every(isHeader)) return;
      this.repairs.push({
        kind: "unified_header",
        patchLine: this.at + 1,
        message: `${path}: a "---"/"+++" pair after the Update header was skipped`,
      });
      this.at += 2;
    }
  }
}

function shorten(line: string): string {
  return line.length > 60 ? `${line.slice(0, 57)}...` : line;
}
