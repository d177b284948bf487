import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/shared/clock.ts";
import { createCronStore, type CronStore } from "../../src/stores/cron.ts";
import type { Job, RunRecord } from "../../src/stores/jobs.ts";
import { scheduleOf } from "../../src/tools/cron/all-jobs.ts";
import { nextSlot } from "../../src/tools/cron/next-slot.ts";

export interface ChaosOptions {
  root: string;
  cli: string;
  processes: number;
  /** Every-second jobs that start a program, and ones that put a prompt into the inbox. */
  commandJobs: number;
  hostJobs: number;
  seconds: number;
  kills: number;
  /** 0 to 1, for what is killed and when. */
  random: () => number;
}

export interface ChaosReport {
  slots: number;
  started: number;
  finished: number;
  doubled: number;
  lost: number;
  kills: number;
  statuses: Record<string, number>;
  /** Runs that started, ended without a result of their own, and are not reported. */
  unreported: number;
  lateP50: number;
  lateP99: number;
  /** Which slots or runs were doubled or lost, to look into. */
  faults: string[];
  /** What runs that failed by themselves said; nothing here should make one fail. */
  errors: string[];
}

/** Until the first servers are up; slots before that would only measure their start. */
const WARM_UP_MS = 3_000;
const STOPPED_MS = 2_500;

/** Real servers on one home, every-second jobs, and kill -9 of servers and runs at random; then the books are checked. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const home = join(options.root, "home");
  const effects = join(options.root, "effects.txt");
  await mkdir(home, { recursive: true });
  await writeFile(effects, "");
  await writeFile(
    join(home, "config.yaml"),
    JSON.stringify({
      audit: { enabled: false },
      cron: { minIntervalSeconds: 1, keepRuns: 1_000_000, maxRunsPerDay: 1_000_000 },
      runner: {
        command: { argv: ["/bin/sh", "-c", `printf '%s\\n' "$CAMEL_RUN" >> '${effects}'; sleep 0.3`] },
      },
    }),
  );
  const store = createCronStore({ home, clock: systemClock });
  const jobs = await addJobs(store, options);

  const servers: ChildProcess[] = [];
  const start = (): ChildProcess =>
    spawn(process.execPath, [options.cli, "--home", home, "--workspace", options.root], {
      stdio: ["pipe", "ignore", process.env["CHAOS_LOG"] === undefined ? "ignore" : "inherit"],
    });
  for (let index = 0; index < options.processes; index++) servers.push(start());
  let kills = 0;
  try {
    await sleep(WARM_UP_MS);
    const pause = (options.seconds * 1000) / options.kills;
    // The last slot, and a moment for whoever is about to claim it.
    const ends = Math.max(...jobs.map((job) => job.until ?? 0)) + 1_000;
    while (kills < options.kills) {
      await sleep(pause * (0.5 + options.random()));
      if (options.random() < 0.1) void stopForAWhile(servers[Math.floor(options.random() * servers.length)]);
      if (options.random() < 0.2 && killARun(home, options.random)) kills++;
      else {
        const index = Math.floor(options.random() * servers.length);
        servers[index]?.kill("SIGKILL");
        servers[index] = start();
        kills++;
      }
    }
    await sleep(Math.max(0, ends - Date.now()));
    await untilSettled(store);
  } finally {
    for (const server of servers) server.kill("SIGKILL");
  }
  return account(store, jobs, effects, kills);
}

async function addJobs(store: CronStore, options: ChaosOptions): Promise<Job[]> {
  const now = Date.now() + WARM_UP_MS;
  const jobs: Job[] = [];
  for (let index = 0; index < options.commandJobs + options.hostJobs; index++) {
    const isHost = index >= options.commandJobs;
    const job: Job = {
      id: `${isHost ? "host" : "command"}${index}`,
      uid: `c${index}`,
      name: "chaos",
      // Half of them by cron, half by interval.
      schedule: index % 2 === 0 ? "* * * * * *" : "1s",
      tz: "Europe/Berlin",
      prompt: "tick",
      runner: isHost ? "host" : "command",
      overlap: isHost ? "allow" : "skip",
      missed: "once",
      missedWithinSeconds: 86_400,
      onInterrupted: "report",
      jitterSeconds: 0,
      enabled: true,
      since: now,
      createdAt: now,
      updatedAt: now,
      until: now + options.seconds * 1000,
      creator: { agentId: "main", client: "chaos", depth: 0 },
      source: "runtime",
    };
    await store.jobs.add(job);
    jobs.push(job);
  }
  return jobs;
}

/** A process that is stopped for longer than anybody waits for it, and then goes on where it was. */
async function stopForAWhile(server: ChildProcess | undefined): Promise<void> {
  server?.kill("SIGSTOP");
  await sleep(STOPPED_MS);
  server?.kill("SIGCONT");
}

