import { expect, test } from "vitest";
import { createRelisting } from "../../src/server/relisting.ts";
import { createFakeClock, type FakeClock } from "../fake-clock.ts";

/** Whether the answer of a call that changed the tools would leave at once, after moving the clock on. */
async function leaves(pending: Promise<void> | undefined, clock: FakeClock, after: number): Promise<boolean> {
  let isThere = pending === undefined;
  void pending?.then(() => (isThere = true));
  clock.advance(after);
  await Promise.resolve();
  await Promise.resolve();
  return isThere;
}

test("an answer waits for the host that fetches its list, and a moment for it to settle", async () => {
  const clock = createFakeClock();
  const relisting = createRelisting(clock);
  relisting.told();
  const pending = relisting.pending();
  expect(await leaves(pending, clock, 50)).toBe(false);
  relisting.listed();
  expect(await leaves(pending, clock, 10)).toBe(false);
  expect(await leaves(pending, clock, 20)).toBe(true);
});

test("one that never fetches it is waited for once, until it does so after all", async () => {
  const clock = createFakeClock();
  const relisting = createRelisting(clock);
  relisting.told();
  const first = relisting.pending();
  expect(await leaves(first, clock, 300)).toBe(true);
  relisting.told();
  expect(relisting.pending()).toBe(first);
  relisting.listed();
  relisting.told();
  expect(relisting.pending()).not.toBe(first);
});

test("changes that follow each other are one fetch to wait for", async () => {
  const clock = createFakeClock();
  const relisting = createRelisting(clock);
  relisting.told();
  relisting.told();
  relisting.listed();
  expect(await leaves(relisting.pending(), clock, 25)).toBe(true);
  relisting.told();
  expect(await leaves(relisting.pending(), clock, 25)).toBe(false);
});
