import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Camel } from "../camel.ts";
import type { Clock } from "../shared/clock.ts";
import { messageOf } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import type { Scheduler } from "./schedule.ts";

export interface LazyScheduler {
  stop(): Promise<void>;
}

const FIRST_LOOK_MS = 100;
const LOOK_MS = 5_000;

/** Loads and starts the scheduler when there is the first job to fire; until then it costs one stat now and then. */
export function scheduleLazily(options: { camel: Camel; clock: Clock; log: Logger }): LazyScheduler {
  const { camel, clock, log } = options;
  let scheduler: Scheduler | undefined;
  let starting: Promise<void> | undefined;
  let stopped = false;
  let timer = clock.setTimeout(look, FIRST_LOOK_MS);

  const hasJobs = async (): Promise<boolean> =>
    camel.config().settings.cron.jobs.length > 0 ||
    (await stat(join(camel.home, "cron", "jobs")).then(
      () => true,
      () => false,
    ));

  const start = async (): Promise<void> => {
    if (scheduler !== undefined || stopped || !(await hasJobs())) return;
    const made = await createSchedulerFor(options);
    if (stopped) return void made.stop();
    scheduler = made;
    await made.wake();
  };

  function look(): void {
    starting ??= start()
      .catch((error: unknown) => log.error(`cron: ${messageOf(error)}`))
      .finally(() => {
        starting = undefined;
        if (scheduler === undefined && !stopped) timer = clock.setTimeout(look, LOOK_MS);
      });
  }

  const stopListening = camel.onJobsChanged(() => {
    if (scheduler === undefined) look();
    else void scheduler.wake();
  });

  return {
    async stop() {
      stopped = true;
      stopListening();
      timer.cancel();
      await starting;
      await scheduler?.stop();
    },
  };
}

export async function createSchedulerFor(options: {
  camel: Camel;
  clock: Clock;
  log: Logger;
}): Promise<Scheduler> {
  const { camel, clock, log } = options;
  const { createScheduler } = await import("./schedule.ts");
  return createScheduler({
    home: camel.home,
    clock,
    log,
    settings: () => camel.config().settings,
    async ready() {
      await camel.refresh();
      return camel.config().layers.length > 0;
    },
    dispatch: (call) => camel.dispatcher.call(call),
    supervisors: camel.supervisors,
  });
}
