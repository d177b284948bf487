/** What models, editors and shells do to a patch or to the file it is for. Each keeps what the edit means. */
import { applyHunks, type Commit, type CommitFile, type CommitHunk } from "./commits.ts";

export interface Trial {
  patch: string;
  before: Record<string, string>;
  after: Record<string, string>;
}

export interface PatchStyle {
  /** The line that opens a hunk. */
  header?(hunk: CommitHunk): string;
  hunkLines?(hunk: CommitHunk): string[];
  hunks?(hunks: readonly CommitHunk[]): readonly CommitHunk[];
}

export function toV4a(files: readonly CommitFile[], style: PatchStyle = {}): string {
  const out = ["*** Begin Patch"];
  for (const file of files) {
    if (file.kind === "delete") out.push(`*** Delete File: ${file.path}`);
    else if (file.kind === "add") {
      out.push(`*** Add File: ${file.path}`, ...file.hunks.flatMap((hunk) => hunk.lines));
    } else {
      out.push(`*** Update File: ${file.movedFrom ?? file.path}`);
      if (file.movedFrom !== undefined) out.push(`*** Move to: ${file.path}`);
      for (const hunk of style.hunks?.(file.hunks) ?? file.hunks) {
        out.push(style.header?.(hunk) ?? "@@", ...(style.hunkLines?.(hunk) ?? hunk.lines));
      }
    }
  }
  return [...out, "*** End Patch", ""].join("\n");
}

export function plainTrial({ files }: Commit, patch = toV4a(files)): Trial {
  const trial: Trial = { patch, before: {}, after: {} };
  for (const { path, movedFrom, before, after } of files) {
    if (before !== undefined) trial.before[movedFrom ?? path] = before;
    if (after !== undefined) trial.after[path] = after;
  }
  return trial;
}

export const byFunction: PatchStyle = {
  header: ({ section }) => (section.trim() === "" ? "@@" : `@@ ${section}`),
};

const updates = (commit: Commit): CommitFile[] => commit.files.filter((file) => file.kind === "update");
const hunksOf = (commit: Commit): CommitHunk[] => updates(commit).flatMap((file) => file.hunks);
const linesOf = (text: string): string[] => text.split("\n").slice(0, -1);
const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");
const indent = (text: string): string => /^[ \t]*/.exec(text)?.[0] ?? "";

/** A line that the edit puts last ends with a newline; only a last line that stays can go without. */
function keepsLastLine({ before = "", hunks }: CommitFile): boolean {
  const last = hunks.at(-1);
  if (last === undefined) return before.trim() !== "";
  const old = last.lines.filter((line) => !line.startsWith("+"));
  const reachesEnd = last.oldStart - 1 + old.length >= linesOf(before).length;
  return before.trim() !== "" && (!reachesEnd || /^ ./.test(last.lines.at(-1) ?? ""));
}

/** Disturbs the files that are updated, not the patch; `after` is what its hunks make of that. */
function disturbFiles(commit: Commit, disturb: (line: string, index: number) => string): Trial {
  const files = commit.files.map((file): CommitFile => {
    if (file.kind !== "update" || file.before === undefined) return file;
    const before = linesOf(file.before).map(disturb);
    return { ...file, before: joined(before), after: joined(applyHunks(before, file.hunks)) };
  });
  return plainTrial({ ...commit, files }, toV4a(commit.files));
}

/** Maps the text of every updated file, before and after alike. */
function mapFiles(commit: Commit, map: (text: string) => string): Trial {
  const files = commit.files.map((file): CommitFile =>
    file.kind === "update" ? { ...file, before: map(file.before ?? ""), after: map(file.after ?? "") } : file,
  );
  return plainTrial({ ...commit, files }, toV4a(commit.files));
}

function mapLines(commit: Commit, map: (line: string) => string): Trial {
  return plainTrial(commit, toV4a(commit.files, { hunkLines: ({ lines }) => lines.map(map) }));
}

function dedent({ lines }: CommitHunk): string[] {
  const depths = lines.filter((line) => line.slice(1).trim() !== "").map((line) => indent(line.slice(1)));
  const common = depths.reduce((a, b) => {
    let length = 0;
    while (length < a.length && a[length] === b[length]) length++;
    return a.slice(0, length);
  }, depths[0] ?? "");
  return lines.map((line) =>
    line.slice(1).startsWith(common) ? (line[0] ?? "") + line.slice(1 + common.length) : line,
  );
}

function wrongNumbers(diff: string): string {
  let hunk = 0;
  return diff.replaceAll(
    /^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@/gm,
    (_, a: string, b = "", c: string, d = "") => {
      const off = (hunk++ % 5) + 3;
      return `@@ -${Number(a) + off}${b} +${Number(c) + off}${d} @@`;
    },
  );
}

