import { open, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../shared/durable.ts";

/**
 * Figures from the audit log, kept up to date by reading only what was added since the last look: the place up to
 * which it was read is saved with them. A damaged or missing file only means that the log is read from its start.
 */
const toolSchema = z.object({
  uses: z.number(),
  ok: z.number(),
  /** Error code to count. */
  codes: z.record(z.string(), z.number()),
  /** Calls by duration: bucket n holds those of up to 2^(n/2) / 10 ms. */
  durations: z.array(z.number()),
  lastErrors: z.array(z.object({ time: z.string(), code: z.string(), error: z.string() })),
});

const countedSchema = z.object({ count: z.number(), tool: z.string(), sample: z.string() });

const agentSchema = z.object({
  tools: z.record(z.string(), toolSchema),
  unknownTools: z.record(z.string(), z.number()),
  /** Failures that look alike: tool, code and message without its numbers and names. */
  failures: z.record(z.string(), countedSchema),
  /** Requests that look alike: tool and the values of its arguments without numbers. */
  requests: z.record(z.string(), countedSchema),
});

const stateSchema = z.object({
  version: z.literal(1),
  inode: z.number(),
  offset: z.number(),
  since: z.string(),
  agents: z.record(z.string(), agentSchema),
  approvals: z.object({ requested: z.number(), decisions: z.record(z.string(), z.number()) }),
});

export type ToolFigures = z.output<typeof toolSchema>;
export type AgentFigures = z.output<typeof agentSchema>;
export type Insights = z.output<typeof stateSchema>;

const entrySchema = z.looseObject({
  time: z.string(),
  event: z.string(),
  tool: z.string().optional(),
  agent: z.string().optional(),
  outcome: z.string().optional(),
  error: z.string().optional(),
  ms: z.number().optional(),
  args: z.unknown().optional(),
  decision: z.string().optional(),
});

const BUCKETS = 50;
const MOST_KEYS = 300;
const MOST_ERRORS = 5;
const CHUNK = 1 << 20;

export async function readInsights(home: string): Promise<Insights> {
  const log = join(home, "audit", "audit.jsonl");
  const file = join(home, "audit", "insights.json");
  const state = await load(file);
  const current = await stat(log).catch(() => undefined);
  if (current === undefined) return state;
  let changed = false;
  if (state.inode !== 0 && state.inode !== current.ino) {
    // Rotated since: the rest of the old file is under its new name.
    const old = await stat(`${log}.1`).catch(() => undefined);
    if (old?.ino === state.inode) changed = await readFrom(`${log}.1`, state);
    state.offset = 0;
  }
  if (current.size < state.offset) state.offset = 0;
  state.inode = current.ino;
  if (await readFrom(log, state)) changed = true;
  // Two processes that save at once both save true figures up to their own place.
  if (changed) await replaceFile(file, JSON.stringify(state)).catch(() => {});
  return state;
}

async function load(file: string): Promise<Insights> {
  try {
    return stateSchema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return {
      version: 1,
      inode: 0,
      offset: 0,
      since: "",
      agents: {},
      approvals: { requested: 0, decisions: {} },
    };
  }
}

async function readFrom(path: string, state: Insights): Promise<boolean> {
  const handle = await open(path, "r");
  try {
    const buffer = Buffer.alloc(CHUNK);
    let pending = Buffer.alloc(0);
    let read = false;
    for (let at = state.offset; ;) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK, at);
      if (bytesRead === 0) return read;
      read = true;
      at += bytesRead;
      pending = Buffer.concat([pending, buffer.subarray(0, bytesRead)]);
      const end = pending.lastIndexOf(0x0a) + 1;
      for (const line of pending.subarray(0, end).toString("utf8").split("\n"))
        if (line !== "") count(line, state);
      // A half-written last line is read again next time.
      state.offset += end;
      pending = pending.subarray(end);
    }
  } finally {
    await handle.close();
  }
}

function count(line: string, state: Insights): void {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return;
  }
  const entry = entrySchema.safeParse(parsed);
  if (!entry.success) return;
  const { time, event, outcome = "ok", error = "", ms = 0 } = entry.data;
  if (state.since === "") state.since = time;
  if (event === "approval_request") state.approvals.requested += 1;
  if (event === "approval_resolved") bump(state.approvals.decisions, entry.data.decision ?? "unknown");
  const { tool } = entry.data;
  if (event !== "tool_call" || tool === undefined) return;

  const agentId = entry.data.agent ?? "";
  const agent = (state.agents[agentId] = own(state.agents, agentId) ?? {
    tools: {},
    unknownTools: {},
    failures: {},
    requests: {},
  });
  if (outcome === "unknown_tool") {
    bump(agent.unknownTools, tool);
    return;
  }
  const figures = (agent.tools[tool] = own(agent.tools, tool) ?? {
    uses: 0,
    ok: 0,
    codes: {},
    durations: Array.from({ length: BUCKETS }, () => 0),
    lastErrors: [],
  });
  figures.uses += 1;
  const bucket = Math.min(BUCKETS - 1, Math.max(0, Math.ceil(2 * Math.log2(Math.max(ms, 0.1) * 10))));
  figures.durations[bucket] = (figures.durations[bucket] ?? 0) + 1;
  tally(agent.requests, `${tool} ${shapeOf(JSON.stringify(entry.data.args ?? {}))}`, tool, entry.data.args);
  if (outcome === "ok") {
    figures.ok += 1;
    return;
  }
  bump(figures.codes, outcome);
  figures.lastErrors = [...figures.lastErrors, { time, code: outcome, error: error.slice(0, 300) }].slice(
    -MOST_ERRORS,
  );
  tally(agent.failures, `${tool} ${outcome} ${shapeOf(error)}`, tool, error);
}

/** What stays when names and numbers are taken out: two that look alike are one kind. */
function shapeOf(text: string): string {
  return text
    .replace(/"[^"]{0,200}"(?!:)/g, '"…"')
    .replace(/\d+/g, "0")
    .slice(0, 200);
}

/** Names come from callers, and every object has a `constructor`. */
function own<T>(record: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function bump(counts: Record<string, number>, key: string): void {
  counts[key] = (own(counts, key) ?? 0) + 1;
  dropRarest(counts, (value) => value);
}

function tally(
  counts: Record<string, { count: number; tool: string; sample: string }>,
  key: string,
  tool: string,
  sample: unknown,
): void {
  const text = typeof sample === "string" ? sample : JSON.stringify(sample ?? {});
  counts[key] = { count: (own(counts, key)?.count ?? 0) + 1, tool, sample: text.slice(0, 500) };
  dropRarest(counts, (value) => value.count);
}

function dropRarest<T>(counts: Record<string, T>, size: (value: T) => number): void {
  const entries = Object.entries(counts);
  if (entries.length <= MOST_KEYS) return;
  // Half goes at once, so that this isn't done for every line.
  const keep = entries.sort(([, a], [, b]) => size(b) - size(a)).slice(0, MOST_KEYS / 2);
  const kept = new Set(keep.map(([key]) => key));
  for (const [key] of entries) if (!kept.has(key)) delete counts[key];
}

/** The duration below which that share of the calls lies, in milliseconds: the upper bound of its bucket. */
export function percentile({ durations, uses }: ToolFigures, share: number): number {
  let seen = 0;
  for (const [bucket, calls] of durations.entries()) {
    seen += calls;
    if (seen >= uses * share) return Math.round(2 ** (bucket / 2)) / 10;
  }
  return 0;
}
