import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../src/shared/clock.ts";
import { createCronStore } from "../../src/stores/cron.ts";
import { CLI } from "../harness.ts";
import { tempFolder } from "../temp-folder.ts";
import { jobAt } from "../tools/cron/job.ts";

const ROUNDS = 5;
const RUNS = 10;

it("the result survives kill -9 of the server and its group, 50 of 50", { timeout: 120_000 }, async () => {
  const root = await tempFolder("survive");
  const home = join(root, "home");
  await mkdir(home);
  const gate = join(root, "gate");
  await writeFile(
    join(home, "config.yaml"),
    JSON.stringify({
      // A run ends when the server is dead for sure, and not before.
      runner: {
        use: "command",
        command: {
          argv: [
            "/bin/sh",
            "-c",
            `round=$(cat); while [ ! -e '${gate}'"$round" ]; do sleep 0.1; done; echo survived`,
          ],
        },
      },
    }),
  );
  const store = createCronStore({ home, clock: systemClock });
  let survived = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const at = Date.now() + 1000;
    const ids = Array.from({ length: RUNS }, (_, index) => `job${round}-${index}`);
    for (const id of ids)
      await store.jobs.add(jobAt(Date.now(), { id, uid: id, schedule: "+1s", at, prompt: String(round) }));
    const server = spawn(process.execPath, [CLI, "--home", home, "--workspace", root], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    const records = () => Promise.all(ids.map((id) => store.runs.record({ id, uid: id }, 1)));
    await expect
      .poll(async () => (await records()).filter((run) => run?.started !== undefined).length, {
        timeout: 30_000,
      })
      .toBe(RUNS);
    const gone = new Promise((resolve) => server.once("exit", resolve));
    process.kill(-server.pid!, "SIGKILL");
    await gone;
    await writeFile(`${gate}${round}`, "");
    await expect
      .poll(async () => (await records()).filter((run) => run?.result !== undefined).length, {
        timeout: 30_000,
      })
      .toBe(RUNS);
    survived += (await records()).filter(
      (run) => run?.result?.status === "ok" && run.result.text.trim() === "survived",
    ).length;
  }
  expect(survived).toBe(ROUNDS * RUNS);
});