/** Undefined: the commit has nothing that this disturbs. */
export const DISTURBANCES: Record<string, (commit: Commit) => Trial | undefined> = {
  crlf: (commit) => mapFiles(commit, (text) => text.replaceAll("\n", "\r\n")),
  "crlf patch": (commit) => {
    const trial = plainTrial(commit);
    return { ...trial, patch: trial.patch.replaceAll("\n", "\r\n") };
  },
  "byte order mark": (commit) => mapFiles(commit, (text) => `\uFEFF${text}`),
  "byte order mark, line 1 changed": (commit) =>
    hunksOf(commit).some((hunk) => hunk.oldStart === 1)
      ? mapFiles(commit, (text) => `\uFEFF${text}`)
      : undefined,
  "no last newline": (commit) =>
    updates(commit).every(keepsLastLine) ? mapFiles(commit, (text) => text.replace(/\n$/, "")) : undefined,
  dedented: (commit) => {
    // An added line of blanks alone is lost with its indentation: nobody could tell it from an empty one.
    if (hunksOf(commit).some(({ lines }) => lines.some((line) => /^\+[ \t]+$/.test(line)))) return undefined;
    const patch = toV4a(commit.files, { hunkLines: dedent });
    return patch === toV4a(commit.files) ? undefined : plainTrial(commit, patch);
  },
  "trailing blanks in the file": (commit) =>
    disturbFiles(commit, (line, i) => (i % 3 === 0 && line.trim() !== "" ? `${line}  ` : line)),
  "trailing blanks in the patch": (commit) =>
    mapLines(commit, (line) => (line.startsWith("+") || line.length % 2 === 0 ? line : `${line} `)),
  "hunks reversed": (commit) =>
    updates(commit).some((file) => file.hunks.length > 1)
      ? plainTrial(commit, toV4a(commit.files, { hunks: (hunks) => [...hunks].reverse() }))
      : undefined,
  "code fence": (commit) => plainTrial(commit, `\`\`\`diff\n${toV4a(commit.files)}\`\`\`\n`),
  "prose before": (commit) =>
    plainTrial(commit, `Here is the patch - it fixes the bug:\n\n${toV4a(commit.files)}`),
  heredoc: (commit) => plainTrial(commit, `apply_patch <<'EOF'\n${toV4a(commit.files)}EOF\n`),
  "no envelope": (commit) =>
    plainTrial(commit, toV4a(commit.files).split("\n").slice(1, -2).join("\n").concat("\n")),
  "unified hunk headers": (commit) =>
    plainTrial(
      commit,
      toV4a(commit.files, {
        header: (hunk) => {
          const old = hunk.lines.filter((line) => !line.startsWith("+")).length;
          const added = hunk.lines.filter((line) => !line.startsWith("-")).length;
          return `@@ -${hunk.oldStart},${old} +${hunk.newStart},${added} @@ ${hunk.section}`;
        },
      }),
    ),
  "unified diff": (commit) => plainTrial(commit, commit.diff),
  "unified diff, wrong numbers": (commit) => plainTrial(commit, wrongNumbers(commit.diff)),
  "unified diff, wrong counts": (commit) =>
    plainTrial(commit, commit.diff.replaceAll(/^(@@ -\d+),\d+ (\+\d+),\d+ @@/gm, "$1,9 $2,9 @@")),
  "blank context without prefix": (commit) => mapLines(commit, (line) => (line === " " ? "" : line)),
  "context without prefix": (commit) =>
    hunksOf(commit).some(({ lines }) => lines.some((line) => /^ [A-Za-z]/.test(line)))
      ? mapLines(commit, (line) => (/^ [^ \t+\-@*\\]/.test(line) ? line.slice(1) : line))
      : undefined,
  "typographic quotes in the file": (commit) =>
    hunksOf(commit).some(({ lines }) => lines.some((line) => /^ .*["']/.test(line)))
      ? disturbFiles(commit, (line) => line.replaceAll("'", "’").replaceAll('"', "“"))
      : undefined,
  "tabs in the file, blanks in the patch": (commit) => {
    const tabbed = (line: string): string => {
      const depth = indent(line);
      return "\t".repeat(depth.length / 2) + line.slice(depth.length);
    };
    const even = (line: string): boolean => /^(?: {2})*$/.test(indent(line));
    const whole = (text = ""): boolean => linesOf(text).every(even);
    if (!updates(commit).every((file) => whole(file.before) && whole(file.after))) return undefined;
    // Where no old line of a hunk is indented, its added lines are right as they are.
    const shows = ({ lines }: CommitHunk): boolean =>
      lines.some((line) => /^[ -] +\S/.test(line)) || !lines.some((line) => line.startsWith("+ "));
    if (!hunksOf(commit).every(shows)) return undefined;
    return mapFiles(commit, (text) => joined(linesOf(text).map(tabbed)));
  },
  "other lines above": (commit) =>
    mapFiles(commit, (text) => joined(Array.from({ length: 40 }, (_, i) => `~ inserted ${i}`)) + text),
  "a copy of the file below": (commit) => {
    const files = commit.files.map((file): CommitFile =>
      file.kind === "update"
        ? { ...file, before: `${file.before}${file.before}`, after: `${file.after}${file.before}` }
        : file,
    );
    return plainTrial({ ...commit, files }, toV4a(commit.files));
  },
};
