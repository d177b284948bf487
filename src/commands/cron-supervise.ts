import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { systemClock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import { newId } from "../shared/ids.ts";
import { createCronStore } from "../stores/cron.ts";
import { announce } from "../stores/liveness.ts";
import { findJob } from "../tools/cron/all-jobs.ts";
import { carryOut } from "../tools/cron/carry-out.ts";
import { camelOptions, usageError } from "./options.ts";

interface Order {
  id: string;
  uid: string;
  seq: number;
  workspace?: string;
}

/**
 * Internal: `cron supervise ID UID SEQ` runs one claim to its result, whatever becomes of who started it. With `-`
 * it gets ready and waits for the claim on stdin; if that ends without one, nothing was to be done.
 */
export async function supervise(context: CommandContext, words: readonly string[]): Promise<number> {
  const stop = new AbortController();
  const end = (): void => stop.abort(new CamelError("cancelled", "The run was stopped from outside."));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, end);
  // A terminal that closes is no reason to end a run.
  process.on("SIGHUP", () => {});

  const order = words[0] === "-" ? await waitForOrder() : orderFrom(words);
  if (order === undefined) return 0;
  const { id, uid, seq, workspace } = order;
  const camel = await createCamel({
    ...camelOptions(context),
    // A broken config is told as the run's result, instead of nothing at all.
    startBroken: true,
    ...(workspace === undefined ? {} : { workspace }),
  });
  const store = createCronStore({ home: camel.home, clock: systemClock });
  const book = { store, settings: () => camel.config().settings, clock: systemClock };
  const job = await findJob(book, id);
  const record = await store.runs.record({ id, uid }, seq);
  if (job === undefined || job.uid !== uid || record === undefined) return 1;
  const presence = await announce(join(store.directory, "live"), end);
  await carryOut(job, record.claim, {
    book,
    owner: presence.owner,
    signal: stop.signal,
    dispatch: (call) => camel.dispatcher.call({ id: newId("call"), ...call }),
  });
  await presence.close();
  await camel.close();
  return 0;
}

function orderFrom([id, uid, number]: readonly string[]): Order {
  const seq = Number(number);
  if (id === undefined || uid === undefined || !Number.isInteger(seq))
    throw usageError("supervise is started by the scheduler, with a job and the number of a claim.");
  return { id, uid, seq };
}

/** What a run needs is loaded meanwhile. */
async function waitForOrder(): Promise<Order | undefined> {
  const [line] = await Promise.all([
    text(process.stdin),
    import("yaml"),
    import("../tools/cron/actions.ts"),
    import("../runners/create.ts"),
    import("../runners/command.ts"),
  ]);
  try {
    return JSON.parse(line) as Order;
  } catch {
    return undefined;
  }
}
