import { join } from "node:path";
import { rm, writeFile } from "node:fs/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Camel } from "../../src/camel.ts";
import { silentLogger } from "../../src/shared/log.ts";
import { createCronStore, type CronStore } from "../../src/stores/cron.ts";
import type { Job, RunRecord } from "../../src/stores/jobs.ts";
import { announce } from "../../src/stores/liveness.ts";
import { carryOut } from "../../src/tools/cron/carry-out.ts";
import { createScheduler, type Scheduler } from "../../src/transport/schedule.ts";
import { createFakeClock, type FakeClock } from "../fake-clock.ts";
import { sandbox, startCamel } from "../harness.ts";
import { jobAt } from "../tools/cron/job.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface World {
  camel: Camel;
  clock: FakeClock;
  store: CronStore;
  /** What was handed to a process of its own, in order. */
  supervised: { id: string; uid: string; seq: number }[];
  /** When a process was told to get ready. */
  expected: number[];
  /** What the log was told. */
  errors: string[];
  /** How many jobs the scheduler knew at each call it made. */
  dispatched: number[];
  scheduler: () => Scheduler;
  add: (over?: Partial<Job>) => Promise<Job>;
  runs: (id?: string) => Promise<RunRecord[]>;
}

async function world(config = ""): Promise<World> {
  const box = await sandbox({ "home/config.yaml": config });
  const clock = createFakeClock();
  const camel = await startCamel(box, { clock });
  const store = createCronStore({ home: box.home, clock });
  const supervised: World["supervised"] = [];
  const expected: number[] = [];
  const errors: string[] = [];
  const dispatched: number[] = [];
  return {
    errors,
    dispatched,
    camel,
    clock,
    store,
    supervised,
    expected,
    scheduler() {
      const scheduler = createScheduler({
        home: box.home,
        clock,
        log: { ...silentLogger, error: (message) => void errors.push(message) },
        settings: () => camel.config().settings,
        ready: () => Promise.resolve(true),
        dispatch(call) {
          dispatched.push(scheduler.state().jobs);
          return camel.dispatcher.call(call);
        },
        supervisors: {
          start: ({ id, uid, seq }) => void supervised.push({ id, uid, seq }),
          expect: (runs) => void expected.push(...runs.map(() => clock.now())),
        },
      });
      onTestFinished(() => scheduler.stop());
      return scheduler;
    },
    async add(over = {}) {
      const job = jobAt(clock.now(), over);
      expect(await store.jobs.add(job)).toBe(true);
      return job;
    },
    async runs(id = "tick") {
      return (await store.runs.history(id, 1000)).reverse();
    },
  };
}

const COMMAND = "runner:\n  use: command\n  command: { argv: [cat] }\n";
const statuses = (runs: readonly RunRecord[]): (string | undefined)[] =>
  runs.map((run) => run.result?.status);

