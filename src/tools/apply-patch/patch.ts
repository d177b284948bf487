/** The shape both grammars parse to. Line numbers are 1-based lines of the patch text as it was sent. */
export interface HunkLine {
  kind: " " | "-" | "+";
  text: string;
  patchLine: number;
  /** An empty line without its blank prefix: read as blank context. */
  bare?: true;
  /** A line without any prefix: read as context. */
  unprefixed?: true;
  /** `\ No newline at end of file` followed it. */
  noNewline?: true;
  /** It ended in CRLF, in a patch whose own lines end in LF. */
  cr?: true;
}

export interface Hunk {
  /** 1-based within its file's section. */
  number: number;
  patchLine: number;
  anchors: string[];
  /** Anchors that a diff tool wrote (after `@@ -l,c +l,c @@`) help to choose, but never refuse a place. */
  advisoryAnchors: boolean;
  /** First old line by the hunk's own account, 1-based; only breaks ties. */
  oldStart?: number;
  endOfFile: boolean;
  lines: HunkLine[];
  /** Bare empty lines at the hunk's end: separators more often than context, so not part of `lines`. */
  trailingBlanks: number;
  /** Old lines of this patch, here or elsewhere, have their indentation written as `\t`. */
  tabsAsText?: true;
}

export interface AddOp {
  kind: "add";
  path: string;
  patchLine: number;
  content: string;
  lineCount: number;
  mode?: number;
}

export interface DeleteOp {
  kind: "delete";
  path: string;
  patchLine: number;
  /** A unified diff quotes what it deletes; the file must still say that. */
  expected?: string[];
}

export interface UpdateOp {
  kind: "update";
  path: string;
  patchLine: number;
  moveTo?: string;
  hunks: Hunk[];
  mode?: number;
  /** `@@ -0,0 @@`: the diff was made against nothing, so a missing file is created. */
  createIfMissing?: true;
}

export type PatchOp = AddOp | DeleteOp | UpdateOp;

export interface Repair {
  kind: string;
  patchLine: number;
  message: string;
}

export interface ParsedPatch {
  format: "v4a" | "unified";
  ops: PatchOp[];
  repairs: Repair[];
}

export interface SourceLine {
  text: string;
  /** The line ended in CRLF. */
  cr: boolean;
}
