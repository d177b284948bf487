import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeSegment, encodeSegment } from "../../src/tools/memory/search/persist.ts";
import { termsOf } from "../../src/tools/memory/search/query.ts";
import { buildSegment } from "../../src/tools/memory/search/segment-builder.ts";
import { readPostings } from "../../src/tools/memory/search/segment.ts";
import { hashTerm } from "../../src/tools/memory/search/term-hash.ts";

const word = fc.constantFrom("cat", "cats", "Running", "ran", "café", "北京大学", "the", "x", "naïve", "42");
const text = fc
  .array(fc.tuple(word, fc.constantFrom(" ", ". ", "\n", "\n\n# ", ": ")), { maxLength: 60 })
  .map((parts) => parts.flat().join(""));

/** The slow, obvious way: read every unit's text again and count. */
test("postings, after a save and a load, say what reading every unit says", () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (texts) => {
      const files = texts.map((content, at) => ({
        path: `memory/n${at}.md`,
        size: 0,
        mtimeMs: 0,
        ctimeMs: 0,
        checksum: 0,
        text: content,
      }));
      const segment = decodeSegment(encodeSegment(buildSegment(files)));
      if (!segment) throw new Error("not decoded");
      const expected = new Map<string, Set<number>>();
      files.forEach((file, at) => {
        for (let unit = segment.fileUnits[at] ?? 0; unit < (segment.fileUnits[at + 1] ?? 0); unit += 1) {
          for (const { term } of termsOf(file.text.slice(segment.unitStart[unit], segment.unitEnd[unit]))) {
            expected.set(term, (expected.get(term) ?? new Set()).add(unit));
          }
        }
      });
      for (const [term, units] of expected) {
        const { low, high } = hashTerm(term);
        const found = new Set(readPostings(segment, segment.terms.get(low, high)).units);
        for (const unit of units) expect(found.has(unit)).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});
