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
  ["\u200e[12.03.24, 21:15:03] Anna: I moved to Lyon.", "Anna"],
  ["12/03/24, 21:15 - Anna 🌸: I moved to Lyon.", "Anna"],
  ["12/03/24, 21:15 - ~ Anna (work): I moved to Lyon.", "Anna"],
  ["[Mar 12, 9:15 PM] Anna: I moved to Lyon.", "Anna"],
  ["2026-03-09T10:32:07Z anna#1234: I moved to Lyon.", "anna"],
  ["21:15 <@anna|away> I moved to Lyon.", "anna"],
  ["@anna: I moved to Lyon.", "anna"],
  ["[21:15] 田中：リヨンに引っ越した。", "田中"],
  ["123rd: I moved to Lyon.", ""],
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

test.each(["Anna  9:15 AM", "Anna — Today at 9:15 PM", "Anna, [12.03.24 21:15]", "**Anna** 03/12/2026 9:15"])(
  "what stands under %j is said by Anna, up to the next name or heading",
  (line) => {
    const text = `${line}\nI moved to Lyon.\n\nIt is warm.\n\nBob: Good.\nAnd then?\n\n# Other\n\nNobody says it.`;
    const said = splitUnits(text)
      .slice(1)
      .map(({ start, end, labelStart, labelEnd }) => [
        text.slice(start, end),
        text.slice(labelStart, labelEnd),
      ]);
    expect(said.slice(1)).toEqual([
      ["I moved to Lyon.", "Anna"],
      ["It is warm.", "Anna"],
      ["Bob: Good.", "Bob"],
      ["And then?", ""],
      ["# Other", ""],
      ["Nobody says it.", ""],
    ]);
  },
);

test.each(["Lunch with Bob at 12:30", "- lunch, 12:30", "The train left late, at 9:15 it was gone"])(
  "%j is no name above a speech",
  (line) => {
    expect(
      splitUnits(`${line}\nI moved to Lyon.`).map(({ labelStart, labelEnd }) => labelEnd - labelStart),
    ).toEqual([0, 0, 0]);
  },
);

const unitsOf = (text: string): string[] =>
  splitUnits(text)
    .slice(1)
    .map(({ start, end }) => text.slice(start, end).trim());

test.each([
  ["राहुल पिछले महीने मुंबई चला गया।", "उसने वहाँ एक नया फ्लैट लिया।"],
  ["کیا احمد پچھلے مہینے لاہور گیا تھا؟", "وہ وہاں ایک نئے گھر میں رہتا ہے۔"],
  ["Am 3. Mai zog Anna aus der Stadt, d. h. aufs Land.", "Dort hat sie einen Garten mit Rosen."],
  ["The song is by J. R. R. Hart and L. Bell.", "It was written for a film in 1990."],
])("a sentence ends where its language ends one: %s", (one, other) => {
  expect(unitsOf(`${one} ${other}`)).toEqual([one, other]);
});

test("a script without marks between sentences is cut at its pauses", () => {
  const clause = "สมชายย้ายไปอยู่เชียงใหม่เมื่อเดือนที่แล้วกับครอบครัว";
  const thai = unitsOf(Array.from({ length: 9 }, () => clause).join(" "));
  expect(thai.length).toBeGreaterThan(3);
  for (const unit of thai) expect(unit.split(" ").every((part) => part === clause)).toBe(true);
  const chinese = unitsOf(Array.from({ length: 40 }, () => "我们上个月搬到了上海").join("，"));
  for (const unit of chinese) expect(unit).toMatch(/^(?:我们上个月搬到了上海，?)+$/);
});