/** A supervisor of this home, in the middle of its run or just before. */
function killARun(home: string, random: () => number): boolean {
  const lines = execFileSync("ps", ["-eo", "pid,args"], { encoding: "utf8" }).split("\n");
  const pids = lines
    .filter((line) => line.includes(" supervise ") && line.includes(home))
    .map((line) => Number(line.trim().split(" ")[0]));
  const victim = pids[Math.floor(random() * pids.length)];
  if (victim === undefined) return false;
  try {
    process.kill(victim, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

async function untilSettled(store: CronStore): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 200) {
    if ((await store.runs.active()).length === 0) return;
    await sleep(200);
  }
}

async function account(
  store: CronStore,
  jobs: readonly Job[],
  effectsFile: string,
  kills: number,
): Promise<ChaosReport> {
  const effects = (await readFile(effectsFile, "utf8")).split("\n").filter((line) => line !== "");
  const report: ChaosReport = {
    slots: 0,
    started: 0,
    finished: 0,
    doubled: effects.length - new Set(effects).size,
    lost: 0,
    kills,
    statuses: {},
    unreported: 0,
    lateP50: 0,
    lateP99: 0,
    faults: effects.filter((run, index) => effects.indexOf(run) !== index),
    errors: [],
  };
  const late: number[] = [];
  for (const job of jobs) {
    const expected = slotsOf(job);
    report.slots += expected.length;
    const seen = new Map<number, number>();
    const see = (slot: number): void => void seen.set(slot, (seen.get(slot) ?? 0) + 1);
    for (const run of await store.runs.history(job.id, 1_000_000)) {
      see(run.claim.slot);
      const { missed } = run.claim;
      if (missed !== undefined) {
        const passed = expected.filter((slot) => slot >= missed.from && slot <= missed.to);
        for (const slot of passed) see(slot);
        report.statuses["missed"] = (report.statuses["missed"] ?? 0) + passed.length;
        report.finished += passed.length;
      }
      tally(run, report, late);
    }
    const fault = (kind: "lost" | "doubled", slot: number): void => {
      report[kind]++;
      report.faults.push(`${kind} ${job.id} ${new Date(slot).toISOString()}`);
    };
    const wanted = new Set(expected);
    for (const slot of expected) if (!seen.has(slot)) fault("lost", slot);
    for (const [slot, count] of seen) if (count > 1 || !wanted.has(slot)) fault("doubled", slot);
  }
  late.sort((a, b) => a - b);
  report.lateP50 = late[Math.floor(late.length * 0.5)] ?? 0;
  report.lateP99 = late[Math.floor(late.length * 0.99)] ?? 0;
  return report;
}

function tally(run: RunRecord, report: ChaosReport, late: number[]): void {
  const { claim, started, result } = run;
  const isHost = result?.inbox !== undefined;
  if (started !== undefined || isHost) report.started++;
  if (result === undefined) {
    report.lost++;
    if (started !== undefined) report.unreported++;
    return;
  }
  report.finished++;
  report.statuses[result.status] = (report.statuses[result.status] ?? 0) + 1;
  // Between fork and exec the program looks like its supervisor, and so may be what was killed.
  const wasKilled = result.text.includes("ended by SIGKILL");
  if ((result.status === "error" && !wasKilled) || result.status === "timeout")
    report.errors.push(`${run.job.id} run ${claim.seq}: ${result.text}`);
  const begun = isHost ? result.finishedAt : started?.at;
  if (begun !== undefined) late.push(begun - claim.slot);
}

function slotsOf(job: Job): number[] {
  const slots: number[] = [];
  const schedule = scheduleOf(job);
  for (
    let slot = nextSlot(schedule, job.since);
    slot !== undefined && slot <= (job.until ?? 0);
    slot = nextSlot(schedule, slot)
  )
    slots.push(slot);
  return slots;
}

export function chaosTable(report: ChaosReport): string {
  const rows: [string, string | number][] = [
    ["kills", report.kills],
    ["slots", report.slots],
    ["started", report.started],
    ["finished", report.finished],
    ["doubled", report.doubled],
    ["lost", report.lost],
    ["interrupted but not reported", report.unreported],
    ...Object.entries(report.statuses).map(([status, count]): [string, number] => [`  ${status}`, count]),
    ["late p50, ms", report.lateP50],
    ["late p99, ms", report.lateP99],
  ];
  return rows.map(([name, value]) => `${name.padEnd(30)}${String(value).padStart(8)}`).join("\n");
}

/** The same kills for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
