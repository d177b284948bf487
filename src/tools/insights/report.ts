import {
  newAgent,
  newTool,
  percentile,
  type AgentFigures,
  type AlikeCalls,
  type Insights,
  type ToolFigures,
} from "../../stores/insights.ts";
import { OFTEN, proposalsOf, type Proposal } from "./proposals.ts";

export const FOCUSES = ["summary", "tools", "failures", "latency", "approvals", "gaps"] as const;
export type Focus = (typeof FOCUSES)[number];

const MOST_ROWS = 15;
const MOST_ERRORS = 5;

export interface Report {
  since: string;
  tools: {
    tool: string;
    uses: number;
    successRate: number;
    p50Ms: number;
    p95Ms: number;
    /** Newest last. */
    lastErrors: ToolFigures["lastErrors"];
  }[];
  failures: { tool: string; count: number; error: string }[];
  approvals: AgentFigures["approvals"];
  proposals: Proposal[];
}

/** The figures of one agent, or of all together where none is named. */
export function reportOf(insights: Insights, agent: string | undefined): Report {
  const figures = merged(
    Object.entries(insights.agents)
      .filter(([name]) => agent === undefined || name === agent)
      .map(([, one]) => one),
  );
  return {
    since: insights.since,
    tools: Object.entries(figures.tools)
      .map(([tool, one]) => ({
        tool,
        uses: one.uses,
        successRate: Math.round((one.ok / one.uses) * 1000) / 1000,
        p50Ms: percentile(one, 0.5),
        p95Ms: percentile(one, 0.95),
        lastErrors: one.lastErrors,
      }))
      .sort((a, b) => b.uses - a.uses)
      .slice(0, MOST_ROWS),
    failures: Object.values(figures.failures)
      .filter(({ count }) => count >= OFTEN)
      .sort((a, b) => b.count - a.count)
      .slice(0, MOST_ROWS)
      .map(({ tool, count, error }) => ({ tool, count, error })),
    approvals: figures.approvals,
    proposals: proposalsOf(figures)
      .sort((a, b) => b.count - a.count)
      .slice(0, MOST_ROWS),
  };
}

function merged(agents: readonly AgentFigures[]): AgentFigures {
  const [only] = agents;
  if (agents.length === 1 && only !== undefined) return only;
  const all = newAgent();
  for (const agent of agents) {
    for (const [name, one] of Object.entries(agent.tools)) {
      const tool = (all.tools[name] = Object.hasOwn(all.tools, name)
        ? (all.tools[name] ?? newTool())
        : newTool());
      tool.uses += one.uses;
      tool.ok += one.ok;
      addCounts(tool.codes, one.codes);
      addCounts(tool.durations, one.durations);
      tool.lastErrors = [...tool.lastErrors, ...one.lastErrors]
        .sort((a, b) => (a.time < b.time ? -1 : 1))
        .slice(-MOST_ERRORS);
    }
    for (const kind of ["unknownTools", "failures", "requests"] as const) addCalls(all[kind], agent[kind]);
    all.approvals.requested += agent.approvals.requested;
    addCounts(all.approvals.decisions, agent.approvals.decisions);
  }
  return all;
}

function addCounts(into: Record<string, number>, counts: Record<string, number>): void {
  for (const [key, value] of Object.entries(counts))
    into[key] = (Object.hasOwn(into, key) ? (into[key] ?? 0) : 0) + value;
}

function addCalls(into: Record<string, AlikeCalls>, calls: Record<string, AlikeCalls>): void {
  for (const [key, one] of Object.entries(calls)) {
    const before = Object.hasOwn(into, key) ? into[key] : undefined;
    const varying = before === undefined ? one.varying : Object.keys({ ...before.args, ...one.args });
    into[key] = { ...one, count: one.count + (before?.count ?? 0), varying };
  }
}

export function renderReport(report: Report, focus: Focus): string {
  if (report.tools.length === 0 && report.proposals.length === 0) return "No calls have been recorded yet.";
  const sections: Record<Exclude<Focus, "summary">, () => string[]> = {
    tools: () =>
      report.tools.map((one) => `${one.tool}: ${one.uses} calls, ${percent(one.successRate)} succeeded`),
    latency: () => report.tools.map((one) => `${one.tool}: p50 ${one.p50Ms} ms, p95 ${one.p95Ms} ms`),
    failures: () => [
      ...report.failures.map((one) => `${one.count} x ${one.tool}: ${firstLine(one.error)}`),
      ...report.tools
        .filter((one) => one.lastErrors.length > 0)
        .map((one) => `last error of ${one.tool}: ${firstLine(one.lastErrors.at(-1)?.error)}`),
    ],
    approvals: () => [
      `${report.approvals.requested} asked for`,
      ...Object.entries(report.approvals.decisions).map(([decision, count]) => `${count} x ${decision}`),
    ],
    gaps: () =>
      report.proposals.flatMap((one) => [
        one.why,
        `  start with tool_create ${JSON.stringify({ action: "create", definition: one.definition })}`,
      ]),
  };
  const wanted = focus === "summary" ? (["tools", "failures", "gaps"] as const) : [focus];
  const text = wanted.flatMap((name) => {
    const lines = sections[name]();
    return [`${name}:`, ...(lines.length === 0 ? ["  nothing"] : lines.map((line) => `  ${line}`))];
  });
  return [`Since ${report.since}`, ...text].join("\n");
}

function firstLine(text = ""): string {
  return text.split("\n")[0] ?? "";
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}
