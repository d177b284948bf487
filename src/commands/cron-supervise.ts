import { join } from "node:path";
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

/** Internal: `cron supervise ID UID SEQ` runs one claim to its result, whatever becomes of who started it. */
export async function supervise(context: CommandContext, words: readonly string[]): Promise<number> {
  const [id, uid, number] = words;
  const seq = Number(number);
  if (id === undefined || uid === undefined || !Number.isInteger(seq))
    throw usageError("supervise is started by the scheduler, with a job and the number of a claim.");
  const stop = new AbortController();
  const end = (): void => stop.abort(new CamelError("cancelled", "The run was stopped from outside."));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, end);
  // A terminal that closes is no reason to end a run.
  process.on("SIGHUP", () => {});

  const camel = await createCamel(camelOptions(context));
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
