import { join } from "node:path";
import { createCamel, type Camel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { systemClock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import { newId } from "../shared/ids.ts";
import { createCronStore, type CronStore } from "../stores/cron.ts";
import type { Owner } from "../stores/jobs.ts";
import { announce } from "../stores/liveness.ts";
import { createReadyPool, READY_MS } from "../stores/ready.ts";
import { findJob } from "../tools/cron/all-jobs.ts";
import { carryOut } from "../tools/cron/carry-out.ts";
import { camelOptions, usageError } from "./options.ts";

interface Order {
  id: string;
  uid: string;
  seq: number;
}

/** A server that has taken this process off the list is about to send its order. */
const LAST_ORDER_MS = 2_000;

/**
 * Internal: `cron supervise ID UID SEQ` runs one claim to its result, whatever becomes of who started it. With
 * `- KIND` it gets all ready and waits for the claim of any server; if none comes, nothing was to be done.
 */
export async function supervise(context: CommandContext, words: readonly string[]): Promise<number> {
  const stop = new AbortController();
  const end = (): void => stop.abort(new CamelError("cancelled", "The run was stopped from outside."));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, end);
  // A terminal that closes is no reason to end a run.
  process.on("SIGHUP", () => {});

  // A broken config is told as the run's result, instead of nothing at all.
  const camel = await createCamel({ ...camelOptions(context), startBroken: true });
  const store = createCronStore({ home: camel.home, clock: systemClock });
  let accept: (order: Order) => void = () => {};
  const ordered = new Promise<Order>((resolve) => {
    accept = resolve;
  });
  const presence = await announce(join(store.directory, "live"), {
    stop: end,
    order(text) {
      accept(JSON.parse(text) as Order);
      return true;
    },
  });
  const waitForOrder = async (kind: string): Promise<Order | undefined> => {
    await loadWhatRunsNeed();
    const pool = createReadyPool({ directory: join(store.directory, "ready"), clock: systemClock });
    const takeBack = await pool.offer(kind, presence.owner.socket);
    const order = await within(READY_MS, ordered, stop.signal);
    if (order !== undefined || (await takeBack())) return order;
    return within(LAST_ORDER_MS, ordered, stop.signal);
  };

  const order = words[0] === "-" ? await waitForOrder(words[1] ?? "") : orderFrom(words);
  const code = order === undefined ? 0 : await runClaim(order, camel, store, presence.owner, stop.signal);
  await presence.close();
  await camel.close();
  return code;
}

async function runClaim(
  { id, uid, seq }: Order,
  camel: Camel,
  store: CronStore,
  owner: Owner,
  signal: AbortSignal,
): Promise<number> {
  // The config may have changed while this process waited.
  await camel.refresh();
  const book = { store, settings: () => camel.config().settings, clock: systemClock };
  const job = await findJob(book, id);
  const record = await store.runs.record({ id, uid }, seq);
  if (job === undefined || job.uid !== uid || record === undefined) return 1;
  await carryOut(job, record.claim, {
    book,
    owner,
    signal,
    dispatch: (call) => camel.dispatcher.call({ id: newId("call"), ...call }),
  });
  return 0;
}

function orderFrom([id, uid, number]: readonly string[]): Order {
  const seq = Number(number);
  if (id === undefined || uid === undefined || !Number.isInteger(seq))
    throw usageError("supervise is started by the scheduler, with a job and the number of a claim.");
  return { id, uid, seq };
}

async function loadWhatRunsNeed(): Promise<void> {
  await Promise.all([
    import("yaml"),
    import("../tools/cron/actions.ts"),
    import("../runners/create.ts"),
    import("../runners/command.ts"),
  ]);
}

/** Undefined when it takes longer, or a signal comes first. */
function within<T>(milliseconds: number, work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = systemClock.setTimeout(() => resolve(undefined), milliseconds);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
    void work.then((value) => {
      timer.cancel();
      resolve(value);
    });
  });
}