describe("firing", () => {
  it("each slot once, however many processes are there", async () => {
    const { clock, scheduler, add, runs, store } = await world();
    await add();
    const all = [scheduler(), scheduler(), scheduler()];
    for (let minute = 0; minute < 5; minute++) {
      clock.set(clock.now() + MINUTE);
      await Promise.all(all.map((one) => one.wake()));
    }
    const done = await runs();
    expect(statuses(done)).toEqual(["ok", "ok", "ok", "ok", "ok"]);
    expect(new Set(done.map((run) => run.claim.slot)).size).toBe(5);
    expect(await store.inbox.list("main")).toHaveLength(5);
    expect(await store.runs.active()).toEqual([]);
  });

  it("with two hundred processes on one home", async () => {
    const { clock, scheduler, add, runs, store } = await world();
    await add();
    const all = Array.from({ length: 200 }, scheduler);
    for (let minute = 0; minute < 2; minute++) {
      clock.set(clock.now() + MINUTE);
      await Promise.all(all.map((one) => one.wake()));
    }
    expect(statuses(await runs())).toEqual(["ok", "ok"]);
    expect(await store.inbox.list("main")).toHaveLength(2);
  });

  it("and forgets what is long over", async () => {
    const { clock, scheduler, add, runs } = await world();
    await add({ schedule: "+1m", at: clock.now() + MINUTE });
    const one = scheduler();
    clock.set(clock.now() + MINUTE);
    await one.wake();
    clock.advance(11 * MINUTE);
    await one.wake();
    expect(statuses(await runs())).toEqual(["ok"]);
    clock.set(Date.now() + 40 * DAY);
    clock.advance(7 * HOUR);
    await one.wake();
    expect(await runs()).toEqual([]);
  });

  it("nothing while the config is broken, without spinning", async () => {
    const { camel, clock, add, runs, store } = await world();
    await add();
    clock.set(clock.now() + MINUTE);
    let looks = 0;
    const one = createScheduler({
      home: join(store.directory, ".."),
      clock,
      log: silentLogger,
      settings: () => camel.config().settings,
      ready: () => Promise.resolve(++looks > 2),
      dispatch: (call) => camel.dispatcher.call(call),
      supervisors: { start: () => {}, expect: () => {} },
    });
    onTestFinished(() => one.stop());
    await one.wake();
    clock.advance(4_999);
    expect(looks).toBe(1);
    clock.advance(1);
    await expect.poll(() => looks).toBe(2);
    expect(await runs()).toEqual([]);
    await one.wake();
    expect(await runs()).toHaveLength(1);
  });

  it("goes on when a disk that refused everything takes files again, and says once what was wrong", async () => {
    const { clock, scheduler, add, runs, store, errors } = await world();
    const start = clock.now();
    await add();
    const one = scheduler();
    await one.wake();
    const live = join(store.directory, "live");
    await writeFile(live, "in the way");
    for (const second of [60, 61, 62]) {
      clock.set(start + second * 1000);
      await one.wake();
    }
    expect(errors).toEqual([expect.stringMatching(/tick could not be fired: E/)]);
    await rm(live);
    clock.set(start + 63_000);
    await one.wake();
    expect(statuses(await runs())).toEqual(["ok"]);
  });

  it("by its own timer, and not before its time", async () => {
    const { clock, scheduler, add, runs } = await world();
    const one = scheduler();
    await one.wake();
    await add({ schedule: "10s" });
    await one.wake();
    clock.advance(9_999);
    await one.wake();
    expect(await runs()).toHaveLength(0);
    clock.advance(1);
    await one.wake();
    expect(await runs()).toHaveLength(1);
  });

  it("a one-shot further away than a timer can count, which is then gone", async () => {
    const { clock, scheduler, add, runs, store } = await world();
    const start = clock.now();
    await add({ schedule: "+60d", at: start + 60 * DAY });
    const one = scheduler();
    await one.wake();
    for (let day = 1; day < 60; day++) {
      clock.set(start + day * DAY);
      await one.wake();
    }
    expect(await runs()).toHaveLength(0);
    clock.set(start + 60 * DAY);
    await one.wake();
    expect(statuses(await runs())).toEqual(["ok"]);
    expect(await store.jobs.get("tick")).toBeUndefined();
  });

  it("nothing for somebody whose token was revoked, and pauses the job", async () => {
    const { add, scheduler, clock, store, runs } = await world();
    const { record } = await store.tokens.create("ci");
    const [kept] = [await store.tokens.create("ci", "builds"), await store.tokens.create("ci", "builds")];
    const creator = (token: string) => ({ agentId: "ci", client: "c", token, depth: 0 });
    await add({ id: "mine", creator: creator(record.id) });
    // Another token of the same scope gives the same rights.
    await add({ id: "scoped", creator: creator("builds") });
    await store.tokens.revoke(record.id);
    await store.tokens.revoke(kept.record.id);
    const one = scheduler();
    await one.wake();
    clock.advance(MINUTE);
    await one.wake();
    expect(statuses(await runs("mine"))).toEqual(["error"]);
    expect(statuses(await runs("scoped"))).toEqual(["ok"]);
    expect((await store.inbox.list("ci")).map((entry) => entry.job.id)).toEqual(["scoped"]);
    expect(await store.jobs.get("mine")).toMatchObject({
      enabled: false,
      pausedBecause: expect.stringMatching(/revoked/) as string,
    });
  });

  it("what is due while the rest of many jobs is still being read", async () => {
    const { add, scheduler, clock, dispatched } = await world();
    await Promise.all(Array.from({ length: 600 }, (_, index) => add({ id: `job${index}`, schedule: "1m" })));
    clock.advance(MINUTE);
    const one = scheduler();
    await one.wake();
    expect(dispatched).toHaveLength(600);
    expect(dispatched[0]).toBeLessThanOrEqual(500);
    expect(one.state().jobs).toBe(600);
  });

  it("nothing of a paused job, and nothing is made up for when it is resumed", async () => {
    const { camel, clock, scheduler, add, runs } = await world();
    await add();
    const one = scheduler();
    await one.wake();
    const act = (action: string) =>
      camel.dispatcher.call({
        id: "c",
        name: "cron",
        args: { action, id: "tick" },
        caller: { agentId: "main", depth: 0, client: "test", transport: "library", sessionId: "s" },
        signal: new AbortController().signal,
      });
    expect((await act("pause")).isError).toBeUndefined();
    clock.set(clock.now() + HOUR);
    await one.wake();
    expect(await runs()).toHaveLength(0);
    expect((await act("resume")).isError).toBeUndefined();
    await one.wake();
    expect(await runs()).toHaveLength(0);
    clock.set(clock.now() + MINUTE);
    await one.wake();
    expect(statuses(await runs())).toEqual(["ok"]);
  });

  it("as often as maxRuns says, and not after until", async () => {
    const { clock, scheduler, add, runs } = await world();
    await add({ maxRuns: 2 });
    await add({ id: "short", uid: "s", until: clock.now() + 3 * MINUTE });
    const one = scheduler();
    for (let minute = 0; minute < 6; minute++) {
      clock.set(clock.now() + MINUTE);
      await one.wake();
    }
    expect(await runs()).toHaveLength(2);
    expect(await runs("short")).toHaveLength(3);
  });

  it("jobs of the config, once for all processes, and again under a new schedule", async () => {
    const { camel, clock, scheduler, runs, store } = await world(
      "cron:\n  jobs:\n    - { id: tick, schedule: 1m, prompt: hi, overlap: allow }\n",
    );
    expect(camel.config().settings.cron.jobs).toHaveLength(1);
    const all = [scheduler(), scheduler()];
    await Promise.all(all.map((one) => one.wake()));
    clock.set(clock.now() + MINUTE);
    await Promise.all(all.map((one) => one.wake()));
    expect(statuses(await runs())).toEqual(["ok"]);
    expect(await store.jobs.list()).toEqual([]);
  });
});

