import fc from "fast-check";
import { expect, test } from "vitest";
import { CamelError } from "../../src/shared/errors.ts";
import { parsePatch } from "../../src/tools/apply-patch/parse.ts";
import { planPatch, type DiskFile } from "../../src/tools/apply-patch/plan.ts";
import { findAll } from "../../src/tools/apply-patch/search.ts";

/** One line of a random edit: kept, removed, or kept with new lines after it. */
const step = fc.record({
  text: fc.constantFrom("a", "b", "c", "", "  d", "\te", "f()"),
  act: fc.nat(9),
  added: fc.nat(2),
});
const uniqueStep = step.map((value) => ({ ...value, unique: true }));

interface Made {
  before: string;
  after: string;
  patch: string;
}

function make(
  steps: readonly { text: string; act: number; added: number; unique?: boolean }[],
  ending: string,
  lastEnding: boolean,
): Made {
  const before: string[] = [];
  const after: string[] = [];
  const script: { kind: " " | "-" | "+"; text: string }[] = [];
  for (const [i, { text, act, added, unique }] of steps.entries()) {
    const line = unique === true ? `${text}#${i}` : text;
    before.push(line);
    if (act === 0) script.push({ kind: "-", text: line });
    else {
      script.push({ kind: " ", text: line });
      after.push(line);
      if (act !== 1) continue;
      for (let k = 0; k <= added; k++) {
        script.push({ kind: "+", text: `new ${i} ${k}` });
        after.push(`new ${i} ${k}`);
      }
    }
  }
  const near = script.map((_, i) =>
    script.slice(Math.max(0, i - 3), i + 4).some((line) => line.kind !== " "),
  );
  const lines = ["*** Begin Patch", "*** Update File: f"];
  for (const [i, line] of script.entries()) {
    if (near[i] !== true) continue;
    if (near[i - 1] !== true) lines.push("@@");
    lines.push(line.kind + line.text);
  }
  lines.push("*** End Patch");
  const join = (all: readonly string[], open: boolean): string =>
    all
      .map((line) => line + ending)
      .join("")
      .slice(0, open && all.length > 0 ? -ending.length || undefined : undefined);
  // The missing last newline stays only where the last line itself does.
  const keepsLast = script.at(-1)?.kind === " ";
  const open = !lastEnding && keepsLast && before.at(-1) !== "";
  return { before: join(before, open), after: join(after, open), patch: lines.join("\n") };
}

async function run(before: string, patch: string): Promise<string> {
  const io = {
    resolve: (path: string) => Promise.resolve(path),
    read: (path: string): Promise<DiskFile> =>
      Promise.resolve(
        path === "f"
          ? { kind: "file", bytes: Buffer.from(before), mode: 0o644, links: 1 }
          : { kind: "missing" },
      ),
  };
  const plan = await planPatch(parsePatch(patch), io);
  return plan.files[0]?.after?.bytes.toString() ?? before;
}

const changes = (steps: readonly { act: number }[]): boolean => steps.some(({ act }) => act < 2);
const endings = fc.constantFrom("\n", "\r\n");

test("a patch made from an edit gives the edit when lines are unique", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(uniqueStep, { minLength: 1, maxLength: 60 }),
      endings,
      fc.boolean(),
      async (steps, ending, last) => {
        fc.pre(changes(steps));
        const { before, after, patch } = make(steps, ending, last);
        expect(await run(before, patch)).toBe(after);
      },
    ),
    { numRuns: 300 },
  );
});

test("with repeating lines it gives the edit or refuses as ambiguous, never anything else", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 60 }),
      endings,
      fc.boolean(),
      async (steps, ending, last) => {
        fc.pre(changes(steps));
        const { before, after, patch } = make(steps, ending, last);
        const result = await run(before, patch).catch((error: unknown) => error);
        if (result instanceof CamelError) expect(result.code).toBe("patch_ambiguous");
        else expect(result).toBe(after);
      },
    ),
    { numRuns: 500 },
  );
});

test("garbage is refused with a code and a next step", async () => {
  const piece = fc.constantFrom(
    "*** Begin Patch",
    "*** End Patch",
    "*** Update File: f",
    "*** Add File: g",
    "*** Delete File: f",
    "*** Move to: h",
    "*** End of File",
    "@@",
    "@@ a",
    "@@ -1,2 +3 @@ x",
    " a",
    "-a",
    "+a",
    "-b",
    "",
    "```",
    "--- a/f",
    "+++ b/f",
    "diff --git a/f b/f",
    "rename to z",
    "<<EOF",
    "EOF",
    "\\ No newline at end of file",
    "zzz",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(piece, fc.string()), { maxLength: 30 }), async (lines) => {
      const result = await run("a\nb\na\n", lines.join("\n")).catch((error: unknown) => error);
      if (typeof result === "string") return;
      expect(result).toBeInstanceOf(CamelError);
      expect((result as CamelError).code).not.toBe("internal");
      expect((result as CamelError).next).toBeTruthy();
    }),
    { numRuns: 1000 },
  );
});

test("the search finds what a plain scan finds", () => {
  const line = fc.constantFrom("a", "b", "c");
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 40 }),
      fc.array(fc.array(line, { minLength: 1, maxLength: 5 }), { maxLength: 8 }),
      (lines, patterns) => {
        const plain = patterns.map((pattern) =>
          lines.flatMap((_, at) => (pattern.every((text, i) => lines[at + i] === text) ? [at] : [])),
        );
        expect(findAll(lines, patterns).map((hits) => [...hits])).toEqual(plain);
      },
    ),
  );
});
