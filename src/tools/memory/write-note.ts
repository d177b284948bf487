import { constants } from "node:fs";
import { access, mkdir, open, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CamelError, codeOf } from "../../shared/errors.ts";
import { containedPath, isInside, realpathOfDeepestAncestor } from "../../shared/paths.ts";
import { writeFiles, type FileWriter, type WriteOptions } from "../../stores/checkpoints/write-files.ts";
import { sectionEnd } from "./sections.ts";

export interface NoteTarget extends WriteOptions {
  /** Relative to the root: MEMORY.md, or a Markdown file under memory/. */
  file: string;
}

export function checkNotePath(file: string): void {
  const parts = file.split("/");
  const isAllowed =
    isMain(file) ||
    (file.startsWith("memory/") &&
      /\.md$/i.test(file) &&
      !parts.some((part) => part === "" || part.startsWith(".")));
  if (isAllowed) return;
  throw new CamelError("path_outside_root", `"${file}" is not a memory file that can be written.`, {
    next: "Use MEMORY.md or a .md file under memory/, such as memory/projects.md.",
  });
}

/** Adds `text` as its own paragraph at the end, or at the end of the section under `heading`. Returns its first line. */
export async function appendNote(
  target: NoteTarget,
  text: string,
  heading?: string,
): Promise<{ line: number; checkpoint?: string }> {
  return locked(target, async (path, writer) => {
    const old = (await readNote(path, target.file)) ?? "";
    const lineEnd = old.includes("\r\n") ? "\r\n" : "\n";
    const note = text.replaceAll("\r\n", "\n").trim();
    const lines = old === "" ? [] : old.replace(/\r?\n$/, "").split(/\r?\n/);
    const section = heading === undefined ? undefined : sectionEnd(lines, heading);
    if (section === undefined || section === lines.length) {
      const open = old === "" ? 0 : /(?:\r?\n){2}$/.test(old) ? 0 : old.endsWith("\n") ? 1 : 2;
      const title = heading !== undefined && section === undefined ? `## ${heading}\n\n` : "";
      const lead = `${"\n".repeat(open)}${title}`;
      await appendBytes(path, `${lead}${note}\n`.replaceAll("\n", lineEnd));
      // Nothing was replaced, so there is nothing to keep.
      return { line: (old + lead).split("\n").length };
    }
    // Only the new lines get a line end of ours: the others keep what they have, mixed or not.
    const kept = old.split("\n");
    const at = lineStart(kept, section);
    const inserted = `\n${note}\n`.replaceAll("\n", lineEnd);
    const checkpoint = await replaceText(writer, path, old, old.slice(0, at) + inserted + old.slice(at));
    return { line: section + 2, checkpoint };
  });
}

/** Replaces the one place where `oldText` stands; with "" it forgets it. The old file is kept as a checkpoint. */
export async function replaceNote(
  target: NoteTarget,
  oldText: string,
  newText: string,
): Promise<{ line: number; checkpoint: string }> {
  return locked(target, async (path, writer) => {
    const old = await readNote(path, target.file);
    if (old === undefined) {
      throw new CamelError("not_found", `There is no ${target.file}.`, {
        next: "Search for the text with memory_search and name the file it shows.",
      });
    }
    const isCrlf = old.includes("\r\n");
    const asWritten = (text: string): string =>
      isCrlf ? text.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n") : text;
    const wanted = old.includes(oldText) ? oldText : asWritten(oldText);
    const at = old.indexOf(wanted);
    if (wanted === "" || at < 0) {
      throw new CamelError("not_found", `The text to change is not in ${target.file}.`, {
        next: "Read the file with memory_get and send the exact text.",
      });
    }
    if (old.indexOf(wanted, at + 1) >= 0) {
      throw new CamelError("conflict", `The text to change stands more than once in ${target.file}.`, {
        next: "Send more of the surrounding text, so that it fits one place only.",
      });
    }
    let end = at + wanted.length;
    // A forgotten line goes with its line break.
    const isWholeLine = (at === 0 || old[at - 1] === "\n") && !wanted.endsWith("\n");
    if (newText === "" && isWholeLine) {
      end += /^\r?\n/.exec(old.slice(end, end + 2))?.[0].length ?? 0;
      // And a forgotten paragraph with one of the two empty lines around it.
      if (/(?:^|\r?\n)\r?\n$/.test(old.slice(0, at)))
        end += /^\r?\n/.exec(old.slice(end, end + 2))?.[0].length ?? 0;
    }
    const changed = old.slice(0, at) + asWritten(newText) + old.slice(end);
    const checkpoint = await replaceText(writer, path, old, changed);
    return { line: old.slice(0, at).split("\n").length, checkpoint };
  });
}

/** The file's text; undefined where there is none. Bytes that aren't text would not survive being written again. */
async function readNote(path: string, file: string): Promise<string | undefined> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new CamelError("not_text", `${file} is not UTF-8 text.`, {
      next: "Write to another file.",
      cause: error,
    });
  }
}

/** One write at the end: an editor or another tool that appends at the same time loses nothing. */
async function appendBytes(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const handle = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    const { size } = await handle.stat();
    try {
      await handle.writeFile(text);
      await handle.sync();
    } catch (error) {
      // A full disk must not leave half a note.
      await handle.truncate(size).catch(() => {});
      throw error;
    }
  } finally {
    await handle.close();
  }
}

async function replaceText(writer: FileWriter, path: string, old: string, text: string): Promise<string> {
  const mode = (await stat(path)).mode & 0o7777;
  return writer.commit([
    { path, before: { bytes: Buffer.from(old), mode }, after: { bytes: Buffer.from(text), mode } },
  ]);
}

async function locked<T>(
  target: NoteTarget,
  work: (path: string, writer: FileWriter) => Promise<T>,
): Promise<T> {
  checkNotePath(target.file);
  await mkdir(target.root, { recursive: true });
  return writeFiles(target, async (writer) => {
    const file = isMain(target.file) ? await existingMain(writer.root) : target.file;
    const path = await containedPath(writer.root, file, { rootName: "the memory folder" });
    // A link under memory/ must not turn another file of the root (a workspace, say) into memory.
    const notes = await realpathOfDeepestAncestor(join(writer.root, "memory"));
    if (!isMain(file) && !isInside(notes, path)) {
      throw new CamelError("path_outside_root", `"${file}" is a link to a file that is not memory.`, {
        next: "Write to another file under memory/.",
      });
    }
    return work(path, writer);
  });
}

function isMain(file: string): boolean {
  return file === "MEMORY.md" || file === "memory.md";
}

/** Search takes MEMORY.md and memory.md for one file: a second one beside the first would never be found. */
async function existingMain(root: string): Promise<string> {
  const exists = (name: string): Promise<boolean> =>
    access(join(root, name)).then(
      () => true,
      () => false,
    );
  return !(await exists("MEMORY.md")) && (await exists("memory.md")) ? "memory.md" : "MEMORY.md";
}

function lineStart(lines: readonly string[], count: number): number {
  let at = 0;
  for (const line of lines.slice(0, count)) at += line.length + 1;
  return at;
}