describe("time that jumps", () => {
  it.each([
    ["once", 1, 479],
    ["skip", 0, 480],
    ["all", 100, 380],
  ] as const)("a night's sleep with missed: %s", async (missed, made, passed) => {
    const { clock, scheduler, add, store, runs } = await world();
    await add({ missed });
    const one = scheduler();
    await one.wake();
    clock.set(clock.now() + 8 * HOUR + 30_000);
    for (let turn = 0; turn < 8; turn++) {
      clock.advance(1_000);
      await one.wake();
    }
    const done = await runs();
    const reported = done.reduce(
      (sum, run) => sum + (run.claim.missed?.count ?? 0) + (run.result?.status === "missed" ? 1 : 0),
      0,
    );
    expect(await store.inbox.list("main")).toHaveLength(made);
    expect(reported).toBe(passed);
  });

  it("is not made up for when it is too long ago", async () => {
    const { clock, scheduler, add, store, runs } = await world();
    await add({ schedule: "+1h", at: clock.now() + HOUR, missedWithinSeconds: 3_600 });
    clock.set(clock.now() + 3 * HOUR);
    const one = scheduler();
    await one.wake();
    expect(statuses(await runs())).toEqual(["missed"]);
    expect(await store.inbox.list("main")).toEqual([]);
    await one.wake();
    clock.set(clock.now() + MINUTE);
    await one.wake();
    expect(await runs()).toHaveLength(1);
  });

  it("back: nothing fires twice, and firing goes on when the clock has caught up", async () => {
    const { clock, scheduler, add, runs } = await world();
    const start = clock.now();
    await add();
    const all = [scheduler(), scheduler()];
    const minute = async (at: number): Promise<void> => {
      clock.set(at);
      await Promise.all(all.map((one) => one.wake()));
    };
    for (let count = 1; count <= 10; count++) await minute(start + count * MINUTE);
    expect(await runs()).toHaveLength(10);
    for (let count = 5; count <= 12; count++) await minute(start + count * MINUTE);
    const slots = (await runs()).map((run) => (run.claim.slot - start) / MINUTE);
    expect(slots).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });
});

