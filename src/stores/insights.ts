import { open, readFile, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { canonicalJson } from "../shared/canonical.ts";
import { replaceFile } from "../shared/durable.ts";
import { isObject } from "../shared/is-object.ts";

/**
 * Figures from the audit log, kept up to date by reading only what was added since the last look: the place up to
 * which it was read is saved with them. A damaged or missing file only means that the log is read from its start.
 */
const toolSchema = z.object({
  uses: z.number(),
  ok: z.number(),
  /** Error code to count. */
  codes: z.record(z.string(), z.number()),
  /** Calls by duration: see bucketOf. Buckets without calls are absent. */
  durations: z.record(z.string(), z.number()),
  lastErrors: z.array(z.object({ time: z.string(), code: z.string(), error: z.string() })),
});

const likeSchema = z.object({
  count: z.number(),
  tool: z.string(),
  /** What was said, of a failure; else empty. */
  error: z.string(),
  /** The arguments of the first, and the names of those that were others later. */
  args: z.record(z.string(), z.unknown()),
  varying: z.array(z.string()),
});

const agentSchema = z.object({
  tools: z.record(z.string(), toolSchema),
  /** Calls of tools that don't exist, by name. */
  unknownTools: z.record(z.string(), likeSchema),
  /** Failures that look alike: tool, code and message without its numbers and names. */
  failures: z.record(z.string(), likeSchema),
  /** Requests that look alike: tool and arguments without numbers, paths and names. */
  requests: z.record(z.string(), likeSchema),
  approvals: z.object({ requested: z.number(), decisions: z.record(z.string(), z.number()) }),
});

const stateSchema = z.object({
  version: z.literal(2),
  inode: z.number(),
  offset: z.number(),
  since: z.string(),
  /** The time of the last line that was counted. */
  last: z.string(),
  agents: z.record(z.string(), agentSchema),
});

export type ToolFigures = z.output<typeof toolSchema>;
export type AgentFigures = z.output<typeof agentSchema>;
export type AlikeCalls = z.output<typeof likeSchema>;
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

const MOST_KEYS = 300;
const MOST_ERRORS = 5;
const CHUNK = 1 << 20;

export async function readInsights(home: string): Promise<Insights> {
  const log = join(home, "audit", "audit.jsonl");
  const file = join(home, "audit", "insights.json");
  const state = await load(file);
  const files = await logFiles(log);
  const place = files.findIndex(({ inode, size }) => inode === state.inode && size >= state.offset);
  // The file that was read last is gone: what the others hold may have been counted, or not. The times tell.
  const skipUntil = place < 0 ? state.last : "";
  let changed = false;
  for (const [index, { path, inode }] of files.entries()) {
    if (index < place) continue;
    if (state.inode !== inode || place < 0) state.offset = 0;
    state.inode = inode;
    const read = await readFrom(path, state, skipUntil);
    // Rotated just now: the names mean other files. The next look goes on from here.
    if (read === undefined) break;
    changed ||= read;
  }
  // Two processes that save at once both save true figures up to their own place.
  if (changed) await replaceFile(file, JSON.stringify(state)).catch(() => {});
  return state;
}

/** The log and what was rotated away, oldest first. */
async function logFiles(log: string): Promise<{ path: string; inode: number; size: number }[]> {
  const names: string[] = await readdir(dirname(log)).catch(() => []);
  const age = (name: string): number => Number(name.slice(basename(log).length + 1) || 0);
  const files = await Promise.all(
    names
      .filter((name) => name.startsWith(basename(log)) && Number.isInteger(age(name)))
      .sort((a, b) => age(b) - age(a))
      .map(async (name) => {
        const path = join(dirname(log), name);
        const found = await stat(path).catch(() => undefined);
        return found === undefined ? [] : [{ path, inode: found.ino, size: found.size }];
      }),
  );
  return files.flat();
}

async function load(file: string): Promise<Insights> {
  try {
    return stateSchema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return { version: 2, inode: 0, offset: 0, since: "", last: "", agents: {} };
  }
}

/** Whether anything was read; undefined where the file isn't the one meant. */
async function readFrom(path: string, state: Insights, skipUntil: string): Promise<boolean | undefined> {
  const handle = await open(path, "r").catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    if ((await handle.stat()).ino !== state.inode) return undefined;
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
        if (line !== "") count(line, state, skipUntil);
      // A half-written last line is read again next time.
      state.offset += end;
      pending = pending.subarray(end);
    }
  } finally {
    await handle.close();
  }
}

