/** All failures of a patch as one error that a model can repair its patch from. */
import { CamelError, type ErrorCode } from "../../shared/errors.ts";
import type { TextDocument } from "./document.ts";
import { hintFor, visible, type Hint } from "./hints.ts";
import type { HunkFailure } from "./place.ts";

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

const MAX_DETAILED = 8;
const MAX_PLACES = 200;
/** Each hint reads the whole file: few of them on a large one. */
const HINT_LINE_BUDGET = 400_000;

interface Described {
  code: ErrorCode;
  text: string;
  next: string;
  detail: Record<string, unknown>;
}

export function describeFailure(failures: readonly PlanFailure[]): CamelError {
  let budget = HINT_LINE_BUDGET;
  const described = failures.slice(0, MAX_DETAILED).map((failure) => {
    const size = failure.document?.lines.length ?? 0;
    const withHint = size <= budget;
    if (withHint) budget -= size;
    return describe(failure, withHint);
  });
  const rest = failures.slice(MAX_DETAILED);
  const lines = described.map(({ text }, i) => (failures.length === 1 ? text : `${i + 1}. ${text}`));
  if (rest.length > 0) {
    const shown = rest.slice(0, 40).map((one) => `${one.path} (patch line ${one.patchLine})`);
    lines.push(`And ${rest.length} more: ${shown.join(", ")}${rest.length > 40 ? ", ..." : ""}.`);
  }
  const first = described[0];
  const nexts = [...new Set(described.map(({ next }) => next))];
  return new CamelError(
    first?.code ?? "patch_no_match",
    `Nothing was written. ${failures.length === 1 ? "" : `${failures.length} problems:\n`}${lines.join("\n")}`,
    {
      next: nexts.slice(0, 3).join(" "),
      details: { written: false, failures: described.map((one) => one.detail) },
    },
  );
}

function describe(failure: PlanFailure, withHint: boolean): Described {
  const { path, patchLine } = failure;
  const own = failure.failure;
  if (own === undefined) {
    const code = failure.code ?? "io_error";
    return {
      code,
      text: `${failure.message ?? path} (patch line ${patchLine})`,
      next: failure.next ?? "Correct the operation and send the whole patch again.",
      detail: { path, patchLine, code, message: failure.message ?? "" },
    };
  }
  const where = `${path}, hunk ${own.hunk.number} (patch line ${patchLine})`;
  const detail: Record<string, unknown> = { path, patchLine, hunk: own.hunk.number, reason: own.reason };
  if (own.places.length > 0) detail["lines"] = own.places.slice(0, MAX_PLACES);
  const places = listed(own.places);
  switch (own.reason) {
    case "ambiguous":
      return {
        code: "patch_ambiguous",
        text: `${where}: its old lines stand at several places: lines ${places}.`,
        next: "Add context lines above or below until the place is unique, or an @@ anchor with a line that stands only above it, and send the whole patch again.",
        detail,
      };
    case "anchor_missing":
      return {
        code: own.places.length > 0 ? "patch_ambiguous" : "patch_no_match",
        text: `${where}: the anchor "${own.anchor}" is not in the file${own.places.length > 0 ? `, and the old lines stand at several places: lines ${places}` : ""}.`,
        next: "Use an anchor that is a whole line of the file, or add context lines, and send the whole patch again.",
        detail: { ...detail, anchor: own.anchor ?? "" },
      };
    case "anchor_ambiguous":
      return {
        code: "patch_ambiguous",
        text: `${where}: the anchor "${own.anchor}" stands at several places: lines ${places}.`,
        next: "Quote the line to insert after as context, with more lines around it, and send the whole patch again.",
        detail: { ...detail, anchor: own.anchor ?? "" },
      };
    case "beyond_anchor":
      return {
        code: "patch_no_match",
        text: `${where}: its old lines stand at line ${places}, but not below the anchor "${own.anchor}".`,
        next: "Use an anchor above the place, or none, and send the whole patch again.",
        detail: { ...detail, anchor: own.anchor ?? "" },
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
    const { from, to, line, patchLine, expected, found } = hint.nearest;
    parts.push(
      `The nearest place is lines ${from}-${to}; the first difference is at line ${line} (patch line ${patchLine}):`,
      `   patch: |${visible(expected)}|`,
      `   file:  |${visible(found)}|`,
    );
    detail["nearest"] = {
      from,
      to,
      line,
      patchLine,
      expected: expected.slice(0, 300),
      found: found.slice(0, 300),
    };
  }
  return { code: "patch_no_match", text: parts.join("\n"), next, detail };
}

function listed(places: readonly number[]): string {
  const shown = places.slice(0, MAX_PLACES).join(", ");
  return places.length > MAX_PLACES ? `${shown}, ... (${places.length} in all)` : shown;
}