describe("a slot that comes while the last run goes on", () => {
  const slotsDue = async (overlap: Job["overlap"]) => {
    const made = await world(COMMAND);
    await made.add({ overlap });
    const one = made.scheduler();
    for (let minute = 0; minute < 3; minute++) {
      made.clock.set(made.clock.now() + MINUTE);
      await one.wake();
    }
    return { ...made, one };
  };

  it("is skipped, and that is reported", async () => {
    const { runs, supervised } = await slotsDue("skip");
    expect(statuses(await runs())).toEqual([undefined, "skipped", "skipped"]);
    expect(new Set(supervised.map((run) => run.seq))).toEqual(new Set([1]));
  });

  it("is queued, one at most, and runs when the first has ended", async () => {
    const { runs, store, supervised, one, clock } = await slotsDue("queue");
    expect((await runs()).map((run) => run.claim.queued === true)).toEqual([false, true, false]);
    expect(statuses(await runs())).toEqual([undefined, undefined, "skipped"]);
    expect(supervised.map((run) => run.seq)).not.toContain(2);
    await store.runs.finish({ id: "tick", uid: "abc123" }, 1, {
      status: "ok",
      text: "",
      finishedAt: clock.now(),
    });
    clock.advance(2_000);
    await one.wake();
    expect(supervised.at(-1)?.seq).toBe(2);
  });

  it("ends that run where it is to be replaced", async () => {
    const made = await world(COMMAND);
    const job = await made.add({ overlap: "replace" });
    const one = made.scheduler();
    made.clock.set(made.clock.now() + MINUTE);
    await one.wake();
    let stopped = false;
    const presence = await announce(join(made.store.directory, "live"), {
      stop: () => (stopped = true),
    });
    onTestFinished(() => presence.close());
    await made.store.runs.start(job, 1, { at: made.clock.now(), attempt: 1, owner: presence.owner });
    made.clock.set(made.clock.now() + MINUTE);
    await one.wake();
    await expect.poll(() => stopped).toBe(true);
    expect(made.supervised.map((run) => run.seq)).toContain(2);
  });

  it("waits its turn where every slot is to have its run", async () => {
    const made = await world(COMMAND);
    const job = await made.add({ missed: "all", overlap: "skip" });
    const one = made.scheduler();
    made.clock.set(made.clock.now() + 3 * MINUTE);
    await one.wake();
    expect(await made.runs()).toHaveLength(1);
    for (const seq of [1, 2, 3]) {
      await made.store.runs.finish(job, seq, { status: "ok", text: "", finishedAt: made.clock.now() });
      made.clock.advance(1_000);
      await one.wake();
    }
    expect(statuses(await made.runs())).toEqual(["ok", "ok", "ok"]);
  });
});

it("a process gets ready before a run that needs one, and not for a prompt", async () => {
  const { clock, scheduler, add, expected } = await world(COMMAND);
  const start = clock.now();
  await add();
  await add({ id: "prompt", uid: "p", schedule: "30s", runner: "host" });
  const one = scheduler();
  for (let second = 0; second <= 60; second++) {
    clock.set(start + second * 1000);
    await one.wake();
  }
  expect(expected.map((at) => (at - start) / 1000)).toEqual([58]);
});

