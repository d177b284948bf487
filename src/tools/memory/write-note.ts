import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../shared/clock.ts";
import { replaceFile } from "../../shared/durable.ts";
import { CamelError } from "../../shared/errors.ts";
import { withLock } from "../../shared/lock.ts";
import { containedPath } from "../../shared/paths.ts";

const LOCK_WAIT_MS = 15_000;

export interface NoteTarget {
  root: string;
  home: string;
  clock: Clock;
  /** Relative to the root: MEMORY.md, or a Markdown file under memory/. */
  file: string;
}

export function checkNotePath(file: string): void {
  const parts = file.split("/");
  const isAllowed =
    file === "MEMORY.md" ||
    (file.startsWith("memory/") &&
      /\.md$/i.test(file) &&
      !parts.some((part) => part === "" || part.startsWith(".")));
  if (isAllowed) return;
  throw new CamelError("path_outside_root", `"${file}" is not a memory file.`, {
    next: "Use MEMORY.md or a .md file under memory/, such as memory/projects.md.",
  });
}

/** Adds `text` as its own paragraph at the end, or at the end of the section under `heading`. Returns its first line. */
export async function appendNote(target: NoteTarget, text: string, heading?: string): Promise<number> {
  return locked(target, async (path) => {
    const old = await readFile(path, "utf8").catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
      throw error;
    });
    const note = text.replaceAll("\r\n", "\n").trim();
    const lines = old === "" ? [] : old.replace(/\n$/, "").split("\n");
    const section = heading === undefined ? undefined : sectionEnd(lines, heading);
    if (section === undefined || section === lines.length) {
      const lead = old === "" ? "" : old.endsWith("\n\n") ? "" : old.endsWith("\n") ? "\n" : "\n\n";
      const title = heading !== undefined && section === undefined ? `## ${heading}\n\n` : "";
      // One write at the end: an editor or another tool that appends at the same time loses nothing.
      await mkdir(dirname(path), { recursive: true });
      const handle = await open(
        path,
        constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW,
        0o600,
      );
      try {
        await handle.writeFile(`${lead}${title}${note}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      return (old + lead + title).split("\n").length;
    }
    lines.splice(section, 0, "", ...note.split("\n"));
    await replaceFile(path, `${lines.join("\n")}\n`, { mode: (await stat(path)).mode & 0o777 });
    return section + 2;
  });
}

/** Replaces the one place where `oldText` stands; with "" it forgets it. The old file is kept as a checkpoint. */
export async function replaceNote(
  target: NoteTarget,
  oldText: string,
  newText: string,
): Promise<{ line: number; checkpoint: string }> {
  return locked(target, async (path) => {
    const old = await readFile(path, "utf8");
    const at = old.indexOf(oldText);
    if (oldText === "" || at < 0) {
      throw new CamelError("not_found", `The text to change is not in ${target.file}.`, {
        next: "Read the file with memory_get and send the exact text.",
      });
    }
    if (old.indexOf(oldText, at + 1) >= 0) {
      throw new CamelError("conflict", `The text to change stands more than once in ${target.file}.`, {
        next: "Send more of the surrounding text, so that it fits one place only.",
      });
    }
    const checkpoint = join(
      target.home,
      "checkpoints",
      "memory",
      `${createHash("sha256").update(`${path}\0${old}`).digest("hex").slice(0, 24)}.md`,
    );
    await replaceFile(checkpoint, old);
    let end = at + oldText.length;
    // A forgotten line goes with its line break.
    if (newText === "" && (at === 0 || old[at - 1] === "\n") && old[end] === "\n") end += 1;
    await replaceFile(path, old.slice(0, at) + newText + old.slice(end), {
      mode: (await stat(path)).mode & 0o777,
    });
    return { line: old.slice(0, at).split("\n").length, checkpoint };
  });
}

async function locked<T>(target: NoteTarget, work: (path: string) => Promise<T>): Promise<T> {
  checkNotePath(target.file);
  await mkdir(target.root, { recursive: true });
  const path = await containedPath(target.root, target.file, { rootName: "the memory folder" });
  const name = createHash("sha256").update(path).digest("hex").slice(0, 24);
  return withLock(
    join(target.home, "locks", `memory-${name}.lock`),
    { clock: target.clock, timeoutMs: LOCK_WAIT_MS, purpose: "writing to this memory" },
    () => work(path),
  );
}

/** The line index after the section's last line of text; undefined where no such heading stands. */
function sectionEnd(lines: readonly string[], heading: string): number | undefined {
  const wanted = heading.trim().toLowerCase();
  const start = lines.findIndex(
    (line) =>
      /^#{1,6}\s/.test(line) &&
      line
        .replace(/^#+\s*/, "")
        .trim()
        .toLowerCase() === wanted,
  );
  if (start < 0) return undefined;
  const level = /^#+/.exec(lines[start] ?? "")?.[0].length ?? 1;
  let end = lines.findIndex((line, at) => at > start && (/^(#+)\s/.exec(line)?.[1]?.length ?? 7) <= level);
  if (end < 0) return lines.length;
  while (end > start + 1 && lines[end - 1]?.trim() === "") end -= 1;
  return end;
}
