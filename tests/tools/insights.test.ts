import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readInsights } from "../../src/stores/insights.ts";
import { reportOf } from "../../src/tools/insights/report.ts";
import { call, runCli, sandbox, startCamel } from "../harness.ts";

const FULL = { "home/config.yaml": "tools: { tier: full }\n", "workspace/MEMORY.md": "x\n" };

describe("insights", () => {
  test("counts uses, success and failures by agent, and proposes what is missing", async () => {
    const box = await sandbox(FULL);
    const camel = await startCamel(box);
    for (let index = 0; index < 4; index++) {
      await call(camel, "memory_get", { filePath: "MEMORY.md" });
      await call(camel, "memory_get", { filePath: `memory/note-${index}.md` });
      await call(camel, "convert_pdf", { file: `${index}.pdf` });
    }
    await call(camel, "memory_get", { filePath: "MEMORY.md" }, { agentId: "alice" });
    await camel.close();
    const report = reportOf(await readInsights(box.home), "main");
    expect(report.tools).toMatchObject([{ tool: "memory_get", uses: 8, successRate: 0.5 }]);
    expect(report.failures).toMatchObject([{ tool: "memory_get", count: 4 }]);
    expect(report.proposals.map((one) => one.draft.name)).toContain("convert_pdf");
    expect(reportOf(await readInsights(box.home), undefined).tools.length).toBe(2);
    const told = await call(camel, "insights_report", { focus: "gaps" });
    expect(told.text).toMatch(/"convert_pdf" was called 4 times and doesn't exist[\s\S]*tool_create/);
  });

  test("a caller's mistake, or a rule that refuses, is no missing tool", async () => {
    const box = await sandbox({ "home/config.yaml": "tools: { tier: full, deny: [cron] }\n" });
    const camel = await startCamel(box);
    for (let index = 0; index < 4; index++) {
      await call(camel, "memory_get", {});
      await call(camel, "cron", { action: "list" });
    }
    const told = await call(camel, "insights_report", { focus: "gaps" });
    expect(told.text).not.toContain("_fixed");
    expect((await call(camel, "insights_report", { focus: "failures" })).text).toContain("4 x memory_get");
  });

  test("reads only what was added, survives rotation and a damaged state, and never counts twice", async () => {
    const box = await sandbox({
      ...FULL,
      "home/config.yaml": "tools: { tier: full }\naudit: { maxBytes: 10000, keep: 50 }\n",
    });
    const camel = await startCamel(box);
    let calls = 0;
    const uses = async (): Promise<number> =>
      reportOf(await readInsights(box.home), "main").tools.reduce((sum, one) => sum + one.uses, 0);
    for (let round = 0; round < 12; round++) {
      for (let index = 0; index < 10; index++, calls++)
        await call(camel, "memory_get", { filePath: "MEMORY.md" });
      await camel.close();
      expect(await uses()).toBe(calls);
      expect(await uses()).toBe(calls);
    }
    const file = join(box.home, "audit", "insights.json");
    const { offset } = JSON.parse(await readFile(file, "utf8")) as { offset: number };
    expect(offset).toBeGreaterThan(0);
    await writeFile(file, "{ damaged");
    expect(await uses()).toBeGreaterThan(0);
  });

  test("the command prints for people and scripts", async () => {
    const box = await sandbox(FULL);
    await runCli(["call", "memory_get", '{"filePath":"MEMORY.md"}'], box);
    expect((await runCli(["insights", "tools"], box)).stdout).toContain(
      "memory_get: 1 calls, 100 % succeeded",
    );
    const json = JSON.parse((await runCli(["insights", "--json"], box)).stdout) as { tools: unknown[] };
    expect(json.tools.length).toBe(1);
    expect((await runCli(["insights", "weather"], box)).code).toBe(2);
    expect((await runCli(["insights"], await sandbox())).stdout).toContain("No calls");
  });
});
