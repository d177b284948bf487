import { resolve } from "node:path";
import { isInside } from "../../../shared/paths.ts";
import type { TouchedPath } from "../../tool.ts";
import type { Argument } from "./shell-paths.ts";
import type { Run } from "./strategy.ts";
import { walkFiles } from "./walked-files.ts";

const MOST_NAMED = 5;

/** What a search through folders would read though no argument names it. */
export async function searched(
  run: Run,
  argv: readonly Argument[],
  index: number,
  workspace: string,
  cwd: string,
): Promise<{ paths: TouchedPath[]; outside: string[] }> {
  const words = argv.map((one) => one.text);
  const { isTooMuch, links, refused } = await walkFiles(words, {
    cwd,
    // In a pipeline these read what comes in; only grep -r looks round all the same.
    isPiped: index > 0 && !words[0]?.endsWith("grep"),
    mayRead: (path) => run.context.mayRead(path),
  });
  const granted = [...run.envelope.read, ...run.envelope.write].map((path) => resolve(workspace, path));
  const strayed = links.filter((path) => !granted.some((folder) => isInside(folder, path)));
  return {
    paths: [...refused, ...strayed].slice(0, MOST_NAMED).map((path) => ({ path, access: "read" })),
    outside: [
      ...strayed
        .slice(0, MOST_NAMED)
        .map((path) => `a link leads to ${path}, which it wasn't approved to read`),
      ...(isTooMuch ? [`${words[0]} would go through more files than can be checked`] : []),
    ],
  };
}
