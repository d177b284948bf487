import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { systemClock } from "../shared/clock.ts";
import { counted } from "../shared/counted.ts";
import { createCronStore } from "../stores/cron.ts";
import { createSchedulerFor } from "../transport/lazy-schedule.ts";
import { camelOptions, unknownAction, usageError } from "./options.ts";
import { printResult, shellCall, say } from "./shell-call.ts";

const ACTIONS = ["list", "add", "remove", "run", "update", "pause", "resume", "runs", "ack"];
/** Flags and the fields of a job they give. */
const FIELDS = [
  ["name", "name"],
  ["schedule", "schedule"],
  ["prompt", "prompt"],
  ["tz", "tz"],
  ["runner", "runner"],
  ["overlap", "overlap"],
  ["missed", "missed"],
  ["missed-within", "missedWithin"],
  ["on-interrupted", "onInterrupted"],
  ["timeout", "timeout"],
  ["until", "until"],
  ["jitter", "jitter"],
] as const;
const COMMANDS = [...ACTIONS, "tick", "install", "uninstall"];

/** The cron tool from the shell, policy included, and what the operating system calls when no host is open. */
export async function cron(context: CommandContext): Promise<number> {
  const [command = "list", ...words] = context.words;
  // Waiting uses timers that don't keep a server alive; a command stays until it's done.
  const alive = setInterval(() => {}, 60_000);
  try {
    if (command === "tick") return await tick(context);
    if (command === "install") return await (await import("./cron-install.ts")).install(context);
    if (command === "uninstall") return await (await import("./cron-install.ts")).uninstall(context);
    if (command === "supervise") return await (await import("./cron-supervise.ts")).supervise(context, words);
    if (ACTIONS.includes(command)) return await act(command, words, context);
  } finally {
    clearInterval(alive);
  }
  throw unknownAction("cron", command, COMMANDS);
}

async function act(action: string, words: readonly string[], context: CommandContext): Promise<number> {
  const { flags } = context;
  const [first, second] = words;
  if (action === "add" && (first ?? flags.schedule) === undefined)
    throw usageError("cron add: when, and what? cron add SCHEDULE PROMPT");
  if (action === "runs" && second !== undefined && !/^\d+$/.test(second))
    throw usageError(`cron runs: "${second}" is not the number of a run.`);
  const args: Record<string, unknown> = {
    action,
    id: flags.id ?? (action === "add" ? undefined : first),
    ...(action === "add" ? { schedule: first, prompt: second } : {}),
    ...(action === "runs" && second !== undefined ? { run: Number(second) } : {}),
  };
  for (const [flag, field] of FIELDS) if (flags[flag] !== undefined) args[field] = flags[flag];
  const maxRuns = flags["max-runs"];
  if (maxRuns !== undefined && !/^\d+$/.test(maxRuns))
    throw usageError(`--max-runs: "${maxRuns}" is not a number.`);
  if (maxRuns !== undefined) args["maxRuns"] = Number(maxRuns);
  const camel = await createCamel(camelOptions(context));
  const result = await camel.dispatcher.call(shellCall(context, "cron", args));
  await camel.close();
  return printResult(context, result);
}

/** One look at the clock: fires what is due and ends. Runs go on in processes of their own. */
async function tick(context: CommandContext): Promise<number> {
  const camel = await createCamel(camelOptions(context));
  // The scheduler itself goes on when jobs can't be read or fired; who called tick must hear of it.
  await createCronStore({ home: camel.home, clock: systemClock }).jobs.ids();
  let hasFailed = false;
  const log: typeof context.log = {
    ...context.log,
    error(message) {
      hasFailed = true;
      context.log.error(message);
    },
  };
  const scheduler = await createSchedulerFor({ camel, clock: systemClock, log });
  await scheduler.wake();
  const { jobs, next } = scheduler.state();
  await scheduler.stop();
  await camel.close();
  const time = next === undefined ? null : new Date(next).toISOString();
  say(context, { jobs, next: time }, `${counted(jobs, "job")}; next due ${time ?? "never"}.\n`);
  return hasFailed ? 1 : 0;
}
