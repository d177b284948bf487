import { appendFile, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readInsights } from "../../src/stores/insights.ts";
import { defineTool } from "../../src/tools/adopt.ts";
import type { Proposal } from "../../src/tools/insights/proposals.ts";
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
    expect(report.proposals.map((one) => one.definition.name)).toContain("convert_pdf");
    // All agents together are one line a tool.
    expect(reportOf(await readInsights(box.home), undefined).tools).toMatchObject([{ uses: 9 }]);
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
    expect(told.text).not.toContain("tool_create");
    expect((await call(camel, "insights_report", { focus: "failures" })).text).toContain("4 x memory_get");
  });

  test("each proposal's definition is taken by tool_create as it is, and a repeated request works as a tool", async () => {
    const ran: unknown[] = [];
    const run = defineTool({
      name: "run_it",
      effect: "read",
      schema: z.object({
        command: z.string(),
        "odd-name": z.string().optional(),
        token: z.string().optional(),
      }),
      func: (input) => (ran.push(input), `ran ${String(input["command"])}`),
    });
    const flaky = defineTool({
      name: "flaky",
      effect: "read",
      schema: z.object({ page: z.number() }),
      func: ({ page }) => Promise.reject(new Error(`no page ${String(page)}`)),
    });
    const box = await sandbox(FULL);
    const camel = await startCamel(box, { tools: [run, flaky] });
    for (let page = 1; page <= 3; page++) {
      await call(camel, "run_it", { command: "git status", "odd-name": "1.x" });
      await call(camel, "run_it", { command: `pdf convert in-${page}.pdf`, token: "t" });
      await call(camel, "flaky", { page });
      await call(camel, "Read File", { path: `${page}.txt`, lines: page });
      await call(camel, "constructor", "not an object");
    }
    const told = await call(camel, "insights_report", { focus: "gaps" });
    const { proposals } = told.structured as { proposals: Proposal[] };
    expect(proposals.map(({ definition }) => [definition.name, definition.strategy["type"]])).toEqual([
      ["read_file", "llm"],
      ["constructor", "llm"],
      ["flaky_instead", "llm"],
      ["run_it_git_status", "composite"],
      ["run_it_pdf_convert", "composite"],
    ]);
    for (const { definition } of proposals) {
      expect(told.text).toContain(JSON.stringify({ action: "create", definition }));
      const made = await call(camel, "tool_create", { action: "create", definition });
      expect([definition.name, made.text]).toEqual([
        definition.name,
        expect.stringContaining("Made the tool"),
      ]);
    }
    ran.length = 0;
    expect((await call(camel, "run_it_git_status", {})).text).toBe("ran git status");
    // What changed from call to call, and what the log leaves out, are parameters.
    await call(camel, "run_it_pdf_convert", { command: "pdf convert b.pdf", token: "mine" });
    expect(ran).toEqual([
      { command: "git status", "odd-name": "1.x" },
      { command: "pdf convert b.pdf", token: "mine" },
    ]);
  });

  test("durations are right within a tenth, and errors keep their time", async () => {
    const lines = Array.from({ length: 100 }, (_, index) => ({
      time: new Date(index).toISOString(),
      event: "tool_call",
      tool: "t",
      agent: "main",
      outcome: index < 7 ? "timeout" : "ok",
      ...(index < 7 ? { error: `Error (timeout): ${index} s` } : {}),
      ms: index + 1,
    }));
    const box = await sandbox({
      "home/audit/audit.jsonl": lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    });
    const [tool] = reportOf(await readInsights(box.home), "main").tools;
    expect(Math.abs((tool?.p50Ms ?? 0) - 50)).toBeLessThan(5);
    expect(Math.abs((tool?.p95Ms ?? 0) - 95)).toBeLessThan(9.5);
    expect(tool?.lastErrors.map(({ error }) => error)).toEqual(
      [2, 3, 4, 5, 6].map((n) => `Error (timeout): ${n} s`),
    );
    expect(reportOf(await readInsights(box.home), "main").failures).toMatchObject([{ tool: "t", count: 7 }]);
  });

  test("the log rotated several times between two looks is read on where the last look ended", async () => {
    const box = await sandbox();
    let written = 0;
    const lines = (count: number): string =>
      Array.from({ length: count }, () => {
        const time = new Date(1_000 + written++).toISOString();
        return `${JSON.stringify({ time, event: "tool_call", tool: "t", agent: "main", outcome: "ok", ms: 1 })}\n`;
      }).join("");
    const log = join(box.home, "audit", "audit.jsonl");
    const uses = async (): Promise<number> =>
      reportOf(await readInsights(box.home), "main").tools.reduce((sum, one) => sum + one.uses, 0);
    await box.write("home/audit/audit.jsonl", lines(5));
    expect(await uses()).toBe(5);
    await appendFile(log, lines(2));
    await rename(log, `${log}.3`);
    await box.write("home/audit/audit.jsonl.2", lines(3));
    await box.write("home/audit/audit.jsonl.1", lines(4));
    await box.write("home/audit/audit.jsonl", lines(1));
    expect(await uses()).toBe(15);
    // Everything that was read last is gone; what is left is counted by its time, once.
    await rm(`${log}.3`);
    await rename(`${log}.2`, `${log}.4`);
    await rm(log);
    await appendFile(`${log}.1`, lines(2));
    expect(await uses()).toBe(17);
    expect(await uses()).toBe(17);
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
