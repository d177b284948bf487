import fc from "fast-check";
import { expect, test } from "vitest";
import { parseQuery, termsOf } from "../../src/tools/memory/search/query.ts";
import { DEFAULT_TUNING as T, rank } from "../../src/tools/memory/search/rank.ts";
import { buildSegment, type SourceFile } from "../../src/tools/memory/search/segment-builder.ts";
import { hashTerm } from "../../src/tools/memory/search/term-hash.ts";
import { splitUnits, UNIT_HEADING, UNIT_NAME } from "../../src/tools/memory/search/units.ts";

const WORDS = [
  "cat",
  "cats",
  "dog",
  "pet",
  "running",
  "ran",
  "runner",
  "café",
  "北京大学",
  "Zoë",
  "the",
  "happy",
  "glad",
  "gladdog",
  "get",
  "дома",
  "домами",
];
const line = fc
  .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 9 })
  .chain((words) =>
    fc
      .tuple(fc.constantFrom("", "# ", "Anna: ", "- "), fc.constantFrom(".", "?", '?"'))
      .map(([lead, end]) => `${lead}${words.join(" ")}${end}`),
  );
const texts = fc.array(
  fc.array(line, { maxLength: 12 }).map((lines) => lines.join("\n")),
  { minLength: 1, maxLength: 4 },
);
const query = fc.array(
  fc.constantFrom(...WORDS, "Anna", "runs", "hapyp", "gladdog", "runing", "glad", "dog"),
  { minLength: 1, maxLength: 4 },
);

interface OracleUnit {
  file: number;
  isName: boolean;
  isHeading: boolean;
  asks: boolean;
  /** Words, and pairs of a dense script. */
  length: number;
  counts: Map<string, number>;
  labels: Set<string>;
}

