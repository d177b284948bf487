import { execFile } from "node:child_process";
import { chmod, readFile, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { Camel } from "../../src/camel.ts";
import { createCronStore } from "../../src/stores/cron.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { planInstallation } from "../../src/commands/cron-install.ts";
import { jobAt } from "./cron/job.ts";
import { CLI, CLIENTS, call, connect, runCli, sandbox, startCamel, type Sandbox } from "../harness.ts";

const COMMAND = `runner:
  use: command
  command: { argv: ["/bin/sh", "-c", "cat; echo; echo answered"] }
cron: { minIntervalSeconds: 60 }
`;

async function start(config = ""): Promise<{ box: Sandbox; camel: Camel }> {
  const box = await sandbox({ "home/config.yaml": config });
  return { box, camel: await startCamel(box) };
}

const CLAIM = {
  slot: 1,
  newestSlot: 1,
  runs: 1,
  manual: false,
  claimedAt: 1,
  owner: { pid: 1, host: "h", socket: "s" },
};

const cron = (camel: Camel, args: Record<string, unknown>, over: Parameters<typeof call>[3] = {}) =>
  call(camel, "cron", args, over);

describe("every client", () => {
  it.each(CLIENTS)("%s adds, lists, runs and removes a job", async (kind) => {
    const box = await sandbox();
    const client = await connect(kind, box);
    const use = async (args: Record<string, unknown>): Promise<string> => {
      const result = await client.callTool({ name: "cron", arguments: args });
      expect(result.isError ?? false).toBe(false);
      expect(result.structuredContent).toMatchObject({ action: args["action"] });
      return result.content[0]?.text ?? "";
    };
    const added = await use({
      action: "add",
      id: "standup",
      schedule: "0 9 * * 1-5",
      prompt: "Write the standup.",
      tz: "Europe/Berlin",
    });
    expect(added).toMatch(/^Added standup: repeating, at 09:00, Monday through Friday \(Europe\/Berlin\)\./);
    expect(added).toMatch(
      /Next: \w+ \d{4}-\d\d-\d\d 09:00:00 CES?T = \d{4}-\d\d-\d\dT0[78]:00:00Z\nthen: .*\nthen: /,
    );
    expect(await use({ action: "list" })).toContain("standup");
    expect(await use({ action: "run", id: "standup" })).toContain("Write the standup.");
    expect(await use({ action: "remove", id: "standup" })).toContain("Removed standup");
    expect(await use({ action: "list" })).toMatch(/^No jobs\./);
  });
});

describe("add", () => {
  it("says who runs it, where the result is, and what happens when nobody is there", async () => {
    const { camel } = await start();
    const { text } = await cron(camel, { action: "add", schedule: "+20m", prompt: "Check the build." });
    expect(text).toMatch(/^Added job_[0-9a-f]{8}: one-shot, once, /);
    expect(text).toContain("Run by you");
    expect(text).toContain("cron list shows it");
    expect(text).toContain("camel-mcp cron install");
    expect(text).toMatch(/Times that pass while none is there: one run makes up for them/);
  });

  it.each([
    [{ schedule: "0 0 30 2 *" }, /never happens/],
    [{ schedule: "1h", tz: "Moon/Base" }, /not a time zone/],
    [{ schedule: "1h", tz: "Berlin" }, /Did you mean Europe\/Berlin\?/],
    [{ schedule: "1h", tz: "America/NewYork" }, /Did you mean America\/New_York\?/],
    [{ schedule: "1h", tz: "Pacific Time" }, /Did you mean America\/Los_Angeles\?/],
    [{ schedule: "1h", tz: "UTC+2" }, /Did you mean Etc\/GMT-2\?/],
    [{ schedule: "every day at 9" }, /Did you mean "0 9 \* \* \*"\?/],
    [{ schedule: "2020-01-01T00:00:00Z" }, /in the past/],
    [{ schedule: "2027-02-30T09:00" }, /does not exist/],
    [{ schedule: "soon" }, /not a schedule/],
    [{ schedule: "1h", runner: "openai" }, /runner openai is not configured/],
    [{ schedule: "1h", until: "2020-01-01" }, /after until/],
    [{ schedule: "1h", timeout: "long" }, /not a length of time/],
    [{ schedule: "1h", timeout: "0s" }, /not between 1s and 1d/],
    [{ schedule: "1h", jitter: "2h" }, /more than an hour/],
    [{ schedule: "1h", id: "Not An Id" }, /not a job id/],
    [{ schedule: "1h", maxRuns: 0 }, /maxRuns/],
    [{ schedule: "1h", prompt: " " }, /"prompt" is needed/],
    [{}, /"schedule" is needed/],
  ])("%j is refused with the reason and a correction", async (args, reason) => {
    const { camel } = await start();
    const result = await cron(camel, { action: "add", prompt: "x", ...args });
    expect(result).toMatchObject({ isError: true, code: "invalid_input" });
    expect(result.text).toMatch(reason);
    expect(result.text.split("\n").length).toBeGreaterThan(1);
    expect((await cron(camel, { action: "list" })).text).toMatch(/^No jobs/);
  });

  it.each([
    [{ schedule: "2090-03-26T02:30" }, /Next: Sun 2090-03-26 03:00:00 [^]*skips 2090-03-26T02:30/],
    [{ schedule: "2090-10-29T02:30" }, /02:30:00 [^]*shows 2090-10-29T02:30 twice/],
    [{ schedule: "2090-03-26T03:30" }, /03:30:00 .*\nRun by/],
    [{ schedule: "2090-10-29T02:30+01:00" }, /02:30:00 .*\nRun by/],
    [{ schedule: "1h", maxRuns: 2 }, /Next: .*\nthen: .*\nRun by/],
    [{ schedule: "0 9 * * *", tz: "europe/BERLIN" }, /\(Europe\/Berlin\)/],
  ])("%j: says what is not to be seen from the times, and no time too many", async (args, expected) => {
    const { camel } = await start();
    const added = await cron(camel, { action: "add", prompt: "x", tz: "Europe/Berlin", ...args });
    expect(added.text).toMatch(expected);
  });

  it("refuses to spend money every second, but not to fill an inbox", async () => {
    const { camel } = await start(COMMAND);
    const often = await cron(camel, { action: "add", schedule: "*/10 * * * * *", prompt: "x" });
    expect(often.text).toMatch(/fires every 10 seconds; .*every minute is the most often/);
    expect(
      (await cron(camel, { action: "add", schedule: "10s", prompt: "x", runner: "host" })).isError,
    ).toBeUndefined();
  });

  it("refuses an id that is taken, by a file or by the config", async () => {
    const { camel } = await start("cron: { jobs: [{ id: fixed, schedule: 1h, prompt: x }] }");
    const add = (id: string) => cron(camel, { action: "add", id, schedule: "1h", prompt: "x" });
    expect((await add("mine")).isError).toBeUndefined();
    expect((await add("mine")).code).toBe("already_exists");
    expect((await add("fixed")).code).toBe("already_exists");
  });
});

describe("jobs", () => {
  it("are changed, paused and resumed; what isn't given stays", async () => {
    const { camel } = await start();
    await cron(camel, {
      action: "add",
      id: "a",
      name: "First",
      schedule: "1h",
      prompt: "one",
      overlap: "queue",
    });
    const changed = await cron(camel, { action: "update", id: "a", schedule: "@daily", prompt: "two" });
    expect(changed.structured).toMatchObject({ job: { name: "First", schedule: "@daily", prompt: "two" } });
    expect((await cron(camel, { action: "pause", id: "a" })).structured).toMatchObject({
      job: { enabled: false, next: null },
    });
    expect((await cron(camel, { action: "list" })).text).toContain("paused");
    expect((await cron(camel, { action: "update", id: "a", prompt: "three" })).text).toContain(
      "It is paused",
    );
    expect((await cron(camel, { action: "resume", id: "a" })).structured).toMatchObject({
      job: { enabled: true },
    });
  });

  it("of the config can't be removed, and it is said where they stand", async () => {
    const { camel, box } = await start(
      "cron:\n  jobs:\n    - id: fixed\n      schedule: 1h\n      prompt: x\n",
    );
    expect((await cron(camel, { action: "list" })).structured).toMatchObject({
      jobs: [{ id: "fixed", source: "config" }],
    });
    const refused = await cron(camel, { action: "remove", id: "fixed" });
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain(`${join(box.home, "config.yaml")}:3`);
    expect((await cron(camel, { action: "pause", id: "fixed" })).structured).toMatchObject({
      job: { enabled: false },
    });
  });

  it.each([
    [
      "- { id: a, schedule: '0 0 30 2 *', prompt: x }",
      /config\.yaml:3:\d+: cron\.jobs\.0\.schedule: .*never happens/,
    ],
    ["- { id: a, schedule: 1h, tz: Moon/Base, prompt: x }", /not a time zone/],
    ["- { id: a, schedule: 1h, until: never, prompt: x }", /jobs\.0\.until: .*not an ISO/],
    [
      "- { id: a, schedule: 1h, prompt: x }\n    - { id: a, schedule: 2h, prompt: y }",
      /config\.yaml:4:.*twice/,
    ],
  ])("of the config that can't be right stop the start: %s", async (job, reason) => {
    const box = await sandbox({ "home/config.yaml": `cron:\n  jobs:\n    ${job}\n` });
    await expect(startCamel(box)).rejects.toThrow(reason);
  });

  it("of the config come and go with the file", async () => {
    const { camel, box } = await start("cron: { jobs: [{ id: one, schedule: 1h, prompt: x }] }");
    await box.write("home/config.yaml", "cron: { jobs: [{ id: two, schedule: 2h, prompt: x }] }\n# changed");
    await expect
      .poll(async () => {
        await camel.refresh();
        return (await cron(camel, { action: "list" })).text;
      })
      .toMatch(/two: every 2 hours/);
  });

  it("that a workspace file brings are ignored, like its runner", async () => {
    const box = await sandbox({
      "workspace/.camelagi/config.yaml":
        "cron: { jobs: [{ id: evil, schedule: 1s, prompt: x }] }\nrunner: { use: command, command: { argv: [sh] } }",
    });
    const camel = await startCamel(box);
    expect((await cron(camel, { action: "list" })).text).toMatch(/^No jobs/);
    expect(camel.config().settings.runner.use).toBe("host");
    expect(camel.config().warnings.join("\n")).toMatch(/cron is ignored[^]*runner is ignored/);
  });

  it("belong to their agent; another sees, touches and runs none of them", async () => {
    const { camel } = await start();
    await cron(
      camel,
      { action: "add", id: "mine", schedule: "1h", prompt: "secret plan" },
      { agentId: "alice" },
    );
    for (const action of ["remove", "run", "update", "pause", "resume"]) {
      const result = await cron(camel, { action, id: "mine" }, { agentId: "bob" });
      expect(result).toMatchObject({ isError: true, code: "not_found" });
      expect(result.text).not.toContain("secret plan");
    }
    expect((await cron(camel, { action: "list" }, { agentId: "bob" })).text).toMatch(/^No jobs/);
    expect((await cron(camel, { action: "list" }, { agentId: "alice" })).text).toContain("mine");
  });

  it("tell nothing of another agent's job that had the same id before", async () => {
    const { camel, box } = await start();
    const add = { action: "add", id: "a", schedule: "1h", prompt: "x" };
    await cron(camel, add, { agentId: "alice" });
    const store = createCronStore({ home: box.home, clock: systemClock });
    const job = await store.jobs.get("a");
    if (job === undefined) throw new Error("not added");
    await store.runs.claim(job, { ...CLAIM, agentId: "alice" }, undefined);
    await store.runs.finish(job, 1, { status: "ok", text: "alice's result", finishedAt: 1 });
    expect((await cron(camel, { action: "runs", id: "a" }, { agentId: "alice" })).text).toContain("result");
    await cron(camel, { action: "remove", id: "a" }, { agentId: "alice" });
    await cron(camel, add, { agentId: "bob" });
    expect((await cron(camel, { action: "list" }, { agentId: "bob" })).structured).toMatchObject({
      jobs: [{ id: "a", lastRun: null, lastStatus: null }],
    });
    expect((await cron(camel, { action: "runs", id: "a" }, { agentId: "bob" })).text).toBe("No runs yet.");
    expect((await cron(camel, { action: "runs", id: "a", run: 1 }, { agentId: "bob" })).code).toBe(
      "not_found",
    );
    expect((await cron(camel, { action: "runs", id: "a" }, { agentId: "alice" })).text).toContain("result");
    expect((await cron(camel, { action: "runs", id: "../jobs" })).code).toBe("not_found");
  });

  it("whose files are damaged are told of, and the others go on", async () => {
    const { camel, box } = await start();
    await cron(camel, { action: "add", id: "good", schedule: "1h", prompt: "x" });
    await box.write("home/cron/jobs/cut.json", '{"id":"cut",');
    await box.write("home/cron/jobs/folder.json/x", "");
    await box.write("home/cron/jobs/thin.json", '{"id":"thin","uid":"u","schedule":"1h"}');
    const { text, structured } = await cron(camel, { action: "list" });
    expect(text).toMatch(/^1 job\.\ngood:[^]*"cut" can't be read: .*cut\.json[^]*"thin" can't be read/);
    expect(structured?.["damaged"]).toHaveLength(3);
    expect(await cron(camel, { action: "remove", id: "thin" })).toMatchObject({ code: "damaged" });
    expect((await cron(camel, { action: "list" }, { agentId: "bob" })).text).toBe("No jobs.");
  });

  it("of a newer version, for a runner that is not known here, are run by no other", async () => {
    const { camel, box } = await start();
    await cron(camel, { action: "add", id: "later", schedule: "1h", prompt: "x" });
    const text = await readFile(join(box.home, "cron", "jobs", "later.json"), "utf8");
    await box.write("home/cron/jobs/later.json", text.replace('"overlap"', '"runner": "wasm", "overlap"'));
    expect((await cron(camel, { action: "list" })).text).toMatch(
      /later: broken: This version has no runner "wasm"/,
    );
    expect(await cron(camel, { action: "run", id: "later" })).toMatchObject({ code: "unavailable" });
    expect((await cron(camel, { action: "update", id: "later", runner: "host" })).isError).toBeUndefined();
    expect((await cron(camel, { action: "run", id: "later" })).isError).toBeUndefined();
  });

  it("can't be changed from within a run unless the config says so", async () => {
    const closed = await start();
    const add = { action: "add", schedule: "1h", prompt: "again" };
    expect(await cron(closed.camel, add, { depth: 1 })).toMatchObject({
      isError: true,
      code: "denied_by_policy",
    });
    expect((await cron(closed.camel, { action: "list" }, { depth: 1 })).isError).toBeUndefined();
    const { camel } = await start("cron: { allowFromRuns: true }");
    expect((await cron(camel, add, { depth: 1 })).isError).toBeUndefined();
  });

  it("are read where nothing may be written", async () => {
    const { camel } = await start("autonomy: { level: readonly }");
    expect((await cron(camel, { action: "list" })).isError).toBeUndefined();
    expect((await cron(camel, { action: "runs" })).isError).toBeUndefined();
    expect((await cron(camel, { action: "add", schedule: "1h", prompt: "x" })).code).toBe("denied_by_policy");
  });
});

describe("run", () => {
  it(
    "runs a program's job in a process of its own and shows the beginning of the answer",
    { timeout: 30_000 },
    async () => {
      const { camel } = await start(COMMAND);
      await cron(camel, { action: "add", id: "long", schedule: "1h", prompt: "word ".repeat(200) });
      const result = await cron(camel, { action: "run", id: "long" });
      expect(result.text).toMatch(/^long, run 1: ok\.\nword word/);
      expect(result.text).toMatch(/more characters: cron runs, id long, run 1\.$/);
      const whole = await cron(camel, { action: "runs", id: "long", run: 1 });
      expect(whole.text).toMatch(/answered$/);
      expect((await cron(camel, { action: "runs", id: "long" })).structured).toMatchObject({
        runs: [{ id: "long", run: 1, status: "ok", manual: true }],
      });
    },
  );

  it("is judged by policy with the program it would start", async () => {
    const { camel } = await start(
      `${COMMAND}rules: [{ tool: cron, command: "/bin/sh*", decision: deny, reason: no shells }]`,
    );
    await cron(camel, { action: "add", id: "a", schedule: "1h", prompt: "x" });
    const result = await cron(camel, { action: "run", id: "a" });
    expect(result).toMatchObject({ isError: true, code: "denied_by_policy" });
    expect(result.text).toContain("no shells");
  });
});

describe("the inbox", () => {
  const due = async (config = "") => {
    const { camel, box } = await start(config);
    await box.write("workspace/MEMORY.md", "# Memory\n");
    await cron(camel, { action: "add", id: "water", schedule: "1h", prompt: "Water the plants." });
    const store = createCronStore({ home: box.home, clock: systemClock });
    const job = await store.jobs.get("water");
    await store.inbox.deliver("main", {
      job: { id: "water", uid: job?.uid ?? "", name: "water" },
      seq: 1,
      slot: Date.UTC(2026, 0, 1),
      prompt: "Water the plants.",
      deliveredAt: 0,
    });
    return { camel, box };
  };

  it("is announced by one line on any result, until the prompt is handed over", async () => {
    const { camel } = await due();
    const other = () => call(camel, "memory_get", { filePath: "MEMORY.md" });
    // That nothing is due is remembered for a tenth of a second.
    await expect
      .poll(async () => (await other()).text)
      .toMatch(/\n\n\[cron\] 1 scheduled prompt is due: water\. [^\n]*$/);
    const told = await other();
    expect(told.structured?.["due"]).toMatch(/^\[cron\]/);
    expect(
      (await call(camel, "memory_get", { filePath: "MEMORY.md" }, { agentId: "bob" })).text,
    ).not.toContain("[cron]");
    expect((await cron(camel, { action: "list" })).text).toMatch(/1 waiting for you: water/);
    const handed = await cron(camel, { action: "run", id: "water" });
    expect(handed.text).toMatch(/due 2026-01-01T00:00:00Z[^]*Water the plants\./);
    expect((await other()).text).not.toContain("[cron]");
  });

  it("of a job that is not due gives its prompt all the same, and the history tells", async () => {
    const { camel } = await start();
    await cron(camel, { action: "add", id: "later", schedule: "1d", prompt: "Look around." });
    expect((await cron(camel, { action: "run", id: "later" })).text).toMatch(/asked for now[^]*Look around/);
    expect((await cron(camel, { action: "runs", id: "later" })).text).toMatch(/by hand ok.*who asked for it/);
    expect((await cron(camel, { action: "list" })).text).toMatch(/later: .*enabled.*last .* ok/);
  });

  it("hands over the prompt of a one-shot, which is gone by then, and of a damaged file what is known", async () => {
    const { camel, box } = await due();
    const store = createCronStore({ home: box.home, clock: systemClock });
    const entry = { seq: 1, slot: Date.UTC(2026, 0, 1), prompt: "Call mum.", deliveredAt: 0 };
    await store.inbox.deliver("main", { ...entry, job: { id: "once", uid: "u1", name: "once" } });
    expect((await cron(camel, { action: "run", id: "once" }, { agentId: "bob" })).code).toBe("not_found");
    expect((await cron(camel, { action: "run", id: "once" })).text).toMatch(
      /due 2026-01-01T00:00:00Z[^]*Call mum\./,
    );
    expect((await cron(camel, { action: "run", id: "once" })).code).toBe("not_found");
    const [name = ""] = await readdir(join(box.home, "cron", "inbox", "main"));
    await box.write(join("home/cron/inbox/main", name), "garbage");
    expect((await cron(camel, { action: "list" })).text).toMatch(/1 waiting for you: water/);
    expect((await cron(camel, { action: "run", id: "water" })).text).toContain("Water the plants.");
    expect((await cron(camel, { action: "list" })).text).not.toContain("waiting");
  });

  it("can be cleared, and the line can be turned off", async () => {
    const { camel } = await due("cron: { announce: false }");
    expect((await call(camel, "memory_get", { filePath: "MEMORY.md" })).text).not.toContain("[cron]");
    expect((await cron(camel, { action: "ack" })).text).toBe(
      "1 prompt taken out of the inbox; nothing is waiting.",
    );
  });

  it.each(CLIENTS)("is a resource that %s reads, and hears of when it changes", async (kind) => {
    const { box } = await due();
    const client = await connect(kind, box);
    expect((await client.listResources()).resources.map((one) => one.uri)).toContain("cron:///inbox");
    const heard = new Promise<void>((resolve) => {
      void client
        .follow("cron:///inbox", resolve)
        .then(() => client.callTool({ name: "cron", arguments: { action: "ack" } }));
    });
    expect((await client.readResource("cron:///inbox")).contents[0]?.text).toContain("water");
    await heard;
    expect((await client.readResource("cron:///inbox")).contents[0]?.text).not.toContain("waiting for you");
  });

  it("fills up by itself while a host is open", async () => {
    const box = await sandbox();
    const client = await connect("1.x stdio", box);
    const heard = new Promise<void>((resolve) => void client.follow("cron:///inbox", resolve));
    await client.callTool({
      name: "cron",
      arguments: { action: "add", id: "beat", schedule: "1s", prompt: "Say something." },
    });
    await heard;
    expect((await client.readResource("cron:///inbox")).contents[0]?.text).toMatch(/1 waiting for you: beat/);
  });
});

describe("the command line", () => {
  const run = promisify(execFile);
  const camelMcp = (box: Sandbox, ...args: string[]) =>
    run(process.execPath, [CLI, ...args, "--home", box.home, "--workspace", box.workspace]);

  it("adds a job, fires it by a tick, and shows what came of it", { timeout: 60_000 }, async () => {
    const box = await sandbox({ "home/config.yaml": COMMAND });
    await camelMcp(box, "cron", "add", "1h", "say hello", "--id", "hello");
    const store = createCronStore({ home: box.home, clock: systemClock });
    await store.jobs.update("hello", (job) => ({ ...job, since: job.since - 3_600_000 }));
    const { stdout } = await camelMcp(box, "cron", "tick");
    expect(stdout).toMatch(/^1 job; next due /);
    await expect
      .poll(async () => (await camelMcp(box, "cron", "runs", "hello")).stdout, { timeout: 20_000 })
      .toMatch(/hello run 1: .* ok, .*say hello answered/);
    expect((await camelMcp(box, "cron", "list")).stdout).toMatch(/hello: every hour; runtime, enabled/);
    await camelMcp(box, "cron", "remove", "hello");
    expect((await camelMcp(box, "cron", "list", "--json")).stdout).toContain('"jobs":[]');
  });

  it("gives every field of a job", async () => {
    const box = await sandbox();
    const flags = {
      "--name": "Hello",
      "--tz": "Europe/Berlin",
      "--runner": "host",
      "--overlap": "queue",
      "--missed": "all",
      "--missed-within": "2h",
      "--on-interrupted": "retry",
      "--timeout": "90s",
      "--max-runs": "3",
      "--until": "2090-01-01",
      "--jitter": "30s",
    };
    await camelMcp(box, "cron", "add", "1h", "say hello", "--id", "hello", ...Object.entries(flags).flat());
    expect(await createCronStore({ home: box.home, clock: systemClock }).jobs.get("hello")).toMatchObject({
      name: "Hello",
      tz: "Europe/Berlin",
      runner: "host",
      overlap: "queue",
      missed: "all",
      missedWithinSeconds: 7_200,
      onInterrupted: "retry",
      timeoutSeconds: 90,
      maxRuns: 3,
      until: Date.UTC(2089, 11, 31, 23),
      jitterSeconds: 30,
    });
  });

  it("inside a run is part of that run, and adds no jobs", async () => {
    const box = await sandbox();
    const args = [CLI, "cron", "add", "1h", "again", "--home", box.home, "--workspace", box.workspace];
    const env = { ...process.env, CAMEL_DEPTH: "1" };
    await expect(run(process.execPath, args, { env })).rejects.toThrow(/may not change jobs/);
    const json = JSON.stringify({ action: "add", schedule: "1h", prompt: "again" });
    await expect(
      run(process.execPath, [CLI, "call", "cron", json, "--home", box.home], { env }),
    ).rejects.toThrow();
    expect(await createCronStore({ home: box.home, clock: systemClock }).jobs.list()).toEqual([]);
  });

  it("says what it would tell the operating system", async () => {
    const box = await sandbox();
    const { stdout } = await camelMcp(box, "cron", "install", "systemd", "--print");
    expect(stdout).toContain("OnCalendar=");
    expect(stdout).toMatch(/ExecStart=.*cron tick --home /);
  });

  it.skipIf(process.platform === "win32")("uninstall takes back what install did, and no more", async () => {
    const box = await sandbox({
      "bin/systemctl": "#!/bin/sh\n",
      "bin/crontab": `#!/bin/sh\nif [ "$1" = -l ]; then cat "$HOME/tab"; else cp "$1" "$HOME/tab"; fi\n`,
      "home/tab": "MAILTO=me\n\n0 1 * * * backup\n",
    });
    const bin = join(box.home, "..", "bin");
    for (const name of ["systemctl", "crontab"]) await chmod(join(bin, name), 0o755);
    const cron = (...words: string[]) =>
      runCli(["cron", ...words], box, { env: { PATH: `${bin}:${process.env["PATH"]}` } });
    const tab = () => readFile(join(box.home, "tab"), "utf8");

    expect((await cron("install", "crontab")).code).toBe(0);
    expect(await tab()).toMatch(/^MAILTO=me\n\n0 1 .* backup\n\* \* .*cron tick/);
    expect((await cron("uninstall", "crontab", "--print")).stdout).toContain("would run crontab");
    expect(await tab()).toContain("cron tick");
    expect((await cron("uninstall", "crontab")).code).toBe(0);
    expect(await tab()).toBe("MAILTO=me\n\n0 1 * * * backup\n");

    const units = join(box.home, ".config", "systemd", "user");
    expect((await cron("install", "systemd")).code).toBe(0);
    expect(await readdir(units)).toHaveLength(2);
    expect((await cron("uninstall", "systemd")).stdout).toContain("disable --now camel-mcp.timer");
    expect(await readdir(units)).toEqual([]);
    expect((await cron("uninstall", "systemd")).stdout).toContain("nothing to take back");
  });

  it.skipIf(process.platform === "win32")("a crontab that can't be read isn't written over", async () => {
    const box = await sandbox({
      "bin/crontab": `#!/bin/sh\nif [ "$1" = -l ]; then cat "$HOME/says" >&2; exit 1; fi\ncp "$1" "$HOME/tab"\n`,
      "home/says": "crontab: cannot open spool\n",
    });
    const bin = join(box.home, "..", "bin");
    await chmod(join(bin, "crontab"), 0o755);
    const install = () =>
      runCli(["cron", "install", "crontab"], box, { env: { PATH: `${bin}:${process.env["PATH"]}` } });
    const refused = await install();
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("cannot open spool")]);
    expect(await readdir(box.home)).not.toContain("tab");
    await box.write("home/says", "no crontab for u\n");
    expect((await install()).code).toBe(0);
    expect(await readdir(box.home)).toContain("tab");
  });

  it("a job folder that can't be read is an error, not an empty list", async () => {
    const box = await sandbox({ "home/cron/x": "" });
    await symlink("jobs", join(box.home, "cron", "jobs"));
    for (const word of ["list", "tick"]) {
      const { code, stdout, stderr } = await runCli(["cron", word], box);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain("ELOOP");
    }
  });

  it("a tick that could not fire what is due says so, also by its code", async () => {
    const job = jobAt(Date.now() - 60_000, { id: "stuck", schedule: "5s" });
    const box = await sandbox({ "home/cron/jobs/stuck.json": JSON.stringify(job), "home/cron/runs": "" });
    const { code, stderr } = await runCli(["cron", "tick"], box);
    expect(stderr).toMatch(/stuck could not be fired: /);
    expect(code).toBe(1);
  });

  it("an update that changes nothing is refused", async () => {
    const box = await sandbox();
    await camelMcp(box, "cron", "add", "1h", "say hello", "--id", "hello");
    const { code, stderr } = await runCli(["cron", "update", "hello"], box);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Nothing to change") as unknown,
    });
  });

  it.each(["systemd", "launchd", "schtasks", "crontab"] as const)("knows %s, and awkward paths", (kind) => {
    const plan = planInstallation({
      kind,
      userHome: "/home/u",
      argv: ["/opt/my node/bin/node", "/x/cli.js", "cron", "tick", "--home", "/h/50%/it's"],
      path: '/usr/bin:/home/u/"my" 5% $bin',
      crontab: "0 1 * * * backup\n* * * * * old tick # camel-mcp cron tick\n",
    });
    expect(plan).toMatchSnapshot();
  });
});