describe("whatever dies", () => {
  const dead = { pid: 1, host: "", socket: "/nonexistent/camel.sock" };

  const claimed = async (over: Partial<Job> = {}) => {
    const made = await world(COMMAND);
    const job = await made.add(over);
    made.clock.set(made.clock.now() + MINUTE);
    const { hostname } = await import("node:os");
    const owner = { ...dead, host: hostname() };
    const claim = await made.store.runs.claim(
      job,
      {
        slot: made.clock.now(),
        newestSlot: made.clock.now(),
        runs: 1,
        manual: false,
        claimedAt: made.clock.now(),
        owner,
      },
      undefined,
    );
    if (claim === undefined) throw new Error("not claimed");
    return { ...made, job, claim, owner };
  };

  it("before the start: the run is started by another process", async () => {
    const { scheduler, supervised, clock, runs } = await claimed();
    const one = scheduler();
    clock.advance(5_000);
    await one.wake();
    expect(supervised).toEqual([{ id: "tick", uid: "abc123", seq: 1 }]);
    expect(statuses(await runs())).toEqual([undefined]);
  });

  it("after the start: it is reported as interrupted, once, and not run again", async () => {
    const { scheduler, supervised, clock, runs, store, job, owner } = await claimed();
    await store.runs.start(job, 1, { at: clock.now(), attempt: 1, owner });
    clock.advance(5_000);
    const all = [scheduler(), scheduler()];
    await Promise.all(all.map((one) => one.wake()));
    expect(statuses(await runs())).toEqual(["interrupted"]);
    expect(supervised).toEqual([]);
    expect(await store.runs.active()).toEqual([]);
  });

  it("after the start, with onInterrupted: retry: it is started again, three times at most", async () => {
    const { scheduler, supervised, clock, runs, store, job, owner } = await claimed({
      onInterrupted: "retry",
    });
    const one = scheduler();
    for (const attempt of [1, 2, 3]) {
      await store.runs.start(job, 1, { at: clock.now(), attempt, owner });
      clock.advance(11_000);
      await one.wake();
    }
    expect(supervised).toHaveLength(2);
    expect((await runs())[0]?.result?.status).toBe("interrupted");
  });

  it("two supervisors of one claim: one runs it", async () => {
    const { camel, clock, store, job, claim, runs } = await claimed();
    let calls = 0;
    const presence = await announce(join(store.directory, "live"));
    onTestFinished(() => presence.close());
    const supervise = (): Promise<void> =>
      carryOut(job, claim, {
        book: { store, settings: () => camel.config().settings, clock },
        owner: presence.owner,
        signal: new AbortController().signal,
        dispatch: async () => {
          calls++;
          // One that comes late, in the middle of the run.
          await supervise();
          return { text: "done" };
        },
      });
    await Promise.all([supervise(), supervise(), supervise()]);
    await supervise();
    expect(calls).toBe(1);
    expect(statuses(await runs())).toEqual(["ok"]);
  });

  it("five failures in a row pause the job, and say why", async () => {
    const { camel, clock, store, job, claim, owner } = await claimed();
    let newest = claim;
    for (let count = 0; count < 5; count++) {
      await carryOut(job, newest, {
        book: { store, settings: () => camel.config().settings, clock },
        owner,
        signal: new AbortController().signal,
        dispatch: () => Promise.resolve({ text: "no such model", isError: true, code: "unavailable" }),
      });
      const { seq: _seq, nonce: _nonce, previous: _previous, ...draft } = newest;
      const next = await store.runs.claim(job, { ...draft, slot: draft.slot + MINUTE }, newest);
      if (next === undefined) throw new Error("not claimed");
      newest = next;
    }
    const paused = await store.jobs.get("tick");
    expect(paused).toMatchObject({ enabled: false });
    expect(paused?.pausedBecause).toContain("no such model");
  });
});
