import { isUtf8 } from "node:buffer";
import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { CamelError } from "../shared/errors.ts";
import { readNamedFile, readStdin } from "./input.ts";
import { camelOptions, usageError } from "./options.ts";
import { printResult, shellCall } from "./shell-call.ts";

/** `patch [FILE|-] [--dry-run]`: the apply_patch tool from the shell, policy included. Exit 0 applied, 1 not. */
export async function patch(context: CommandContext): Promise<number> {
  const { words, flags } = context;
  const [file = "-"] = words;
  const bytes = file === "-" ? await readStdin("the patch") : await readNamedFile(file);
  if (!isUtf8(bytes)) {
    throw new CamelError("not_text", "The patch is not UTF-8 text, so what it adds would be written wrong.", {
      next: "Convert it to UTF-8 first.",
    });
  }
  const source = bytes.toString("utf8");
  if (source.trim() === "")
    throw usageError("No patch was given: name a file, or send it on standard input.");
  const camel = await createCamel({ ...camelOptions(context), workspace: flags.workspace ?? process.cwd() });
  const result = await camel.dispatcher.call({
    ...shellCall(context, "apply_patch", { patch: source, dry_run: flags["dry-run"] === true }),
    progress: ({ progress, total }) => process.stderr.write(`${progress}/${total ?? "?"} files\n`),
  });
  await camel.close();
  // hasColors also hears NO_COLOR.
  const paints = process.stdout.isTTY && process.stdout.hasColors();
  return printResult(context, paints ? { ...result, text: colored(result.text) } : result);
}

function colored(answer: string): string {
  const paint = (code: number, line: string): string => `\u001B[${code}m${line}\u001B[0m`;
  const start = answer.indexOf("\n--- ");
  if (start === -1) return answer;
  const diff = answer.slice(start + 1).split("\n");
  const painted = diff.map((line) => {
    if (line.startsWith("+++") || line.startsWith("---")) return paint(1, line);
    if (line.startsWith("+")) return paint(32, line);
    if (line.startsWith("-")) return paint(31, line);
    return line.startsWith("@@") ? paint(36, line) : line;
  });
  return answer.slice(0, start + 1) + painted.join("\n");
}
