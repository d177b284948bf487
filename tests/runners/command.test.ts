import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runnerSchema } from "../../src/config-cron.ts";
import { createCommandRunner } from "../../src/runners/command.ts";
import { PRESETS } from "../../src/runners/presets.ts";
import { systemClock, type Clock } from "../../src/shared/clock.ts";

const NODE = process.execPath;
const quick: Clock = {
  ...systemClock,
  setTimeout: (callback, milliseconds) => systemClock.setTimeout(callback, milliseconds / 50),
};

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "camel-command-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

function run(
  script: string,
  over: { prompt?: string; signal?: AbortSignal; settings?: object; env?: NodeJS.ProcessEnv } = {},
) {
  const settings = runnerSchema.parse({ command: { argv: [NODE, "-e", script] }, ...over.settings });
  const runner = createCommandRunner({ settings, env: { ...process.env, ...over.env }, clock: quick });
  return runner(
    over.prompt ?? "hello",
    { agentId: "main", depth: 3, sessionId: "run_x_1" },
    over.signal ?? new AbortController().signal,
  );
}

describe("a program", () => {
  it("gets the prompt on stdin and its environment without a nested session's mark", async () => {
    const { text } = await run(
      `let all="";process.stdin.on("data",(c)=>all+=c).on("end",()=>console.log(JSON.stringify([all,process.env.CLAUDECODE??null,process.env.CAMEL_DEPTH,process.env.CAMEL_RUN,process.argv.length])))`,
      { prompt: "do `this` $(now)\n", env: { CLAUDECODE: "1" } },
    );
    expect(JSON.parse(text)).toEqual(["do `this` $(now)\n", null, "3", "run_x_1", 1]);
  });

  it("that never reads its prompt is no problem", async () => {
    const { text } = await run(`console.log("done")`, { prompt: "x".repeat(1_000_000) });
    expect(text).toBe("done");
  });

  it("that fails is told with its code and its own words", async () => {
    await expect(run(`console.error("no money left");process.exit(7)`)).rejects.toThrow(
      /code 7[^]*no money left/,
    );
  });

  it("that doesn't exist is told so", async () => {
    await expect(run("", { settings: { command: { argv: ["/nonexistent/agent"] } } })).rejects.toThrow(
      /could not be started/,
    );
  });

  it("that never stops talking is cut, and doesn't hang", async () => {
    const answer = await run(`process.stdout.write("x".repeat(3_000_000))`, {
      settings: {
        outputBytes: 1000,
        command: { argv: [NODE, "-e", `process.stdout.write("x".repeat(3_000_000))`] },
      },
    });
    expect(answer.cut).toBe(true);
    expect(answer.text).toHaveLength(1000);
  });

  it("is asked to end, then ended, with everything it started", async () => {
    const file = join(await folder(), "pids");
    const grandchild = `process.on("SIGTERM",()=>{});require("fs").appendFileSync(${JSON.stringify(file)},process.pid+"\\n");setInterval(()=>{},1000)`;
    const script = `require("child_process").spawn(process.execPath,["-e",${JSON.stringify(grandchild)}],{stdio:"ignore"});${grandchild}`;
    await writeFile(file, "");
    const abort = new AbortController();
    const ended = run(script, { signal: abort.signal });
    const pids = async (): Promise<number[]> =>
      (await readFile(file, "utf8"))
        .split("\n")
        .filter((line) => line !== "")
        .map(Number);
    await expect.poll(async () => (await pids()).length).toBe(2);
    abort.abort(new Error("time is up"));
    await expect(ended).rejects.toThrow("time is up");
    for (const pid of await pids()) await expect.poll(() => isRunning(pid)).toBe(false);
  });
});

async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A zombie that nobody has waited for has ended too.
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return !stat.includes(") Z ");
}

describe("presets", () => {
  it("read the answer and what it cost out of what the programs print", () => {
    expect(
      PRESETS.claude.parse?.(
        'warning: x\n{"type":"result","result":"Hi","total_cost_usd":0.25,"usage":{"input_tokens":3,"output_tokens":4}}\n',
      ),
    ).toEqual({ text: "Hi", usage: { inputTokens: 3, outputTokens: 4, costUsd: 0.25 } });
    expect(
      PRESETS.codex.parse?.(
        '{"type":"thread.started"}\n{"type":"item.completed","item":{"type":"agent_message","text":"first"}}\n{"type":"item.completed","item":{"type":"agent_message","text":"last"}}\n{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":6}}\n',
      ),
    ).toEqual({ text: "last", usage: { inputTokens: 5, outputTokens: 6 } });
    expect(
      PRESETS.gemini.parse?.(
        '{\n "response": "Hi",\n "stats": {"models": {"a": {"tokens": {"prompt": 1, "candidates": 2}}, "b": {"tokens": {"prompt": 3, "candidates": 4}}}}\n}',
      ),
    ).toEqual({ text: "Hi", usage: { inputTokens: 4, outputTokens: 6 } });
    expect(
      PRESETS.opencode.parse?.(
        '{"type":"text","part":{"text":"Hi"}}\n{"type":"step_finish","part":{"cost":0.5,"tokens":{"input":1,"output":2}}}\n',
      ),
    ).toEqual({ text: "Hi", usage: { inputTokens: 1, outputTokens: 2, costUsd: 0.5 } });
    expect(
      PRESETS.copilot.parse?.(
        '{"type":"assistant.message","data":{"content":""}}\n{"type":"assistant.message","data":{"content":"Hi"}}\n',
      ),
    ).toEqual({ text: "Hi" });
    expect(PRESETS.claude.parse?.("not json")).toBeUndefined();
  });

  it("take no prompt as an argument", () => {
    for (const { argv } of Object.values(PRESETS)) expect(argv.join(" ")).not.toMatch(/prompt=|\{/);
  });
});
