import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/shared/clock.ts";
import { createCronStore } from "../../src/stores/cron.ts";
import { CLI } from "../harness.ts";
import { tempFolder } from "../temp-folder.ts";
import { jobAt } from "../tools/cron/job.ts";

async function open() {
  const home = await tempFolder("jobs");
  return { home, jobs: createCronStore({ home, clock: systemClock }).jobs };
}

describe("jobs", () => {
  it("are added once under an id, changed, and removed by who means them", async () => {
    const { jobs } = await open();
    const job = jobAt(0);
    const added = await Promise.all(Array.from({ length: 10 }, () => jobs.add(job)));
    expect(added.filter(Boolean)).toHaveLength(1);
    expect(await jobs.get("tick")).toEqual(job);
    expect(await jobs.update("tick", (old) => ({ ...old, name: "new" }), "another-uid")).toBeUndefined();
    expect(await jobs.update("tick", (old) => ({ ...old, name: "new" }), job.uid)).toMatchObject({
      name: "new",
    });
    expect(await jobs.remove("tick", "another-uid")).toBe(false);
    expect(await jobs.remove("tick", job.uid)).toBe(true);
    expect(await jobs.list()).toEqual([]);
    expect(await jobs.update("tick", (old) => old)).toBeUndefined();
  });

  it("no change is lost when many change at once", async () => {
    const { jobs } = await open();
    await jobs.add(jobAt(0));
    await Promise.all(
      Array.from({ length: 25 }, () => jobs.update("tick", (old) => ({ ...old, since: old.since + 1 }))),
    );
    expect((await jobs.get("tick"))?.since).toBe(25);
  });

  it("are marked as changed whenever they are", async () => {
    const { jobs } = await open();
    const marks = [await jobs.mark()];
    await jobs.add(jobAt(0));
    marks.push(await jobs.mark());
    await jobs.update("tick", (old) => ({ ...old, name: "x" }));
    marks.push(await jobs.mark());
    await jobs.remove("tick");
    marks.push(await jobs.mark());
    expect(new Set(marks).size).toBe(4);
  });

  it.each(["../x", "a/b", "", ".hidden", "UPPER", "x".repeat(65)])("%s is no id", async (id) => {
    const { jobs } = await open();
    await expect(jobs.get(id)).rejects.toThrow(/not a job id/);
  });

  it("none of 1,000 is lost when four processes add at once", { timeout: 60_000 }, async () => {
    const { home, jobs } = await open();
    await Promise.all(["a", "b", "c", "d"].map((name) => addMany(home, name, 250)));
    expect(await jobs.list()).toHaveLength(1000);
    const left = await readdir(join(home, "cron", "jobs"));
    expect(left.filter((name) => !name.endsWith(".json"))).toEqual([]);
  });
});

/** A real server that is told to add jobs as fast as it can. */
function addMany(home: string, name: string, count: number): Promise<void> {
  const child = spawn(process.execPath, [CLI, "--home", home, "--workspace", home], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const send = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  send({
    id: "start",
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "adder", version: "1" } },
  });
  send({ method: "notifications/initialized" });
  for (let index = 0; index < count; index++) {
    send({
      id: index,
      method: "tools/call",
      params: {
        name: "cron",
        arguments: { action: "add", id: `${name}${index}`, schedule: "1h", prompt: "work" },
      },
    });
  }
  return new Promise((resolve, reject) => {
    let answers = 0;
    let rest = "";
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString("utf8")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const message = JSON.parse(line) as { id?: unknown; result?: { isError?: boolean } };
        if (typeof message.id !== "number") continue;
        if (message.result === undefined || message.result.isError === true)
          reject(new Error(line.slice(0, 500)));
        if (++answers === count) child.stdin.end();
      }
    });
    child.once("exit", () => resolve());
  });
}
