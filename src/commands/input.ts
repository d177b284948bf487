import { readFile } from "node:fs/promises";
import { createInterface, type Interface } from "node:readline/promises";
import { Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { CamelError } from "../shared/errors.ts";

/** All of stdin; a person at a terminal is told what is waited for. */
export function readStdin(what: string): Promise<Buffer> {
  if (process.stdin.isTTY) process.stderr.write(`Type or paste ${what}, then Enter and Ctrl-D.\n`);
  return buffer(process.stdin);
}

/** A file named on the command line. */
export async function readNamedFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split(",")[0] : String(error);
    throw new CamelError("not_found", `"${path}" can't be read: ${reason}.`, {
      cause: error,
      next: "Check the path; it is taken from the current folder.",
    });
  }
}

export function question(text: string): Promise<string> {
  return ask(process.stderr, (lines) => lines.question(text));
}

/** Asks at the terminal without showing what is typed. */
export async function hiddenQuestion(text: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const typed = await ask(nowhere, (lines) => {
    const answer = lines.question("");
    // Only now: before, the terminal itself shows what somebody quick types.
    process.stderr.write(text);
    return answer;
  });
  process.stderr.write("\n");
  return typed;
}

async function ask(
  output: NodeJS.WritableStream,
  questionOn: (lines: Interface) => Promise<string>,
): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  // Ctrl-C rejects the question; Ctrl-D only closes, and the process would end well with nothing done.
  const left = new Promise<never>((_resolve, reject) => lines.once("close", () => reject(abandoned())));
  try {
    return (await Promise.race([questionOn(lines), left])).trim();
  } catch {
    throw abandoned();
  } finally {
    left.catch(() => {});
    lines.close();
  }
}

function abandoned(): CamelError {
  return new CamelError("cancelled", "Nothing was done.", { next: "Run the command again to answer." });
}
