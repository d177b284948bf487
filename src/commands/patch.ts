/** `camel-mcp patch [FILE|-] [--dry-run] [--json]`: one patch from the shell, with the tool's own engine. */
import { readFile } from "node:fs/promises";
import { CamelError, toCamelError } from "../shared/errors.ts";
import { renderAnswer } from "../tools/apply-patch/answer.ts";
import { applyPatch } from "../tools/apply-patch/apply.ts";

export interface PatchCommandOptions {
  /** Undefined or "-": standard input. */
  file?: string;
  dryRun: boolean;
  json: boolean;
  workspace: string;
  home: string;
  stdin: NodeJS.ReadableStream;
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
  color: boolean;
}

const TERMINAL_DIFF_BUDGET = 100_000;
const PROGRESS_FROM = 100;

/** Returns the exit code: 0 applied, 1 not. */
export async function runPatchCommand(options: PatchCommandOptions): Promise<number> {
  const { dryRun, json, workspace, home, stdout, stderr, color } = options;
  // Waiting for the lock uses timers that don't keep a server alive; a command must stay until it is done.
  const alive = setInterval(() => {}, 60_000);
  try {
    const patch = await readPatch(options);
    const result = await applyPatch({
      root: workspace,
      patch,
      dryRun,
      home,
      progress: (done, total) => {
        if (total >= PROGRESS_FROM && (done === total || done % 50 === 0))
          stderr.write(`${done}/${total} files\n`);
      },
    });
    if (json) {
      stdout.write(`${JSON.stringify(renderAnswer(result).structured)}\n`);
      return 0;
    }
    const { text } = renderAnswer(result, color ? TERMINAL_DIFF_BUDGET : undefined);
    stdout.write(`${color ? colored(text) : text}\n`);
    return 0;
  } catch (thrown) {
    const error = toCamelError(thrown);
    if (json) {
      const { code, message, next, details } = error;
      stdout.write(`${JSON.stringify({ error: { code, message, next, details } })}\n`);
    } else {
      stderr.write(`${error.message}\n${error.next === undefined ? "" : `Next: ${error.next}\n`}`);
    }
    return 1;
  } finally {
    clearInterval(alive);
  }
}

async function readPatch({ file, stdin }: PatchCommandOptions): Promise<string> {
  if (file !== undefined && file !== "-") return readFile(file, "utf8");
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  if (text.trim() === "") {
    throw new CamelError("usage", "No patch was given.", {
      next: "Name a file, or send the patch on standard input.",
    });
  }
  return text;
}

function colored(text: string): string {
  const paint = (code: number, line: string): string => `\u001B[${code}m${line}\u001B[0m`;
  const start = text.indexOf("\n--- ");
  if (start === -1) return text;
  const diff = text.slice(start + 1).split("\n");
  const painted = diff.map((line) => {
    if (line.startsWith("+++") || line.startsWith("---")) return paint(1, line);
    if (line.startsWith("+")) return paint(32, line);
    if (line.startsWith("-")) return paint(31, line);
    return line.startsWith("@@") ? paint(36, line) : line;
  });
  return text.slice(0, start + 1) + painted.join("\n");
}
