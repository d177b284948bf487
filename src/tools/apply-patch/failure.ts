/** All failures of a patch as one error that a model can repair its patch from. */
import { CamelError, type ErrorCode } from "../../shared/errors.ts";
import type { TextDocument } from "./document.ts";
import { hintFor, visible, type Hint } from "./hints.ts";
import type { HunkFailure, Places } from "./order.ts";

export interface PlanFailure {
  path: string;
  patchLine: number;
  /** A hunk that has no one place. */
  failure?: HunkFailure;
  document?: TextDocument;
  /** Or anything else that stops the operation. */
  code?: ErrorCode;
  message?: string;
  next?: string;
}

/** Failures told in full; the others by name. Only theirs need their document. */
export const MAX_DETAILED = 8;
/** Hosts cut what is longer than 8,000 characters, and the next step comes last. */
const DETAIL_CHARS = 4_500;
const NAMES_CHARS = 1_200;
/** Each hint reads the whole file: few of them on a large one. */
const HINT_LINE_BUDGET = 400_000;
const PLACES_SHOWN_WITH_NEIGHBOUR = 6;

interface Described {
  code: ErrorCode;
  text: string;
  next: string;
  detail: Record<string, unknown>;
}

export function describeFailure(failures: readonly PlanFailure[]): CamelError {
  let lineBudget = HINT_LINE_BUDGET;
  let room = DETAIL_CHARS;
  const described: Described[] = [];
  for (const failure of failures.slice(0, MAX_DETAILED)) {
    const size = failure.document?.lines.length ?? 0;
    const withHint = size <= lineBudget;
    if (withHint) lineBudget -= size;
    const one = describe(failure, withHint, room);
    if (described.length > 0 && one.text.length > room) break;
    room -= one.text.length;
    described.push(one);
  }
  const lines = described.map(({ text }, i) => (failures.length === 1 ? text : `${i + 1}. ${text}`));
  const rest = failures.slice(described.length);
  if (rest.length > 0) lines.push(`And ${rest.length} more: ${named(rest)}.`);
  const nexts = [...new Set(described.map(({ next }) => next))];
  return new CamelError(
    described[0]?.code ?? "patch_no_match",
    `Nothing was written. ${failures.length === 1 ? "" : `${failures.length} problems:\n`}${lines.join("\n")}`,
    {
      next: nexts.slice(0, 3).join(" "),
      details: {
        written: false,
        failureCount: failures.length,
        failures: described.map((one) => one.detail),
      },
    },
  );
}

function named(failures: readonly PlanFailure[]): string {
  let room = NAMES_CHARS;
  const shown: string[] = [];
  for (const { path, patchLine } of failures) {
    const name = `${clip(path)} (patch line ${patchLine})`;
    room -= name.length + 2;
    if (room < 0) return `${shown.join(", ")}, ...`;
    shown.push(name);
  }
  return shown.join(", ");
}

function clip(text: string): string {
  return text.length > 160 ? `${text.slice(0, 157)}...` : text;
}

