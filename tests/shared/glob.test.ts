import fc from "fast-check";
import { expect, test } from "vitest";
import { matchesName } from "../../src/shared/glob.ts";

test("a name matches as the expression that its pattern stands for", () => {
  const text = (alphabet: readonly string[]) =>
    fc.array(fc.constantFrom(...alphabet), { maxLength: 8 }).map((letters) => letters.join(""));
  fc.assert(
    fc.property(text(["a", "b", ".", "😀", "*", "?"]), text(["a", "b", ".", "😀", "\n"]), (pattern, name) => {
      const source = pattern.replaceAll(".", "\\.").replaceAll(/\*+/g, ".*").replaceAll("?", ".");
      expect(matchesName(pattern, name)).toBe(new RegExp(`^${source}$`, "su").test(name));
    }),
    { numRuns: 2_000 },
  );
});

test("a pattern of many stars is tried in no time", () => {
  expect(matchesName(`${"*a".repeat(40)}*b`, "a".repeat(10_000))).toBe(false);
});
