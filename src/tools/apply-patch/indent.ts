/** Added lines re-indented the way the old lines show, where those stand at another depth in the file. */
import type { TextDocument } from "./document.ts";

export interface IndentPair {
  kind: " " | "-";
  patch: string;
  file: string;
}

/** What an indentation in the patch is in the file. */
type IndentMap = ReadonlyMap<string, string>;

export function indentOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length);
}

/**
 * Undefined means that the old lines contradict each other, or say nothing certain about an added line's depth:
 * then this place is no match.
 */
export function reindent(
  document: TextDocument,
  pairs: readonly IndentPair[],
  added: readonly string[],
): string[] | undefined {
  const shown = pairs.filter(({ patch }) => patch.trim() !== "");
  const depths = new Set(shown.map(({ file }) => indentOf(file)));
  const written = new Set(shown.map(({ patch }) => indentOf(patch)));
  const wanted = new Set(added.filter((line) => line.trim() !== "").map(indentOf));
  const lost = lostPrefixes(shown);
  if (lost === "some") return [...added];
  if (lost === "all") {
    const likeFile = [...wanted].some((indent) => depths.has(indent) && !written.has(indent));
    const likePatch = [...wanted].some((indent) => written.has(indent) && !depths.has(indent));
    // Blanks that all lines had in common are taken off whole: where some are left, the prefixes are what is missing.
    const isPrefix = likeFile || (!likePatch && !written.has(""));
    if (isPrefix) return likePatch ? undefined : [...added];
    if (!likePatch) return undefined;
  }
  const map = new Map<string, string>();
  for (const { patch, file } of shown) {
    const from = indentOf(patch);
    const to = indentOf(file);
    if ((map.get(from) ?? to) !== to) return undefined;
    map.set(from, to);
  }
  if ([...map].every(([from, to]) => from === to)) return [...added];
  const ratio = [...wanted].every((from) => map.has(from)) ? 1 : widthRatio(document, map, wanted);
  if (ratio === undefined) return undefined;
  const inPatchDepths = [...wanted].some((indent) => map.has(indent));
  const mapped = new Map<string, string>();
  for (const from of wanted) {
    const to = ratio === 1 ? mapIndent(map, from) : from[0]?.repeat(from.length * ratio);
    // It stands as deep as the file's lines do: were only the old lines written too far out?
    const standsInFile = !inPatchDepths && depths.has(from) && to !== from;
    if (to === undefined || standsInFile) return undefined;
    mapped.set(from, to);
  }
  return added.map((line) => {
    const from = indentOf(line);
    return line.trim() === "" ? line : (mapped.get(from) ?? from) + line.slice(from.length);
  });
}

/** Context lines that are one blank short, where all else is right, lost their prefix: some of them, or all lines there are. */
function lostPrefixes(pairs: readonly IndentPair[]): "some" | "all" | "none" {
  let short = 0;
  for (const { kind, patch, file } of pairs) {
    const [from, to] = [indentOf(patch), indentOf(file)];
    if (to === from) continue;
    if (kind === "-" || to !== ` ${from}`) return "none";
    short++;
  }
  return short === 0 ? "none" : short < pairs.length ? "some" : "all";
}

function mapIndent(map: IndentMap, from: string): string | undefined {
  const known = map.get(from);
  if (known !== undefined) return known;
  const pairs = [...map];
  const [firstFrom, firstTo] = pairs[0] ?? ["", ""];
  // All moved deeper, or all moved out, by the same blanks.
  if (firstTo.endsWith(firstFrom)) {
    const extra = firstTo.slice(0, firstTo.length - firstFrom.length);
    if (pairs.every(([a, b]) => b === extra + a)) return extra + from;
  }
  if (firstFrom.endsWith(firstTo)) {
    const extra = firstFrom.slice(0, firstFrom.length - firstTo.length);
    if (pairs.every(([a, b]) => a === extra + b) && from.startsWith(extra)) return from.slice(extra.length);
  }
  const other = retab(pairs, from) ?? scale(pairs, from);
  if (other !== undefined) return other;
  const extended = extendIndent(map, from);
  // Only the old lines were off: the added one stands where the file's own lines do.
  if (!pairs.some(([, to]) => to === from)) return extended;
  return extended === undefined || extended === from ? from : undefined;
}

/** The widths of a level that people use. */
const LEVELS = new Set([2, 3, 4, 8]);

