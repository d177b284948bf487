import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connectCamel, type CamelClient } from "../client/index.ts";
import type { CommandContext } from "../cli.ts";
import { DEMO_FILES, DEMO_STEPS, type DemoStep } from "./demo-steps.ts";

/** A short tour against a real server process, in a folder that is thrown away. */
export async function demo({ print }: CommandContext): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "camel-demo-"));
  const [workspace, home] = [join(folder, "workspace"), join(folder, "home")];
  for (const [path, content] of Object.entries(DEMO_FILES)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  const asked: string[] = [];
  const started = performance.now();
  const client = await connectCamel({
    name: "camel-demo",
    command: process.execPath,
    args: [process.argv[1] ?? "", "--workspace", workspace, "--home", home],
    onAsk: async ({ message }) => {
      asked.push(message);
      return { action: "accept", content: { approve: true } };
    },
  });
  try {
    const tools = await client.tools();
    const time = Math.round(performance.now() - started);
    print(`A real server started and listed its ${tools.length} tools in ${time} ms:\n`);
    print(`  ${tools.map(({ name }) => name).join(", ")}\n`);
    const failed: string[] = [];
    let last: Record<string, unknown> = {};
    for (const step of DEMO_STEPS) {
      const { isAsPlanned, structured } = await show(step, { client, last, asked, print });
      if (!isAsPlanned) failed.push(step.what);
      if (step.file !== undefined) {
        const { path, holds } = step.file;
        const text = await readFile(join(workspace, path), "utf8");
        if (!text.includes(holds)) failed.push(`${path} doesn't hold "${holds}".`);
      }
      last = { ...last, ...structured };
    }
    if (failed.length > 0) {
      print(`\nThe demo did not go as it should: ${failed.join(" ")}\n`);
      return 1;
    }
    print(
      "\nDone; nothing of it is left. Register it in your host with: npx camel-mcp install claude-code (--list shows others)\n",
    );
    return 0;
  } finally {
    await client.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Stage {
  client: CamelClient;
  /** What earlier steps answered; a step may need an id from there. */
  last: Record<string, unknown>;
  asked: string[];
  print: (text: string) => void;
}

async function show(
  { what, tool, args, refusal, isLong, isAsked }: DemoStep,
  { client, last, asked, print }: Stage,
): Promise<{ isAsPlanned: boolean; structured: Record<string, unknown> }> {
  const given = typeof args === "function" ? args(last) : args;
  const { text, structured = {}, isError } = await client.call(tool, given);
  const questions = asked.splice(0);
  print(`\n${what}\n${indented(request(tool, given), "> ")}\n`);
  for (const question of questions) print(`${indented(question, "? ")}\n? (the demo says yes)\n`);
  print(`${indented(isLong === true ? `…\n${text.split("\n").slice(-2).join("\n")}` : text, "  ")}\n`);
  const isAnswer = refusal === undefined ? !isError : isError && text.includes(refusal);
  return { isAsPlanned: isAnswer && questions.length > 0 === (isAsked === true), structured };
}

const WIDTH = 110;

/** A call as a person reads it; what is long is cut, except a patch. */
function request(tool: string, args: Record<string, unknown>): string {
  const parts = Object.entries(args).map(([name, value]) => {
    const shown = typeof value === "string" ? value : JSON.stringify(value);
    if (shown.includes("\n")) return `${name}:\n${shown}`;
    return `${name}: ${shown.length > WIDTH ? `${shown.slice(0, WIDTH)}…` : shown}`;
  });
  return `${tool}  ${parts.join("  ")}`;
}

function indented(text: string, by: string): string {
  return text.replace(/^(?=.)/gm, by);
}