function describe(failure: PlanFailure, withHint: boolean, room: number): Described {
  const { patchLine } = failure;
  const path = clip(failure.path);
  const own = failure.failure;
  if (own === undefined) {
    const code = failure.code ?? "io_error";
    const message = (failure.message ?? path).slice(0, 600);
    return {
      code,
      text: `${message} (patch line ${patchLine})`,
      next: failure.next ?? "Correct the operation and send the whole patch again.",
      detail: { path, patchLine, code, message },
    };
  }
  const where = `${path}, hunk ${own.hunk.number} (patch line ${patchLine})`;
  const detail: Record<string, unknown> = { path, patchLine, hunk: own.hunk.number, reason: own.reason };
  // A third of the room, so that the same numbers fit twice: in words and as data.
  const shown = own.places.lines.slice(0, Math.max(10, Math.floor(room / 3 / 7)));
  if (shown.length > 0) detail["lines"] = shown;
  if (own.places.count > shown.length) detail["lineCount"] = own.places.count;
  const places = listed(shown, own.places);
  const anchor = clip(own.anchor ?? "");
  switch (own.reason) {
    case "ambiguous":
      return {
        code: "patch_ambiguous",
        text: `${where}: its old lines stand at several places: lines ${places}.${neighbours(failure.document, own)}`,
        next: "Add context lines above or below until the place is unique, or an @@ anchor with a line that stands only above it, and send the whole patch again.",
        detail,
      };
    case "anchor_missing":
      return {
        code: own.places.count > 0 ? "patch_ambiguous" : "patch_no_match",
        text: `${where}: the anchor "${anchor}" is not in the file${own.places.count > 0 ? `, and the old lines stand at several places: lines ${places}.${neighbours(failure.document, own)}` : "."}`,
        next: "Use an anchor that is a whole line of the file, or add context lines, and send the whole patch again.",
        detail: { ...detail, anchor },
      };
    case "anchor_ambiguous":
      return {
        code: "patch_ambiguous",
        text: `${where}: the anchor "${anchor}" stands at several places: lines ${places}.`,
        next: "Quote the line to insert after as context, with more lines around it, and send the whole patch again.",
        detail: { ...detail, anchor },
      };
    case "beyond_anchor":
      return {
        code: "patch_no_match",
        text: `${where}: its old lines stand at line ${places}, but not below the anchor "${anchor}".`,
        next: "Use an anchor above the place, or none, and send the whole patch again.",
        detail: { ...detail, anchor },
      };
    case "overlap":
      return {
        code: "patch_ambiguous",
        text: `${where}: it changes lines that hunk ${own.other} changes too (near line ${places}).`,
        next: "Join the two hunks into one and send the whole patch again.",
        detail: { ...detail, otherHunk: own.other ?? 0 },
      };
    case "no_context":
      return {
        code: "patch_no_match",
        text: `${where}: it only adds lines and quotes no line of the file, so its place is not known.`,
        next: 'Quote a line next to the place as context (prefix " "), or end the hunk with "*** End of File" to append.',
        detail,
      };
    case "not_found":
      return notFound(failure, own, where, detail, withHint);
  }
}

/** What stands just above each place: that is what makes it unique. */
function neighbours(document: TextDocument | undefined, { places }: HunkFailure): string {
  if (document === undefined) return "";
  const above = places.lines
    .slice(0, PLACES_SHOWN_WITH_NEIGHBOUR)
    .map((line) =>
      line === 1
        ? "   line 1 is the first of the file"
        : `   above line ${line}: |${visible(document.lines[line - 2] ?? "", 100)}|`,
    );
  return `\n${above.join("\n")}`;
}

function notFound(
  failure: PlanFailure,
  own: HunkFailure,
  where: string,
  detail: Record<string, unknown>,
  withHint: boolean,
): Described {
  const hint: Hint = withHint && failure.document !== undefined ? hintFor(failure.document, own.hunk) : {};
  const parts = [`${where}: its old lines are not in the file.`];
  let next = "Read the file again, correct the hunk's old lines, and send the whole patch again.";
  if (hint.alreadyAppliedAt !== undefined) {
    parts.push(
      `The new lines are already there, at line ${hint.alreadyAppliedAt}: this hunk seems to be already applied.`,
    );
    detail["alreadyAppliedAt"] = hint.alreadyAppliedAt;
    next = "Remove the hunk if it is already applied, and send the rest again.";
  } else if (hint.nearest !== undefined) {
    const { from, to, line, patchLine, expected, found, excerpt } = hint.nearest;
    const [shownExpected, shownFound] = fromDifference(expected, found);
    parts.push(
      `The nearest place is ${from === to ? `line ${from}` : `lines ${from}-${to}`}; the first difference is at line ${line} (patch line ${patchLine}):`,
      `   patch: |${visible(shownExpected)}|`,
      `   file:  |${visible(shownFound)}|`,
    );
    if (excerpt.length > 1) parts.push("   the file there:", ...excerpt.map((text) => `   ${text}`));
    detail["nearest"] = { from, to, line, patchLine, expected: clip(shownExpected), found: clip(shownFound) };
    next = "Correct the hunk's old lines to what the file says, and send the whole patch again.";
  }
  return { code: "patch_no_match", text: parts.join("\n"), next, detail };
}

/** Two long lines that begin alike: from shortly before they part. */
function fromDifference(a: string, b: string): [string, string] {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  if (at < 120) return [a, b];
  const from = at - 40;
  return [`...${a.slice(from)}`, `...${b.slice(from)}`];
}

function listed(shown: readonly number[], { count }: Places): string {
  return count > shown.length ? `${shown.join(", ")}, ... (${count} in all)` : shown.join(", ");
}
