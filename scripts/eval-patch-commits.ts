/**
 * `npm run eval:patch:commits -- REPOSITORY [COUNT]`: real commits of a git repository as patches, in three context
 * styles and under disturbances, planned by the engine in memory and compared byte for byte. "Silently wrong" is
 * the figure that must be 0: success claimed, other bytes than the commit's.
 */
import { CamelError } from "../src/shared/errors.ts";
import { parsePatch } from "../src/tools/apply-patch/parse.ts";
import { planPatch, type DiskFile } from "../src/tools/apply-patch/plan.ts";
import { readCommits, type Commit } from "./eval/commits.ts";
import { byFunction, DISTURBANCES, plainTrial, toV4a, type Trial } from "./eval/disturbances.ts";

const [repository, count = "500"] = process.argv.slice(2);
if (repository === undefined) {
  process.stderr.write("Which repository? Give the folder of a git clone.\n");
  process.exit(2);
}

interface Tally {
  right: number;
  refused: number;
  wrong: number;
}

const tallies = new Map<string, Tally>();
const verbose = process.env["VERBOSE"];

/** Refused where even two people could not agree: the file holds the same thing twice. Right is impossible there. */
const AMBIGUOUS_BY_NATURE = new Set(["a copy of the file below"]);

async function attempt(name: string, commit: Commit, trial: Trial | undefined): Promise<void> {
  if (trial === undefined) return;
  const tally = tallies.get(name) ?? { right: 0, refused: 0, wrong: 0 };
  tallies.set(name, tally);
  const outcome = await run(trial);
  if (typeof outcome !== "string") tally[outcome ? "right" : "wrong"]++;
  else tally.refused++;
  if (outcome !== true && (verbose === name || (outcome === false && !AMBIGUOUS_BY_NATURE.has(name)))) {
    process.stdout.write(`${name}: ${commit.id}: ${outcome === false ? "SILENTLY WRONG" : outcome}\n`);
  }
}

/** True or false: right or wrong. A string: refused, and why. */
async function run({ patch, before, after }: Trial): Promise<boolean | string> {
  const read = (path: string): Promise<DiskFile> => {
    const text = before[path];
    return Promise.resolve(
      text === undefined
        ? { kind: "missing" }
        : { kind: "file", bytes: Buffer.from(text), mode: 0o644, links: 1 },
    );
  };
  const tree: Record<string, string> = { ...before };
  try {
    const plan = await planPatch(parsePatch(patch), { resolve: (path) => Promise.resolve(path), read });
    for (const file of plan.files) {
      if (file.after === undefined) delete tree[file.path];
      else tree[file.path] = file.after.bytes.toString();
    }
  } catch (error) {
    if (error instanceof CamelError && error.code !== "internal") return `${error.code} ${error.message}`;
    throw error;
  }
  const names = Object.keys(after);
  return names.length === Object.keys(tree).length && names.every((name) => tree[name] === after[name]);
}

let done = 0;
for (const commit of readCommits(repository, 3)) {
  await attempt("three lines of context", commit, plainTrial(commit));
  await attempt("three lines and the function", commit, plainTrial(commit, toV4a(commit.files, byFunction)));
  for (const [name, disturb] of Object.entries(DISTURBANCES)) await attempt(name, commit, disturb(commit));
  if (++done === Number(count)) break;
}
done = 0;
for (const commit of readCommits(repository, 1)) {
  await attempt("one line of context", commit, plainTrial(commit));
  if (++done === Number(count)) break;
}
for (const [name, { right, refused, wrong }] of tallies) {
  const share = ((100 * right) / (right + refused + wrong)).toFixed(1);
  process.stdout.write(
    `${name.padEnd(40)} ${String(right).padStart(4)} right (${share} %), ${refused} refused, ${wrong} silently wrong\n`,
  );
}
