import { z } from "zod";
import type { ToolContext } from "../tools/context.ts";
import { commandsIn } from "../tools/dynamic/command-policy.ts";
import { pathsOf } from "../tools/dynamic/strategies/shell-paths.ts";
import { walkFiles } from "../tools/dynamic/strategies/walked-files.ts";
import type { ToolDef, TouchedPath, Touches } from "../tools/tool.ts";

/** Stands for a tool that runs the line, so that policy judges the files as it would judge that tool's. */
export function toolThatRuns(line: string): ToolDef {
  return {
    name: "policy_command",
    title: "A command line",
    description: "Only asked about, never run.",
    tier: "core",
    effect: "read",
    schema: z.object({}),
    touches: (_input, context) => filesOf(line, context),
    execute: () => Promise.resolve(""),
  };
}

async function filesOf(line: string, context: ToolContext): Promise<Touches> {
  const workspace = await context.workspace("read");
  const paths: TouchedPath[] = [];
  const outside: string[] = [];
  for (const [index, argv] of commandsIn(line).entries()) {
    const named = await pathsOf(
      argv.map((text) => ({ text, from: "line" })),
      { cwd: workspace, workspace, granted: { read: ["."], write: [] } },
    );
    paths.push(...named.map(({ path, access }) => ({ path, access })));
    outside.push(...named.filter((one) => one.isOutside).map((one) => one.argument));
    const walked = await walkFiles(argv, {
      cwd: workspace,
      isPiped: index > 0 && !argv[0]?.endsWith("grep"),
      mayRead: (path) => context.mayRead(path),
    });
    paths.push(...walked.refused.map((path) => ({ path, access: "read" as const })));
    if (walked.isTooMuch) outside.push("more files than can be checked");
  }
  return outside.length === 0
    ? { paths }
    : {
        paths,
        approval: { state: "needed", why: `it would reach ${outside.join(", ")}, outside the workspace` },
      };
}
