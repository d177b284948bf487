import { expect, test } from "vitest";
import { endsAsking, splitUnits } from "../../src/tools/memory/search/units.ts";

test.each([
  ["Anna: I moved to Lyon.", "Anna"],
  ["- **Anna Maria:** I moved to Lyon.", "Anna Maria"],
  ["[10:32] Anna: I moved to Lyon.", "Anna"],
  ["12/03/24, 9:15 PM - Anna: I moved to Lyon.", "Anna"],
  ["2026-03-09T10:32:07 Anna: I moved to Lyon.", "Anna"],
  ["[2026-03-09 10:32] anna_b: I moved to Lyon.", "anna_b"],
  ["**Anna** (10:32): I moved to Lyon.", "Anna"],
  ["<anna> I moved to Lyon.", "anna"],
  ["10:32 <anna> I moved to Lyon: at last.", "anna"],
  ["At 10:32 Anna said: I moved to Lyon.", ""],
  ["10:32 is when the train leaves.", ""],
  ["See https://example.com/a for more.", ""],
  ["I said <b> and meant it: really.", ""],
])("who speaks in %j is %j", (line, name) => {
  const text = `# Chat\n\n${line} It is warmer there than it was in Lille.\n`;
  const spoken = splitUnits(text).slice(2);
  expect(spoken).not.toHaveLength(0);
  for (const { labelStart, labelEnd } of spoken) expect(text.slice(labelStart, labelEnd)).toBe(name);
});

test("a question ends in its mark, whatever closes after it", () => {
  const asks = (text: string): boolean => endsAsking(text, 0, text.length);
  expect(
    ["Why?", 'He asked "why?"', "为什么？", "لماذا؟", "(really?)"].filter((text) => !asks(text)),
  ).toEqual([]);
  expect(["Because.", "", '"', "? no"].filter(asks)).toEqual([]);
});
