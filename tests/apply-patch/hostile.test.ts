/** Inputs of about a megabyte that make a careless matcher take minutes: each ends, with an answer of bounded size. */
import { expect, test } from "vitest";
import { CamelError } from "../../src/shared/errors.ts";
import { renderAnswer } from "../../src/tools/apply-patch/answer.ts";
import { parsePatch } from "../../src/tools/apply-patch/parse.ts";
import { planPatch, type DiskFile } from "../../src/tools/apply-patch/plan.ts";

const MOST = 8_000;
const repeat = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => text(i)).join("");
const update = (hunks: string): string => `*** Begin Patch\n*** Update File: f\n${hunks}*** End Patch\n`;
const same = "a\n".repeat(300_000);

const CASES: Record<string, { file: string; patch: string; code?: string }> = {
  "one hunk 60,000 times": {
    file: same,
    patch: update("@@\n-a\n+b\n".repeat(60_000)),
    code: "patch_ambiguous",
  },
  "the same below an anchor that is everywhere": {
    file: same,
    patch: update("@@ a\n-a\n+b\n".repeat(40_000)),
    code: "patch_ambiguous",
  },
  "hunks that contain each other": {
    file: same,
    patch: update(repeat(600, (i) => `@@\n${"-a\n".repeat(i + 1)}+b\n`)),
    code: "patch_ambiguous",
  },
  "stacked anchors, the last one everywhere": {
    file: repeat(30_000, (i) => `k${i}\na\n`),
    patch: update(repeat(20_000, (i) => `@@ k${i}\n@@ a\n-a\n+b\n`)),
    code: "patch_ambiguous",
  },
  "anchors that begin every line": {
    file: `${"a".repeat(300)}\n`.repeat(10_000),
    patch: update(repeat(250, (i) => `@@ ${"a".repeat(i + 1)}\n+y\n`)),
    code: "patch_no_match",
  },
  "line numbers for equal places": {
    file: same,
    patch: update(repeat(20_000, (i) => `@@ -${i * 7 + 1},1 +1,1 @@\n-a\n+b\n`)),
  },
  "only added lines": { file: same, patch: update("@@\n+b\n".repeat(60_000)) },
  "200,000 hunks that change nothing": { file: "a\n", patch: update("@@\n a\n".repeat(200_000)) },
  "one hunk with 200,000 separate changes": {
    file: repeat(200_000, (i) => `${i}\nx\n`),
    patch: update(`@@\n${repeat(200_000, (i) => `-${i}\n x\n`)}`),
  },
  "a lone CR at both ends": {
    file: `\r${"x\n".repeat(300_000)}y\r`,
    patch: update("@@\n-nope\n+y\n"),
    code: "patch_no_match",
  },
  "10,000 sections for one file": {
    file: `${"line\n".repeat(100_000)}a\n`,
    patch: `*** Begin Patch\n${"*** Update File: f\n@@\n-a\n+a\n".repeat(10_000)}*** End Patch\n`,
    code: "too_large",
  },
  "lines without a prefix": {
    file: same,
    patch: update(`@@\n${"a\n".repeat(200_000)}-b\n+b\n`),
    code: "patch_no_match",
  },
  "a megabyte of headers": { file: "", patch: "--- a\n".repeat(150_000), code: "patch_invalid" },
  "20,000 new files": {
    file: "",
    patch: `*** Begin Patch\n${repeat(20_000, (i) => `*** Add File: d/${i}/x\n+a\n`)}*** End Patch\n`,
  },
};

test.each(Object.entries(CASES))("%s", async (_, { file, patch, code }) => {
  const read = (path: string): Promise<DiskFile> =>
    Promise.resolve(
      path === "f" ? { kind: "file", bytes: Buffer.from(file), mode: 0o644, links: 1 } : { kind: "missing" },
    );
  const run = async () => planPatch(parsePatch(patch), { resolve: (path) => Promise.resolve(path), read });
  if (code === undefined) {
    const plan = await run();
    const answer = renderAnswer({ plan, dryRun: true, checkpoint: undefined, recovered: [] });
    expect(answer.text.length).toBeLessThan(MOST);
    expect(JSON.stringify(answer.structured).length).toBeLessThan(1.5 * MOST);
    return;
  }
  const error = await run().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CamelError);
  const { code: actual, message, next, details } = error as CamelError;
  expect(actual).toBe(code);
  expect(message.length + (next ?? "").length).toBeLessThan(MOST);
  expect(JSON.stringify({ message, next, details }).length).toBeLessThan(1.5 * MOST);
});
