import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { configSchema, type Config } from "../../src/config/schema.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { silentLogger } from "../../src/shared/log.ts";
import type { ToolContext } from "../../src/tools/context.ts";
import type { ToolDef, ToolOutput } from "../../src/tools/tool.ts";
import { removeFolder } from "../temp-folder.ts";

export interface Place {
  root: string;
  home: string;
  write(path: string, text: string | Uint8Array): Promise<void>;
  call(tool: ToolDef, input: Record<string, unknown>): Promise<ToolOutput>;
  remove(): Promise<void>;
}

export async function createPlace(memory: Partial<Config["memory"]> = {}): Promise<Place> {
  const base = await mkdtemp(join(tmpdir(), "camel-memory-"));
  const root = join(base, "root");
  const home = join(base, "home");
  await mkdir(join(root, "memory"), { recursive: true });
  const background: Promise<void>[] = [];
  const context = {
    caller: { agentId: "main", depth: 0, client: "test", transport: "library", sessionId: "s" },
    callId: "c",
    signal: new AbortController().signal,
    clock: { ...systemClock, now: () => new Date(2026, 2, 9, 23, 30).getTime() },
    log: silentLogger,
    workspace: async () => root,
    memoryRoot: async () => root,
    sharedMemory: () => [],
    mayRead: async () => true,
    home,
    env: () => undefined,
    settings: () => configSchema.parse({ memory }),
    progress: () => {},
    later: (work: Promise<void>) => void background.push(work),
  } as unknown as ToolContext;
  return {
    root,
    home,
    async write(path, text) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    },
    async call(tool, input) {
      const result = await tool.execute(tool.schema.parse(input), context);
      return typeof result === "string" ? { text: result } : result;
    },
    async remove() {
      await Promise.all(background);
      // An index may still be saving itself.
      await removeFolder(base);
    },
  };
}
