import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runnerSchema } from "../../src/config/cron-schema.ts";
import { createCommandRunner } from "../../src/runners/command.ts";
import { PRESETS } from "../../src/runners/presets.ts";
import { systemClock, type Clock } from "../../src/shared/clock.ts";
import { tempFolder } from "../temp-folder.ts";

const NODE = process.execPath;
const quick: Clock = {
  ...systemClock,
  setTimeout: (callback, milliseconds) => systemClock.setTimeout(callback, milliseconds / 50),
};

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

  it("that leaves something running is not waited for, and what it left is ended", async () => {
    const file = join(await tempFolder("command"), "pid");
    const { text } = await run("", {
      settings: {
        command: { argv: ["/bin/sh", "-c", `sleep 600 & echo $! > '${file}'; echo done`] },
      },
    });
    expect(text).toBe("done");
    const pid = Number(await readFile(file, "utf8"));
    await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false);
  });

  it("is asked to end, then ended, with everything it started", async () => {
    const file = join(await tempFolder("command"), "pids");
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
    await expect.poll(async () => (await pids()).length, { timeout: 20_000 }).toBe(2);
    abort.abort(new Error("time is up"));
    await expect(ended).rejects.toThrow("time is up");
    for (const pid of await pids()) await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false);
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

/** A program of that name on PATH, which does what the script says. */
async function program(preset: keyof typeof PRESETS, script: string) {
  const bin = await tempFolder("command");
  await writeFile(join(bin, preset), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const settings = runnerSchema.parse({ outputBytes: 1_000, command: { preset } });
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
  const runner = createCommandRunner({ settings, env, clock: quick });
  return {
    runs: (over: { onSpent?: (costUsd: number) => void } = {}) =>
      runner("hello", { agentId: "main", depth: 1, ...over }, new AbortController().signal),
  };
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

  it.each([
    [
      "claude",
      '{"type":"result","subtype":"error_max_turns","is_error":true,"total_cost_usd":0.5}',
      "error_max_turns",
    ],
    ["claude", '{"type":"result","subtype":"success","is_error":true,"result":"No credit."}', "No credit."],
    [
      "codex",
      '{"type":"turn.started"}\n{"type":"turn.failed","error":{"message":"usage limit"}}',
      "usage limit",
    ],
    ["gemini", '{"error":{"type":"ApiError","message":"quota","code":429}}', "quota"],
    ["copilot", '{"type":"session.error","data":{"message":"not signed in"}}', "not signed in"],
    ["opencode", '{"type":"error","error":{"name":"APIError","data":{"message":"no key"}}}', "no key"],
  ] as const)("of %s know a failure that its exit code hides: %s", async (preset, printed, reason) => {
    const { runs } = await program(preset, `printf '%s\\n' '${printed}'`);
    const spent: number[] = [];
    await expect(runs({ onSpent: (cost) => spent.push(cost) })).rejects.toThrow(reason);
    expect(Math.max(0, ...spent)).toBe(printed.includes("cost") ? 0.5 : 0);
  });

  it("find the answer after any amount of events", async () => {
    const event = '{"type":"item.completed","item":{"type":"command_execution","text":"0123456789"}}';
    const { runs } = await program(
      "codex",
      `yes '${event}' | head -c 6000000; echo; echo '{"type":"item.completed","item":{"type":"agent_message","text":"the end"}}'`,
    );
    expect(await runs()).toMatchObject({ text: "the end" });
  });

  it("take no prompt as an argument", () => {
    for (const { argv } of Object.values(PRESETS)) expect(argv.join(" ")).not.toMatch(/prompt=|\{/);
  });
});