function count(line: string, state: Insights, skipUntil: string): void {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return;
  }
  const entry = entrySchema.safeParse(parsed);
  if (!entry.success || entry.data.time <= skipUntil) return;
  const { time, event, tool, outcome = "ok", error = "", ms = 0 } = entry.data;
  if (state.since === "") state.since = time;
  if (time > state.last) state.last = time;
  const agentId = entry.data.agent ?? "";
  const agent = (state.agents[agentId] = own(state.agents, agentId) ?? newAgent());
  if (event === "approval_request") agent.approvals.requested += 1;
  if (event === "approval_resolved") bump(agent.approvals.decisions, entry.data.decision ?? "unknown");
  if (event !== "tool_call" || tool === undefined) return;

  const args = asRecord(entry.data.args);
  if (outcome === "unknown_tool") {
    tally(agent.unknownTools, tool, { tool, error: "", args });
    return;
  }
  const figures = (agent.tools[tool] = own(agent.tools, tool) ?? newTool());
  figures.uses += 1;
  bump(figures.durations, String(bucketOf(ms)));
  tally(agent.requests, `${tool} ${canonicalJson(shapeOf(args))}`, { tool, error: "", args });
  if (outcome === "ok") {
    figures.ok += 1;
    return;
  }
  bump(figures.codes, outcome);
  figures.lastErrors = [...figures.lastErrors, { time, code: outcome, error: error.slice(0, 300) }].slice(
    -MOST_ERRORS,
  );
  tally(agent.failures, `${tool} ${outcome} ${errorShape(error)}`, {
    tool,
    error: error.slice(0, 500),
    args,
  });
}

export function newAgent(): AgentFigures {
  return {
    tools: {},
    unknownTools: {},
    failures: {},
    requests: {},
    approvals: { requested: 0, decisions: {} },
  };
}

export function newTool(): ToolFigures {
  return { uses: 0, ok: 0, codes: {}, durations: {}, lastErrors: [] };
}

function asRecord(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

/** What stays of a message when names and numbers are taken out: two that look alike are one kind. */
function errorShape(text: string): string {
  return text
    .replace(/"[^"]{0,200}"/g, '"…"')
    .replace(/\d+/g, "0")
    .slice(0, 200);
}

/** The same of arguments: plain words stay; numbers, paths, file names and long texts don't. */
export function shapeOf(value: unknown): unknown {
  if (typeof value === "number") return 0;
  if (typeof value === "string") {
    if (value.length > LONGEST_COMPARED) return "…";
    return value
      .split(/\s+/)
      .map((word) => (PLAIN_WORD.test(word) ? word : "…"))
      .join(" ");
  }
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shapeOf(item)]));
}

const LONGEST_COMPARED = 300;
const PLAIN_WORD = /^-{0,2}\p{L}[\p{L}_-]*$/u;

/** Names come from callers, and every object has a `constructor`. */
function own<T>(record: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function bump(counts: Record<string, number>, key: string): void {
  counts[key] = (own(counts, key) ?? 0) + 1;
  dropRarest(counts, (value) => value);
}

const LONGEST_ARGS = 2_000;

function tally(
  calls: Record<string, AlikeCalls>,
  key: string,
  { args, ...call }: Pick<AlikeCalls, "tool" | "error" | "args">,
): void {
  const before = own(calls, key);
  // Too long to start a definition from.
  const kept = JSON.stringify(args).length > LONGEST_ARGS ? {} : args;
  const first = before?.args ?? kept;
  const names = new Set([...Object.keys(first), ...Object.keys(kept)]);
  const others = [...names].filter(
    (name) => canonicalJson(first[name] ?? null) !== canonicalJson(kept[name] ?? null),
  );
  calls[key] = {
    ...call,
    count: (before?.count ?? 0) + 1,
    args: first,
    varying: [...new Set([...(before?.varying ?? []), ...others])],
  };
  dropRarest(calls, (value) => value.count);
}

function dropRarest<T>(counts: Record<string, T>, size: (value: T) => number): void {
  const entries = Object.entries(counts);
  if (entries.length <= MOST_KEYS) return;
  // Half goes at once, so that this isn't done for every line.
  const keep = entries.sort(([, a], [, b]) => size(b) - size(a)).slice(0, MOST_KEYS / 2);
  const kept = new Set(keep.map(([key]) => key));
  for (const [key] of entries) if (!kept.has(key)) delete counts[key];
}

/** Bucket n holds calls of up to 2^(n/8) / 10 ms: a figure is at most a tenth too high. */
function bucketOf(ms: number): number {
  return Math.max(0, Math.ceil(8 * Math.log2(Math.max(ms, 0.1) * 10)));
}

/** The duration below which that share of the calls lies, in milliseconds: the upper bound of its bucket. */
export function percentile({ durations, uses }: ToolFigures, share: number): number {
  let seen = 0;
  const buckets = Object.entries(durations).sort(([a], [b]) => Number(a) - Number(b));
  for (const [bucket, calls] of buckets) {
    seen += calls;
    if (seen >= uses * share) return Math.round(2 ** (Number(bucket) / 8)) / 10;
  }
  return 0;
}
