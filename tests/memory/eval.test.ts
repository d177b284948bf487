import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { measure } from "../../scripts/eval-memory.mjs";

test("the repository's own questions are answered within the first six passages", async () => {
  const figures = await measure(fileURLToPath(new URL("eval", import.meta.url)));
  expect(figures.questions).toBe(41);
  expect(figures.recall, `not found: ${figures.missed.join("; ")}`).toBeGreaterThanOrEqual(0.95);
  expect(figures.reciprocalRank).toBeGreaterThanOrEqual(0.93);
  expect(figures.characters).toBeLessThan(3_000);
});
