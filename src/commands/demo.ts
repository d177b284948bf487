import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectCamel } from "../client/index.ts";
import type { CommandContext } from "../cli.ts";

/** A short tour against a real server process, in a folder that is thrown away. */
export async function demo({ print }: CommandContext): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "camel-demo-"));
  const workspace = join(folder, "workspace");
  const home = join(folder, "home");
  await mkdir(join(workspace, "memory"), { recursive: true });
  await mkdir(home, { recursive: true });
  await writeFile(
    join(workspace, "MEMORY.md"),
    "# Memory\n\n- The user prefers tabs.\n- Releases go out on Tuesdays.\n",
  );
  await writeFile(join(workspace, ".env"), "SECRET=1\n");
  await writeFile(
    join(home, "config.yaml"),
    'rules:\n  - { tool: "memory_*", path: "memory/private/**", decision: deny, reason: private notes }\n',
  );

  const started = performance.now();
  const client = await connectCamel({
    name: "camel-demo",
    command: process.execPath,
    args: [entryPoint(), "--workspace", workspace, "--home", home],
  });
  try {
    const tools = await client.tools();
    print(
      `A real server started and listed ${tools.length} tools in ${Math.round(performance.now() - started)} ms.\n`,
    );
    for (const tool of tools) print(`  ${tool.name}: ${tool.title ?? ""}\n`);
    const show = async (what: string, name: string, args: Record<string, unknown>): Promise<boolean> => {
      const result = await client.call(name, args);
      print(`\n${what}\n> ${name} ${JSON.stringify(args)}\n${result.text.replace(/^/gm, "  ")}\n`);
      return result.isError;
    };
    const outcomes = [
      !(await show("An agent reads its memory:", "memory_get", { filePath: "MEMORY.md" })),
      await show("It can't be talked out of its folder:", "memory_get", { filePath: "memory/../.env" }),
      await show("Policy refuses, and says which rule:", "memory_get", {
        filePath: "memory/private/diary.md",
      }),
      await show("A wrong call is told how to be right:", "memory_get", { path: "MEMORY.md" }),
    ];
    print(
      `\n${outcomes.every(Boolean) ? "Done. Register it in your host: claude mcp add camel -- npx -y camel-mcp" : "The demo did not go as it should."}\n`,
    );
    return outcomes.every(Boolean) ? 0 : 1;
  } finally {
    await client.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function entryPoint(): string {
  return process.argv[1] ?? fileURLToPath(import.meta.url);
}
