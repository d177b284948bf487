import { percentile, type AgentFigures, type Insights } from "../../stores/insights.ts";

export const FOCUSES = ["summary", "tools", "failures", "latency", "approvals", "gaps"] as const;
export type Focus = (typeof FOCUSES)[number];

/** So often must something come up before a tool for it is proposed. */
const OFTEN = 3;
const MOST_ROWS = 15;

export interface Proposal {
  why: string;
  count: number;
  /** A definition to start from, for tool_create. */
  draft: { name: string; description: string; strategy_hint: string };
}

export interface Report {
  since: string;
  tools: {
    tool: string;
    uses: number;
    successRate: number;
    p50Ms: number;
    p95Ms: number;
    lastError: string;
  }[];
  failures: { tool: string; count: number; sample: string }[];
  approvals: { requested: number; decisions: Record<string, number> };
  proposals: Proposal[];
}

/** The figures of one agent, or of all where none is named. */
export function reportOf(insights: Insights, agent: string | undefined): Report {
  const agents = Object.entries(insights.agents)
    .filter(([name]) => agent === undefined || name === agent)
    .map(([, figures]) => figures);
  return {
    since: insights.since,
    tools: agents
      .flatMap((one) => Object.entries(one.tools))
      .map(([tool, figures]) => ({
        tool,
        uses: figures.uses,
        successRate: Math.round((figures.ok / figures.uses) * 1000) / 1000,
        p50Ms: percentile(figures, 0.5),
        p95Ms: percentile(figures, 0.95),
        lastError: figures.lastErrors.at(-1)?.error ?? "",
      }))
      .sort((a, b) => b.uses - a.uses)
      .slice(0, MOST_ROWS),
    failures: agents
      .flatMap((one) => Object.values(one.failures))
      .filter(({ count }) => count >= OFTEN)
      .sort((a, b) => b.count - a.count)
      .slice(0, MOST_ROWS),
    approvals: insights.approvals,
    proposals: agents
      .flatMap(proposalsOf)
      .sort((a, b) => b.count - a.count)
      .slice(0, MOST_ROWS),
  };
}

/** A mistake of the caller, or a limit somebody set: another tool would change nothing. */
const NO_GAP =
  /^Error \((?:invalid_input|denied_by_policy|approval_\w+|blocked_by_hook|rate_limited|limit_reached|cancelled)\)/;

/** A need that comes up again and again without a tool of its own. */
function proposalsOf({ unknownTools, failures, requests }: AgentFigures): Proposal[] {
  const missing = Object.entries(unknownTools)
    .filter(([, count]) => count >= OFTEN)
    .map(([name, count]) => ({
      why: `"${name}" was called ${count} times and doesn't exist.`,
      count,
      draft: {
        name: nameFrom(name),
        description: `What "${name}" should do; say it in a sentence.`,
        strategy_hint: "shell",
      },
    }));
  const failing = Object.values(failures)
    .filter(({ count, sample }) => count >= OFTEN && !NO_GAP.test(sample))
    .map(({ tool, count, sample }) => ({
      why: `${tool} failed ${count} times in the same way: ${sample.split("\n")[0] ?? ""}`,
      count,
      draft: {
        name: nameFrom(`${tool}_fixed`),
        description: `Does what ${tool} was called for when it failed like this.`,
        strategy_hint: "composite",
      },
    }));
  const repeated = Object.values(requests)
    .filter(({ count, sample }) => count >= OFTEN && sample.length > MEANINGFUL)
    .map(({ tool, count, sample }) => ({
      why: `${tool} was called ${count} times with requests of the same shape, such as ${sample}`,
      count,
      draft: {
        name: nameFrom(`${tool}_again`),
        description: `Calls ${tool} with what changes from time to time as parameters.`,
        strategy_hint: "composite",
      },
    }));
  return [...missing, ...failing, ...repeated];
}

/** `{}` and `{"action":"list"}` are nothing to make a tool of. */
const MEANINGFUL = 40;

function nameFrom(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+|_+$/g, "");
  return (name.length < 3 ? `tool_${name}` : name).slice(0, 49);
}

export function renderReport(report: Report, focus: Focus): string {
  if (report.tools.length === 0 && report.proposals.length === 0) return "No calls have been recorded yet.";
  const sections: Record<Exclude<Focus, "summary">, () => string[]> = {
    tools: () =>
      report.tools.map((one) => `${one.tool}: ${one.uses} calls, ${percent(one.successRate)} succeeded`),
    latency: () => report.tools.map((one) => `${one.tool}: p50 ${one.p50Ms} ms, p95 ${one.p95Ms} ms`),
    failures: () => [
      ...report.failures.map((one) => `${one.count} x ${one.tool}: ${one.sample.split("\n")[0] ?? ""}`),
      ...report.tools
        .filter((one) => one.lastError !== "")
        .map((one) => `last error of ${one.tool}: ${one.lastError.split("\n")[0] ?? ""}`),
    ],
    approvals: () => [
      `${report.approvals.requested} asked for`,
      ...Object.entries(report.approvals.decisions).map(([decision, count]) => `${count} x ${decision}`),
    ],
    gaps: () =>
      report.proposals.flatMap((one) => [
        one.why,
        `  start with tool_create ${JSON.stringify({ action: "create", ...one.draft })}`,
      ]),
  };
  const wanted = focus === "summary" ? (["tools", "failures", "gaps"] as const) : [focus];
  const text = wanted.flatMap((name) => {
    const lines = sections[name]();
    return [`${name}:`, ...(lines.length === 0 ? ["  nothing"] : lines.map((line) => `  ${line}`))];
  });
  return [`Since ${report.since}`, ...text].join("\n");
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}
