import { chmod, readdir, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { createCronStore, type CronStore } from "../../src/stores/cron.ts";
import type { Claim } from "../../src/stores/jobs.ts";
import { announce, askToStop, giveOrder, isAlive } from "../../src/stores/liveness.ts";
import { createReadyPool } from "../../src/stores/ready.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { createFakeClock, type FakeClock } from "../fake-clock.ts";
import { tempFolder } from "../temp-folder.ts";

const KEY = { id: "job", uid: "u1" };
const OWNER = { pid: 1, host: hostname(), socket: "/nonexistent.sock" };

async function open(): Promise<{ store: CronStore; clock: FakeClock; home: string }> {
  const home = await tempFolder("runs");
  const clock = createFakeClock();
  return { store: createCronStore({ home, clock }), clock, home };
}

function draft(slot: number, clock: FakeClock): Omit<Claim, "seq" | "nonce" | "previous"> {
  return { slot, newestSlot: slot, runs: slot, manual: false, claimedAt: clock.now(), owner: OWNER };
}

describe("the chain of claims", () => {
  it("lets one of many have the next claim", async () => {
    const { store, clock } = await open();
    const made = await Promise.all(
      Array.from({ length: 20 }, () => store.runs.claim(KEY, draft(1, clock), undefined)),
    );
    expect(made.filter((claim) => claim !== undefined)).toHaveLength(1);
    expect((await store.runs.active()).length).toBe(1);
  });

  it("has one order that all agree on, whoever claims and whoever crashes between", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ who: fc.nat(2), slot: fc.nat(30), fresh: fc.boolean() }), { maxLength: 25 }),
        async (steps) => {
          const { store, clock } = await open();
          const seen: (Claim | undefined)[] = [undefined, undefined, undefined];
          for (const { who, slot, fresh } of steps) {
            if (fresh) seen[who] = (await store.runs.chain(KEY)).newest;
            const after = seen[who];
            if (slot <= (after?.newestSlot ?? -1)) continue;
            seen[who] = (await store.runs.claim(KEY, draft(slot, clock), after)) ?? after;
          }
          const claims = (await store.runs.history(KEY.id, 100)).reverse().map((run) => run.claim);
          for (const [index, claim] of claims.entries()) {
            expect(claim.previous).toBe(claims[index - 1]?.nonce ?? "");
            expect(claim.newestSlot).toBeGreaterThan(claims[index - 1]?.newestSlot ?? -1);
            expect(await store.runs.isInChain(KEY, claim)).toBe(true);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it("refuses who slept so long that the next claim was made, finished and pruned", async () => {
    const { store, clock } = await open();
    let newest: Claim | undefined;
    for (let slot = 1; slot <= 6; slot++) {
      newest = await store.runs.claim(KEY, draft(slot, clock), newest);
      await store.runs.finish(KEY, slot, { status: "ok", text: "", finishedAt: clock.now() });
    }
    clock.advance(3_600_000);
    await store.runs.prune(KEY, 2);
    expect((await store.runs.history(KEY.id, 10)).map((run) => run.claim.seq)).toEqual([6, 5]);
    // It read the chain when it was empty, and wakes up now.
    const sleeper: FakeClock = { ...clock, monotonic: passing(100_000) };
    const late = createCronStore({ home: join(store.directory, ".."), clock: sleeper });
    expect(await late.runs.claim(KEY, draft(1, clock), undefined)).toBeUndefined();
    expect((await store.runs.history(KEY.id, 10)).map((run) => run.claim.seq)).toEqual([6, 5]);
  });

  it("prunes only from the oldest on, only what is finished, and never the newest", async () => {
    const { store, clock } = await open();
    let newest: Claim | undefined;
    for (let slot = 1; slot <= 5; slot++) newest = await store.runs.claim(KEY, draft(slot, clock), newest);
    for (const seq of [1, 3, 4, 5])
      await store.runs.finish(KEY, seq, { status: "ok", text: "", finishedAt: 0 });
    clock.advance(3_600_000);
    await store.runs.prune(KEY, 1);
    expect((await store.runs.history(KEY.id, 10)).map((run) => run.claim.seq)).toEqual([5, 4, 3, 2]);
    await store.runs.finish(KEY, 2, { status: "ok", text: "", finishedAt: 0 });
    await store.runs.prune(KEY, 1);
    expect((await store.runs.history(KEY.id, 10)).map((run) => run.claim.seq)).toEqual([5]);
  });

  it("starts an attempt once and keeps the first result", async () => {
    const { store, clock } = await open();
    await store.runs.claim(KEY, draft(1, clock), undefined);
    const started = { at: 1, attempt: 1, owner: OWNER };
    const starts = await Promise.all(Array.from({ length: 10 }, () => store.runs.start(KEY, 1, started)));
    expect(starts.filter(Boolean)).toHaveLength(1);
    expect(await store.runs.finish(KEY, 1, { status: "ok", text: "first", finishedAt: 1 })).toBe(true);
    expect(await store.runs.finish(KEY, 1, { status: "interrupted", text: "second", finishedAt: 2 })).toBe(
      false,
    );
    expect((await store.runs.record(KEY, 1))?.result?.text).toBe("first");
  });

  it("mends a claim that a crash cut off, so that its slot can be claimed again", async () => {
    const { store, clock, home } = await open();
    clock.set(Date.now());
    const first = await store.runs.claim(KEY, draft(1, clock), undefined);
    await writeFile(join(home, "cron", "runs", "job", "u1", "00000002.claim"), '{"seq":2,"slo');
    await expect(store.runs.chain(KEY)).rejects.toThrow(/being written/);
    clock.set(Date.now() + 60_000);
    const { newest } = await store.runs.chain(KEY);
    expect(newest).toMatchObject({
      seq: 2,
      newestSlot: 1,
      previous: first?.nonce,
      final: { status: "missed" },
    });
    expect((await store.runs.chain(KEY)).unfinished).toEqual([1]);
    expect(await store.runs.claim(KEY, draft(2, clock), newest)).toMatchObject({ seq: 3, slot: 2 });
  });

  it("finds an unfinished claim again whose marker was lost", async () => {
    const { store, clock } = await open();
    await store.runs.claim(KEY, draft(1, clock), undefined);
    const [active] = await store.runs.active();
    store.runs.settle(active!);
    expect(await store.runs.active()).toEqual([]);
    await store.runs.reactivate(KEY, 1);
    await store.runs.reactivate(KEY, 1);
    expect(await store.runs.active()).toEqual([active]);
  });

  it("goes on when somebody has removed all that was kept", async () => {
    const { store, clock, home } = await open();
    const first = await store.runs.claim(KEY, draft(1, clock), undefined);
    await rm(join(home, "cron"), { recursive: true });
    // What was claimed may be gone by the time it is to be synced.
    if (first !== undefined) await store.runs.sync(KEY, first);
    await expect(store.runs.claim(KEY, draft(2, clock), undefined)).rejects.toThrow(/ENOENT/);
    expect(await store.runs.claim(KEY, draft(2, clock), undefined)).toMatchObject({ seq: 1, slot: 2 });
  });

  it("leaves nothing half-written behind when the folder can't be written", async () => {
    if (process.getuid?.() === 0) return;
    const { store, clock, home } = await open();
    await store.runs.claim(KEY, draft(1, clock), undefined);
    await chmod(join(home, "cron", "runs", "job", "u1"), 0o500);
    await expect(store.runs.finish(KEY, 1, { status: "ok", text: "", finishedAt: 0 })).rejects.toThrow(
      /EACCES/,
    );
    await chmod(join(home, "cron", "runs", "job", "u1"), 0o700);
    expect(await readdir(join(home, "cron", "runs", "job", "u1"))).toEqual(["00000001.claim"]);
  });
});

describe("liveness", () => {
  it("a process that listens lives; one that has gone doesn't", async () => {
    const { home } = await open();
    const presence = await announce(join(home, "live"));
    expect(await isAlive(presence.owner)).toBe(true);
    await presence.close();
    expect(await isAlive(presence.owner)).toBe(false);
    expect(await isAlive({ ...presence.owner, host: "another-machine" })).toBe(true);
  });

  it("works where the home's path is too long for a socket", async () => {
    const { home } = await open();
    const presence = await announce(join(home, "x".repeat(120), "live"));
    onTestFinished(() => presence.close());
    expect(await isAlive(presence.owner)).toBe(true);
  });

  it("passes on a wish to stop", async () => {
    const { home } = await open();
    let stops = 0;
    const presence = await announce(join(home, "live"), { stop: () => stops++ });
    onTestFinished(() => presence.close());
    expect(await askToStop(presence.owner)).toBe(true);
    await expect.poll(() => stops).toBe(1);
  });
});

describe("processes that wait for a run", () => {
  const RUN = { id: "a", due: 5_000 };
  const poolAt = async (home?: string) =>
    createReadyPool({ directory: join(home ?? (await open()).home, "ready"), clock: systemClock });

  it("are taken by one of many, and only by who started in the same way", async () => {
    const { home } = await open();
    const pools = await Promise.all(Array.from({ length: 20 }, () => poolAt(home)));
    const [first] = pools;
    const takeBack = await first?.offer("k", "/x/one.sock");
    expect(await first?.take("other")).toBeUndefined();
    const taken = await Promise.all(pools.map((pool) => pool.take("k")));
    expect(taken.filter((socket) => socket !== undefined)).toEqual(["/x/one.sock"]);
    expect(await takeBack?.()).toBe(false);
    const another = await first?.offer("k", "/x/two.sock");
    expect(await another?.()).toBe(true);
    expect(await first?.take("k")).toBeUndefined();
  });

  it("are made by one of all servers that expect the same run, where none waits", async () => {
    const { home } = await open();
    const pools = await Promise.all(Array.from({ length: 200 }, () => poolAt(home)));
    const made = async (runs: { id: string; due: number }[]): Promise<number> =>
      (await Promise.all(pools.map((pool) => pool.missing("k", runs)))).reduce((sum, one) => sum + one, 0);
    expect(await made([RUN, { id: "b", due: 5_000 }])).toBe(2);
    expect(await made([RUN])).toBe(0);
    expect(await made([{ ...RUN, due: 6_000 }])).toBe(1);
    await pools[0]?.offer("k", "/x/one.sock");
    expect(await made([{ ...RUN, due: 7_000 }])).toBe(0);
    expect(await made(Array.from({ length: 30 }, (_, index) => ({ id: `j${index}`, due: 8_000 })))).toBe(3);
  });

  it("get their order at their socket; one that has gone or doesn't answer is told from one that took it", async () => {
    const { home } = await open();
    const orders: string[] = [];
    const presence = await announce(join(home, "live"), { order: (text) => orders.push(text) === 1 });
    let ends = 0;
    expect(await giveOrder(presence.owner.socket, "run it", () => ends++)).toBe(true);
    expect(orders).toEqual(["run it"]);
    expect(await giveOrder(presence.owner.socket, "again", () => ends++)).toBe(false);
    expect(await giveOrder(join(home, "nobody.sock"), "x", () => ends++)).toBe(false);
    expect(ends).toBe(0);
    await presence.close();
    await expect.poll(() => ends).toBe(1);
  });
});

describe("the inbox", () => {
  const entry = { job: { id: "job", uid: "u1", name: "job" }, seq: 1, slot: 5, prompt: "p", deliveredAt: 6 };

  it("holds a prompt once, however often it is delivered, even after it was taken", async () => {
    const { store } = await open();
    await Promise.all(Array.from({ length: 5 }, () => store.inbox.deliver("main", entry)));
    expect(await store.inbox.list("main")).toEqual([entry]);
    expect(await store.inbox.list("other")).toEqual([]);
    expect(await store.inbox.acknowledge("main", () => true)).toBe(1);
    await store.inbox.deliver("main", entry);
    expect(await store.inbox.list("main")).toEqual([]);
    // A power cut took the first claim of this slot, and it was claimed again.
    await store.inbox.deliver("main", { ...entry, seq: 2 });
    expect(await store.inbox.list("main")).toEqual([]);
    await store.inbox.deliver("main", { ...entry, seq: 3, slot: 65 });
    expect(await store.inbox.pending("main", entry.job)).toBe(1);
  });

  it("mends an entry that a power cut has emptied, and counts what others deliver", async () => {
    const { store, clock, home } = await open();
    await store.inbox.deliver("main", entry);
    await writeFile(join(home, "cron", "inbox", "main", "job.u1.5.json"), "");
    expect((await store.inbox.list("main"))[0]?.prompt).toMatch(/damaged/);
    await store.inbox.deliver("main", entry);
    await store.inbox.sync("main", entry.job, entry.slot);
    expect(await store.inbox.list("main")).toEqual([entry]);
    const other = createCronStore({ home, clock });
    for (const slot of [65, 125]) {
      await other.inbox.deliver("main", { ...entry, slot });
      expect(await store.inbox.pending("main", entry.job)).toBe(slot === 65 ? 2 : 3);
    }
  });
});

describe("the ledger", () => {
  it("gives exactly as many runs a day as there are", async () => {
    const { store, clock } = await open();
    const taken = await Promise.all(Array.from({ length: 12 }, () => store.ledger.takeRun(7)));
    expect(taken.filter(Boolean)).toHaveLength(7);
    expect(await store.ledger.takeRun(7)).toBe(false);
    await store.ledger.spend("a", 1.5);
    await store.ledger.spend("b", 0.25);
    expect(await store.ledger.today()).toEqual({ runs: 7, costUsd: 1.75 });
    clock.set(clock.now() + 86_400_000);
    expect(await store.ledger.today()).toEqual({ runs: 0, costUsd: 0 });
    expect(await store.ledger.takeRun(7)).toBe(true);
  });
});

/** A clock that leaps at each look. */
function passing(step: number): () => number {
  let now = 0;
  return () => (now += step);
}