/** Every unit read and counted anew, every rule of docs/memory.md applied in the most obvious way. */
function oracle(files: readonly SourceFile[], text: string): number[] {
  const units: OracleUnit[] = files.flatMap((file, number) =>
    splitUnits(file.text).map((unit) => {
      const isName = unit.kind === UNIT_NAME;
      const own = isName ? file.path.replace(/\.md$/, "") : file.text.slice(unit.start, unit.end);
      const label = file.text.slice(unit.labelStart, unit.labelEnd);
      const counts = new Map<string, number>();
      // A unit that doesn't hold its line's label is spoken by it all the same.
      const terms = allTerms(own).concat(unit.start > unit.labelStart ? allTerms(label) : []);
      for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
      return {
        file: number,
        isName,
        isHeading: unit.kind === UNIT_HEADING,
        asks: /[?？]["')]*$/.test(own) && !isName,
        length: allTerms(own).filter((term) => !/^\p{Script=Han}$/u.test(term)).length,
        counts,
        labels: new Set(allTerms(label)),
      };
    }),
  );
  const average = Math.max(1, units.reduce((sum, { length }) => sum + length, 0) / units.length);
  const vocabulary = new Set(units.flatMap(({ counts }) => [...counts.keys()]));
  const total = units.map(() => 0);
  for (const asked of parseQuery(text).terms) {
    const hashes = (list: readonly { low: number; high: number }[]): Set<string> =>
      new Set(list.map(({ low, high }) => `${low}:${high}`));
    const holding = (term: string): number => units.filter(({ counts }) => counts.has(term)).length;
    const rarity = (term: string): number =>
      Math.log(1 + (units.length - holding(term) + 0.5) / (holding(term) + 0.5));
    const idf = rarity(asked.term);
    const meant = vocabulary.has(asked.term) ? [] : meantBy(asked, vocabulary).map(hashTerm);
    const relatives: [Set<string>, number][] = [
      [hashes(asked.synonyms), T.synonym],
      [hashes(asked.things), T.thing],
      [hashes(asked.joined), T.family],
      [hashes(meant), T.family],
    ];
    const scales = [...vocabulary].flatMap((term) => {
      const { low, high } = hashTerm(term);
      const isFamily =
        term !== asked.term &&
        asked.group !== undefined &&
        isSpaced(term) &&
        term.length >= letters(term) &&
        term.slice(0, letters(term)) === asked.term.slice(0, letters(term));
      return [
        ...(term === asked.term ? [{ term, scale: 1 }] : []),
        ...(isFamily ? [{ term, scale: T.family }] : []),
        ...relatives
          .filter(([names]) => names.has(`${low}:${high}`))
          .map(([, scale]) => ({ term, scale: scale * Math.min(1, rarity(term) / idf) })),
      ];
    });
    let occurrences = 0;
    for (const { term } of scales) occurrences += units.filter(({ counts }) => counts.has(term)).length;
    const reach = occurrences > 50 && occurrences > units.length * T.spreadLimit ? 0 : T.spread.length;
    units.forEach((unit, at) => {
      let most = 0;
      units.forEach((from, other) => {
        const distance = Math.abs(at - other);
        if (from.file !== unit.file || distance > reach) return;
        // Back to the heading of its own section; forward up to the next one, but for headings and names.
        const between = at < other ? units.slice(at + 1, other + 1) : units.slice(other + 1, at + 1);
        const isTitle = at > other && (from.isHeading || from.isName);
        if (!isTitle && between.some(({ isHeading }) => isHeading)) return;
        for (const { term, scale } of scales) {
          const times = Math.min(from.counts.get(term) ?? 0, 127);
          if (times === 0) continue;
          const long = 1 - T.b + (T.b * from.length) / average;
          const saturated = (times * (T.k1 + 1)) / (times + T.k1 * long);
          const plain = asked.weight * idf * saturated * scale * (from.isName ? T.heading : 1);
          const near = (T.spread[distance - 1] ?? 0) * (at < other ? T.back : from.asks ? T.asked : 1);
          const given = distance > 0 ? plain * near : from.labels.has(term) ? plain * T.label : plain;
          most = Math.max(most, given);
        }
      });
      total[at] = (total[at] ?? 0) + most;
    });
  }
  return total;
}

/** As the stem is one slip away; else as the word written is, which is then stemmed. */
function meantBy(asked: { term: string; word: string }, vocabulary: ReadonlySet<string>): string[] {
  const parted = [...vocabulary].filter((term) => isPart(asked.word, term, vocabulary));
  const near = [...vocabulary].filter((term) => isSlip(asked.term, term));
  if (near.length > 0 || !isPlain(asked.term)) return [...near, ...parted];
  return [...slipsOf(asked.word).filter((term) => vocabulary.has(term)), ...parted];
}

/** Terms of every spelling that is one slip away. */
function slipsOf(word: string): string[] {
  const spellings: string[] = [];
  for (let at = 0; at <= word.length; at += 1) {
    for (const letter of ["", ...Array.from("abcdefghijklmnopqrstuvwxyz")])
      for (const left of [0, 1]) spellings.push(word.slice(0, at) + letter + word.slice(at + left));
    spellings.push(word.slice(0, at) + (word[at + 1] ?? "") + (word[at] ?? "") + word.slice(at + 2));
  }
  return spellings.filter((other) => other !== word).map((other) => termsOf(other)[0]?.term ?? "");
}

const isPlain = (word: string): boolean => word.length >= 5 && /^[a-z]+$/.test(word);

/** One of two known words that make up the asked one. */
function isPart(asked: string, term: string, vocabulary: ReadonlySet<string>): boolean {
  if (!isPlain(asked)) return false;
  for (let at = 3; at <= asked.length - 3; at += 1) {
    const parts = [asked.slice(0, at), asked.slice(at)].map((part) => termsOf(part)[0]?.term ?? "");
    if (parts.includes(term) && parts.every((part) => vocabulary.has(part))) return true;
  }
  return false;
}

/** One letter more, less or other, or two swapped. */
function isSlip(asked: string, term: string): boolean {
  if (!isPlain(asked)) return false;
  if (!/^[a-z]+$/.test(term) || Math.abs(asked.length - term.length) > 1) return false;
  let same = 0;
  while (same < asked.length && asked[same] === term[same]) same += 1;
  const [one, other] = [asked.slice(same), term.slice(same)];
  return (
    one.slice(1) === other ||
    other.slice(1) === one ||
    one.slice(1) === other.slice(1) ||
    (one[0] === other[1] && one[1] === other[0] && one.slice(2) === other.slice(2))
  );
}

/** Pairs and single characters of a dense run alike, as the index holds them. */
function allTerms(text: string): string[] {
  const dense = /[\p{Script=Han}]+/gu;
  const words = termsOf(text.replace(dense, " ")).map(({ term }) => term);
  for (const [run] of text.matchAll(dense)) {
    const characters = Array.from(run);
    words.push(...characters);
    for (let at = 1; at < characters.length; at += 1) words.push(`${characters[at - 1]}${characters[at]}`);
  }
  return words;
}

const letters = (term: string): number => (/^[\p{Script=Latin}\d]/u.test(term) ? 5 : 4);
const isSpaced = (term: string): boolean => !/\p{Script=Han}/u.test(term);

test("the typed arrays score every unit as a slow reading of the rules does", () => {
  fc.assert(
    fc.property(texts, query, (contents, words) => {
      const files = contents.map((text, at) => ({
        path: `memory/n${at}.md`,
        size: 0,
        mtimeMs: 0,
        ctimeMs: 0,
        checksum: 0,
        text,
      }));
      const segment = buildSegment(files);
      const ranking = rank({ segments: [segment], isLive: () => true }, parseQuery(words.join(" ")), 200);
      oracle(files, words.join(" ")).forEach((expected, unit) => {
        expect(ranking.scoreOf(0, unit), `unit ${unit}`).toBeCloseTo(expected, 3);
      });
    }),
    { numRuns: 300 },
  );
});

test("cut into several segments, the same files get the same order", () => {
  fc.assert(
    fc.property(texts, query, (contents, words) => {
      const files = contents.map((text, at) => ({
        path: `memory/n${at}.md`,
        size: 0,
        mtimeMs: 0,
        ctimeMs: 0,
        checksum: 0,
        text,
      }));
      const asked = parseQuery(words.join(" "));
      const scores = (segments: SourceFile[][]): number[] =>
        rank({ segments: segments.map(buildSegment), isLive: () => true }, asked, 200).best.map(
          ({ score }) => score,
        );
      const whole = scores([files]);
      const parts = scores(files.map((file) => [file]));
      expect(parts.length).toBe(whole.length);
      for (const [at, score] of whole.entries()) expect(parts[at]).toBeCloseTo(score, 3);
    }),
    { numRuns: 100 },
  );
});

test("files that can't hold one of the best units are left out, and only those", () => {
  const many = fc.array(
    fc.array(line, { maxLength: 5 }).map((lines) => lines.join("\n")),
    { minLength: 70, maxLength: 120 },
  );
  fc.assert(
    fc.property(many, query, fc.integer({ min: 1, max: 40 }), (contents, words, limit) => {
      const segment = buildSegment(
        contents.map((text, at) => ({
          path: `memory/n${at}.md`,
          size: 0,
          mtimeMs: 0,
          ctimeMs: 0,
          checksum: 0,
          text,
        })),
      );
      const ranking = rank(
        { segments: [segment], isLive: (_segment, file) => file % 7 !== 3 },
        parseQuery(words.join(" ")),
        limit,
      );
      const all = [...segment.unitStart.keys()]
        .map((unit) => ranking.scoreOf(0, unit))
        .filter((score) => score > 0);
      expect(ranking.best.map(({ score }) => score)).toEqual(all.sort((a, b) => b - a).slice(0, limit));
    }),
    { numRuns: 50 },
  );
});
