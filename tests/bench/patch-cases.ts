export interface PatchCase {
  name: string;
  files: Record<string, string>;
  patch: string;
  /** The same change for git; absent where git has no like (fuzzy cases). */
  diff?: string;
  applies: boolean;
}

export function patchCases(): PatchCase[] {
  const numbered = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => `line ${i} of the file, with some text`);
  const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");
  const v4a = (body: string): string => `*** Begin Patch\n${body}*** End Patch\n`;
  const hunk = (lines: readonly string[], at: number): string =>
    ` ${lines[at - 1]}\n-${lines[at]}\n+changed ${at}\n ${lines[at + 1]}\n`;
  const range = (at: number): string => `@@ -${at},3 +${at},3 @@\n`;
  const diffHeader = (path: string): string => `--- a/${path}\n+++ b/${path}\n`;

  const big = numbered(25_000);
  const many: Record<string, string> = {};
  let manyPatch = "";
  let manyDiff = "";
  for (let i = 0; i < 200; i++) {
    const lines = Array.from({ length: 40 }, (_, k) => `file ${i} line ${k}`);
    const path = `d${i % 10}/f${i}.txt`;
    many[path] = text(lines);
    manyPatch += `*** Update File: ${path}\n@@\n${hunk(lines, 20)}`;
    manyDiff += diffHeader(path) + range(20) + hunk(lines, 20);
  }

  const huge = numbered(100_000);
  let hunks = "";
  let hugeDiff = diffHeader("f.txt");
  for (let i = 0; i < 5_000; i++) {
    const at = i * 20 + 10;
    hunks += `@@\n${hunk(huge, at)}`;
    hugeDiff += range(at) + hunk(huge, at);
  }

  // Every line needs the loosest comparison: indentation, trailing blanks and dashes all differ from the patch.
  const loose = Array.from({ length: 100_000 }, (_, i) =>
    i % 50 === 0 ? `    mark – ${i}  ` : "    same(‘x’);  ",
  );
  const fuzzy = Array.from(
    { length: 2_000 },
    (_, i) => `@@\n mark - ${i * 50}\n-same('x');\n+other('x');\n`,
  ).join("");
  const missing = `${" same('x');\n".repeat(200)}-absent();\n+x\n`;
  return [
    {
      name: "one hunk in 1 MB",
      files: { "f.txt": text(big) },
      patch: v4a(`*** Update File: f.txt\n@@\n${hunk(big, 12_500)}`),
      diff: diffHeader("f.txt") + range(12_500) + hunk(big, 12_500),
      applies: true,
    },
    { name: "200 files", files: many, patch: v4a(manyPatch), diff: manyDiff, applies: true },
    {
      name: "5,000 hunks in 100k lines",
      files: { "f.txt": text(huge) },
      patch: v4a(`*** Update File: f.txt\n${hunks}`),
      diff: hugeDiff,
      applies: true,
    },
    {
      name: "worst-case fuzzy: 2,000 hunks in 100k lines",
      files: { "f.txt": text(loose) },
      patch: v4a(`*** Update File: f.txt\n${fuzzy}`),
      applies: true,
    },
    {
      name: "worst-case not found: 201 old lines, 100k nearly equal ones",
      files: { "f.txt": text(loose) },
      patch: v4a(`*** Update File: f.txt\n@@\n${missing}`),
      applies: false,
    },
  ];
}