/**
 * One depth alone may be another width of level as well as a shift: 2 blanks that are 4 in the file. The file's own
 * level tells: each reading must leave the added lines whole levels apart. 1: no other width; undefined: unclear.
 */
function widthRatio(document: TextDocument, map: IndentMap, wanted: ReadonlySet<string>): number | undefined {
  const deep = [...map].filter(([a, b]) => a !== "" || b !== "");
  const [from, to] = deep[0] ?? ["", ""];
  if (deep.length !== 1 || from === "" || to === "") return 1;
  if (![from, to, ...wanted].every((indent) => /^ *$/.test(indent))) return 1;
  const ratio = to.length / from.length;
  const level = levelOf(document);
  // The level that the patch would be written with.
  const written = level / ratio;
  const isWidth =
    LEVELS.has(written) && [from, ...wanted].every((indent) => Number.isInteger(indent.length / written));
  if (!isWidth) return 1;
  const isShift = !map.has("") && [...wanted].every((indent) => (indent.length - from.length) % level === 0);
  return isShift ? undefined : ratio;
}

/** Read off once a file: the old lines of a hunk may stand at many places. */
const levels = new WeakMap<TextDocument, number>();

/** How many blanks deeper a line usually is than the one it belongs to; 0 where the file shows none. */
function levelOf(document: TextDocument): number {
  const known = levels.get(document) ?? findLevel(document);
  levels.set(document, known);
  return known;
}

function findLevel({ lines }: TextDocument): number {
  const steps = new Map<number, number>();
  let before = 0;
  for (const line of lines) {
    if (line.trim() === "") continue;
    const indent = indentOf(line);
    const step = indent.length - before;
    before = indent.length;
    if (step > 1 && !indent.includes("\t")) steps.set(step, (steps.get(step) ?? 0) + 1);
  }
  return [...steps].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0]?.[0] ?? 0;
}

const TABS_THEN_BLANKS = /^(\t*)( *)$/;

/** Tabs on one side and blanks on the other, when a tab is equally wide in all old lines. Blanks after tabs stay. */
function retab(pairs: readonly [string, string][], from: string): string | undefined {
  const toTabs = pairs.every(([a]) => !a.includes("\t"));
  if (!toTabs && pairs.some(([, b]) => b.includes("\t"))) return undefined;
  const parts = pairs.map(([a, b]) => {
    const [, tabs = "", rest = ""] = TABS_THEN_BLANKS.exec(toTabs ? b : a) ?? [];
    return { tabs: tabs.length, width: (toTabs ? a : b).length - rest.length };
  });
  const first = parts.find(({ tabs }) => tabs > 0);
  if (first === undefined) return undefined;
  const wide = first.width / first.tabs;
  if (!Number.isInteger(wide) || wide < 1) return undefined;
  const convert = (indent: string): string =>
    toTabs
      ? "\t".repeat(Math.floor(indent.length / wide)) + " ".repeat(indent.length % wide)
      : indent.replaceAll("\t", " ".repeat(wide));
  if (!TABS_THEN_BLANKS.test(from) || (toTabs && from.includes("\t"))) return undefined;
  return pairs.every(([a, b]) => convert(a) === b) ? convert(from) : undefined;
}

/** Another width: `to = from * ratio`, when several depths agree on the ratio. */
function scale(pairs: readonly [string, string][], from: string): string | undefined {
  const deep = pairs.filter(([a, b]) => a !== "" || b !== "");
  const [a, b] = deep[0] ?? ["", ""];
  const char = a[0] ?? "";
  if (deep.length < 2 || b === "") return undefined;
  const ratio = b.length / a.length;
  const isRun = (text: string): boolean => text === char.repeat(text.length);
  if (!isRun(from) || !deep.every(([x, y]) => isRun(x) && isRun(y) && y.length === x.length * ratio))
    return undefined;
  const width = from.length * ratio;
  return Number.isInteger(width) ? char.repeat(width) : undefined;
}

function extendIndent(map: IndentMap, from: string): string | undefined {
  let best: string | undefined;
  for (const key of map.keys()) {
    if (from.startsWith(key) && (best === undefined || key.length > best.length)) best = key;
  }
  if (best === undefined) return undefined;
  const to = map.get(best) ?? "";
  const rest = from.slice(best.length);
  // Blanks after tabs, or tabs after blanks, would be a guess at the file's width of a level.
  if (to !== "" && rest !== "" && to[0] !== rest[0]) return undefined;
  return to + rest;
}
