/** Commits of a git repository as edits: each file before and after, and the hunks between with n context lines. */
import { execFileSync } from "node:child_process";
import { isUtf8 } from "node:buffer";

export interface CommitHunk {
  oldStart: number;
  newStart: number;
  /** What git takes for the enclosing function, cut at 80 characters. */
  section: string;
  /** With their prefixes. */
  lines: string[];
}

export interface CommitFile {
  kind: "add" | "update" | "delete";
  path: string;
  movedFrom?: string;
  before?: string;
  after?: string;
  hunks: CommitHunk[];
}

export interface Commit {
  id: string;
  files: CommitFile[];
  /** The diff as git printed it. */
  diff: string;
}

const MAX_DIFF = 60_000;
const MAX_FILES = 20;

/** Newest first: commits whose changes are plain text of a usual size, in files that end with a newline. */
export function* readCommits(repository: string, context: number): Generator<Commit> {
  const git = (...args: string[]): Buffer =>
    execFileSync("git", ["-c", "core.quotepath=false", ...args], { cwd: repository, maxBuffer: 1 << 29 });
  const ids = git("rev-list", "--no-merges", "--min-parents=1", "HEAD").toString().split("\n");
  for (const id of ids.filter(Boolean)) {
    const diff = git("diff", "-M", `-U${context}`, "--no-ext-diff", "--no-color", `${id}^`, id).toString();
    const unusable =
      /^(?:Binary files |GIT binary|\\ No newline|old mode|new file mode 1[26]|copy from|(?:---|\+\+\+) ")/m;
    if (diff === "" || diff.length > MAX_DIFF || unusable.test(diff)) continue;
    const files = parseDiff(diff);
    if (files.length === 0 || files.length > MAX_FILES) continue;
    const load = (revision: string, path: string): string | undefined => {
      const bytes = git("show", `${revision}:${path}`);
      const plain = isUtf8(bytes) && !bytes.includes(0) && !bytes.includes(13) && bytes.at(-1) === 10;
      return plain && bytes[0] !== 0xef ? bytes.toString() : undefined;
    };
    let usable = true;
    for (const file of files) {
      if (file.kind !== "add") {
        const text = load(`${id}^`, file.movedFrom ?? file.path);
        if (text === undefined) usable = false;
        else file.before = text;
      }
      if (file.kind !== "delete") {
        const text = load(id, file.path);
        if (text === undefined) usable = false;
        else file.after = text;
      }
    }
    if (usable) yield { id, files, diff };
  }
}

function parseDiff(diff: string): CommitFile[] {
  const files: CommitFile[] = [];
  for (const section of diff.split(/^diff --git /m).slice(1)) {
    const head = section.split(/^@@ /m)[0] ?? "";
    const find = (pattern: RegExp): string | undefined => pattern.exec(head)?.[1];
    const from = find(/^rename from (.*)$/m);
    const path = find(/^rename to (.*)$/m) ?? find(/^\+\+\+ b\/(.*?)\t?$/m) ?? find(/^--- a\/(.*?)\t?$/m);
    if (path === undefined) continue;
    const kind = /^new file/m.test(head) ? "add" : /^deleted file/m.test(head) ? "delete" : "update";
    const hunks: CommitHunk[] = [];
    for (const line of section.slice(head.length).split("\n").slice(0, -1)) {
      const start = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/.exec(line);
      if (start === null) hunks.at(-1)?.lines.push(line);
      else {
        const [, oldStart, newStart, text = ""] = start;
        hunks.push({ oldStart: Number(oldStart), newStart: Number(newStart), section: text, lines: [] });
      }
    }
    files.push({ kind, path, hunks, ...(from === undefined ? {} : { movedFrom: from }) });
  }
  return files;
}

/** What the hunks make of a file whose lines may have been disturbed: context comes from the file. */
export function applyHunks(before: readonly string[], hunks: readonly CommitHunk[]): string[] {
  const out: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    const isInsertion = hunk.lines.every((line) => line.startsWith("+"));
    const start = isInsertion ? hunk.oldStart : hunk.oldStart - 1;
    while (at < start) out.push(before[at++] ?? "");
    for (const line of hunk.lines) {
      if (line.startsWith("+")) out.push(line.slice(1));
      else if (line.startsWith("-")) at++;
      else out.push(before[at++] ?? "");
    }
  }
  return [...out, ...before.slice(at)];
}
