import type { Clock } from "../shared/clock.ts";
import { messageOf } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import type { KeyringOptions } from "./keyring.ts";
import { createSealedFolder } from "./sealed-folder.ts";

export const QUALITY_FOLDER = "quality";

/** How one version of a tool has done. */
export interface Quality {
  uses: number;
  failures: number;
  /** Milliseconds of the last calls, oldest first. */
  durations: number[];
  /** The last failures, oldest first. */
  errors: { at: string; agent: string; input: string; message: string }[];
}

export interface Sample {
  milliseconds: number;
  failure?: { agent: string; input: string; message: string };
}

/** Counters of all processes on a home. Kept in memory and written in batches; a crash loses the last few. */
export interface QualityStore {
  record(tool: string, version: number, sample: Sample): Promise<Quality>;
  of(tool: string, version: number): Promise<Quality>;
  forget(tool: string): Promise<void>;
  /** Counts a wish that nothing fulfilled, and says how often it came. */
  countGap(pattern: string): Promise<number>;
  gaps(): Promise<{ pattern: string; count: number }[]>;
  flush(): Promise<void>;
}

interface Saved {
  tools: Record<string, Record<string, Quality>>;
  gaps: Record<string, number>;
}

const DURATIONS_KEPT = 50;
const ERRORS_KEPT = 5;
const MOST_GAPS = 200;
const BATCH = 25;
const BATCH_MS = 2_000;
const FILE = "all";

export function createQuality(options: KeyringOptions & { clock: Clock; log: Logger }): QualityStore {
  const store = createSealedFolder<Saved>({ ...options, folder: QUALITY_FOLDER, kind: "quality" });
  let saved: Promise<Saved> | undefined;
  let pending: { tool: string; version: number; sample: Sample; at: string }[] = [];
  let pendingGaps: string[] = [];
  let timer: { cancel(): void } | undefined;

  const load = (): Promise<Saved> =>
    (saved ??= store.read(FILE).then(
      (found) => found ?? { tools: {}, gaps: {} },
      // Counters are worth less than the call they count.
      () => ({ tools: {}, gaps: {} }),
    ));

  const flush = async (): Promise<void> => {
    timer?.cancel();
    timer = undefined;
    if (pending.length === 0 && pendingGaps.length === 0) return;
    const samples = pending;
    const gaps = pendingGaps;
    pending = [];
    pendingGaps = [];
    try {
      const written = await store.change(FILE, (current) =>
        merged(current ?? { tools: {}, gaps: {} }, samples, gaps),
      );
      if (written !== undefined) saved = Promise.resolve(written);
    } catch (error) {
      options.log.warn(`the counters of tools weren't written: ${messageOf(error)}`);
    }
  };
  const schedule = async (): Promise<void> => {
    if (pending.length + pendingGaps.length >= BATCH) await flush();
    else timer ??= options.clock.setTimeout(() => void flush(), BATCH_MS);
  };
  const now = async (): Promise<Saved> => merged(await load(), pending, pendingGaps);
  const of = async (tool: string, version: number): Promise<Quality> =>
    (await now()).tools[tool]?.[version] ?? nothing();

  return {
    of,
    flush,
    async record(tool, version, sample) {
      pending.push({ tool, version, sample, at: new Date(options.clock.now()).toISOString() });
      const quality = await of(tool, version);
      await schedule();
      return quality;
    },
    async forget(tool) {
      await flush();
      await store.change(FILE, (current) => {
        if (current === undefined) return undefined;
        const { [tool]: _gone, ...tools } = current.tools;
        return { ...current, tools };
      });
      saved = undefined;
    },
    async countGap(pattern) {
      pendingGaps.push(pattern);
      const count = (await now()).gaps[pattern] ?? 0;
      await schedule();
      return count;
    },
    gaps: async () => Object.entries((await now()).gaps).map(([pattern, count]) => ({ pattern, count })),
  };
}

function nothing(): Quality {
  return { uses: 0, failures: 0, durations: [], errors: [] };
}

function merged(
  base: Saved,
  samples: readonly { tool: string; version: number; sample: Sample; at: string }[],
  gaps: readonly string[],
): Saved {
  if (samples.length === 0 && gaps.length === 0) return base;
  const tools = { ...base.tools };
  for (const { at, sample, tool, version } of samples) {
    const before = tools[tool]?.[version] ?? nothing();
    tools[tool] = {
      ...tools[tool],
      [version]: {
        uses: before.uses + 1,
        failures: before.failures + (sample.failure === undefined ? 0 : 1),
        durations: [...before.durations, Math.round(sample.milliseconds)].slice(-DURATIONS_KEPT),
        errors:
          sample.failure === undefined
            ? before.errors
            : [...before.errors, { at, ...sample.failure }].slice(-ERRORS_KEPT),
      },
    };
  }
  const counted = { ...base.gaps };
  for (const pattern of gaps) counted[pattern] = (counted[pattern] ?? 0) + 1;
  const kept = Object.entries(counted)
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_GAPS);
  return { tools, gaps: Object.fromEntries(kept) };
}

export function percentile95(durations: readonly number[]): number {
  const sorted = durations.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.95) - 1)] ?? 0;
}
