import { z } from "zod";
import { defineTool } from "../tool.ts";

export const insightsReport = defineTool({
  name: "insights_report",
  title: "How the tools are doing",
  description:
    "How often tools were used, how many calls succeeded, how long they took, what failed, and which tool is missing.",
  tier: "full",
  schema: z.object({
    focus: z
      .enum(["summary", "tools", "failures", "latency", "approvals", "gaps"])
      .nullable()
      .optional()
      .describe("What to report on. Default summary. gaps: tools that are missing, with a draft."),
  }),
  output: z.looseObject({
    since: z.string(),
    tools: z.array(z.looseObject({ tool: z.string(), uses: z.number(), successRate: z.number() })),
    proposals: z.array(z.looseObject({ why: z.string(), count: z.number() })),
  }),
  effect: "read",
  idempotent: true,
  async execute({ focus }, context) {
    const [{ readInsights }, { renderReport, reportOf }] = await Promise.all([
      import("../../stores/insights.ts"),
      import("./report.ts"),
      context.audited(),
    ]);
    const report = reportOf(await readInsights(context.home), context.caller.agentId);
    return { text: renderReport(report, focus ?? "summary"), structured: { ...report } };
  },
});
