/**
 * Many jobs due in the same second with a zone: how late this package hands them on, with its claims on disk and
 * the whole pipeline, beside croner's own timers, which keep nothing. Then a hundred thousand jobs at rest. Prints;
 * asserts nothing. `npm run bench cron [count...]`.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Cron } from "croner";
import { createCamel } from "../../src/camel.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { silentLogger } from "../../src/shared/log.ts";
import { createCronStore } from "../../src/stores/cron.ts";
import type { Job } from "../../src/stores/jobs.ts";
import { createScheduler } from "../../src/transport/schedule.ts";
import { jobAt } from "../tools/cron/job.ts";

const ZONE = "Europe/Berlin";
const ROUNDS = 2;

function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(44)} ${value}\n`);
}

function lateness(name: string, expected: number, late: number[]): void {
  late.sort((a, b) => a - b);
  const at = (part: number): number => Math.round(late[Math.floor(late.length * part)] ?? 0);
  print(name, `late p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, missed ${expected - late.length} of ${expected}`);
}

const jobNumber = (index: number, schedule: string): Job =>
  jobAt(Date.now(), {
    id: `job${index}`,
    schedule,
    tz: ZONE,
    prompt: "Look at the open issues and write down what changed since yesterday.",
  });

async function home(jobs: Iterable<Job>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "camel-bench-cron-"));
  await mkdir(join(folder, "cron", "jobs"), { recursive: true });
  for (const job of jobs)
    await writeFile(join(folder, "cron", "jobs", `${job.id}.json`), JSON.stringify(job));
  return folder;
}

/** Every `seconds` seconds, at the same moment for all. */
async function croner(count: number, seconds: number): Promise<void> {
  const late: number[] = [];
  const first = nextMultiple(seconds);
  const before = process.memoryUsage().rss;
  const jobs = Array.from(
    { length: count },
    () =>
      new Cron(`*/${seconds} * * * * *`, { timezone: ZONE }, () => {
        const now = Date.now();
        const slot = Math.floor(now / (seconds * 1000)) * seconds * 1000;
        if (slot >= first) late.push(now - slot);
      }),
  );
  await sleep(first + (ROUNDS - 1) * seconds * 1000 + 900 - Date.now());
  for (const job of jobs) job.stop();
  lateness(`croner's timers, ${count} jobs`, count * ROUNDS, late);
  print("  memory a job", `${((process.memoryUsage().rss - before) / count / 1024).toFixed(1)} KB`);
}

async function ours(count: number, seconds: number): Promise<void> {
  const folder = await home(
    Array.from({ length: count }, (_, index) => jobNumber(index, `*/${seconds} * * * * *`)),
  );
  await writeFile(join(folder, "config.yaml"), "cron: { keepRuns: 100000 }\n");
  const camel = await createCamel({ home: folder, workspace: folder, env: {}, cwd: folder });
  const scheduler = createScheduler({
    home: folder,
    clock: systemClock,
    log: silentLogger,
    settings: () => camel.config().settings,
    ready: () => Promise.resolve(true),
    dispatch: (call) => camel.dispatcher.call(call),
    supervisors: { start: () => {}, expect: () => {} },
  });
  const first = nextMultiple(seconds);
  await scheduler.wake();
  await sleep(first + (ROUNDS - 1) * seconds * 1000 + seconds * 900 - Date.now());
  await scheduler.stop();
  const store = createCronStore({ home: folder, clock: systemClock });
  const claimed: number[] = [];
  const done: number[] = [];
  for (let index = 0; index < count; index++) {
    for (const run of await store.runs.history(`job${index}`, 100)) {
      if (run.claim.slot < first || run.claim.slot >= first + ROUNDS * seconds * 1000) continue;
      claimed.push(run.claim.claimedAt - run.claim.slot);
      if (run.result !== undefined) done.push(run.result.finishedAt - run.claim.slot);
    }
  }
  lateness(`camel-mcp, ${count} jobs, claimed on disk`, count * ROUNDS, claimed);
  lateness(`camel-mcp, ${count} jobs, in the inbox`, count * ROUNDS, done);
  await camel.close();
  await rm(folder, { recursive: true, force: true });
}

async function atRest(count: number): Promise<void> {
  const folder = await home(
    (function* () {
      for (let index = 0; index < count; index++) yield jobNumber(index, `${index % 60} ${index % 24} * * *`);
    })(),
  );
  const camel = await createCamel({ home: folder, workspace: folder, env: {}, cwd: folder });
  const before = process.memoryUsage().rss;
  const scheduler = createScheduler({
    home: folder,
    clock: systemClock,
    log: silentLogger,
    settings: () => camel.config().settings,
    ready: () => Promise.resolve(true),
    dispatch: (call) => camel.dispatcher.call(call),
    supervisors: { start: () => {}, expect: () => {} },
  });
  const start = performance.now();
  await scheduler.wake();
  print(`camel-mcp, ${count} jobs, read`, `${Math.round(performance.now() - start)} ms`);
  globalThis.gc?.();
  print(
    "  memory",
    `${Math.round((process.memoryUsage().rss - before) / 2 ** 20)} MB more, ${Math.round(process.memoryUsage().rss / 2 ** 20)} MB in all`,
  );
  const idle = process.cpuUsage();
  await sleep(15_000);
  const { user, system } = process.cpuUsage(idle);
  print("  CPU at rest", `${(((user + system) / 15_000_000) * 100).toFixed(2)} % of a core`);
  await scheduler.stop();
  await camel.close();
  await rm(folder, { recursive: true, force: true });
}

function nextMultiple(seconds: number): number {
  const step = seconds * 1000;
  return (Math.floor((Date.now() + 5_000) / step) + 1) * step;
}

for (const count of [1_000, 5_000]) {
  const seconds = count > 1_000 ? 20 : 10;
  await croner(count, seconds);
  await ours(count, seconds);
}
await atRest(100_000);
