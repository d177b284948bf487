/** How alike a hunk's old lines and the file's must be. The lowest tier with a hit decides. */
export const TIERS = ["exact", "trailing-blanks", "indentation", "punctuation"] as const;
export type MatchTier = (typeof TIERS)[number];

const PUNCTUATION = new Map<string, string>([
  ..."‐‑‒–—―−﹘﹣－".split("").map((dash) => [dash, "-"] as const),
  ..."‘’‚‛′＇".split("").map((quote) => [quote, "'"] as const),
  ..."“”„‟″«»＂".split("").map((quote) => [quote, '"'] as const),
  ..."\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u202F\u205F\u3000"
    .split("")
    .map((space) => [space, " "] as const),
  ["…", "..."],
]);
const MAPPED = new RegExp(`[${[...PUNCTUATION.keys()].join("")}]`, "gu");
// oxlint-disable-next-line no-control-regex
const NOT_ASCII = /[^\x00-\x7F]/;

export function normalize(line: string, tier: MatchTier): string {
  switch (tier) {
    case "exact":
      return line;
    case "trailing-blanks":
      return line.trimEnd();
    case "indentation":
      return line.trim();
    case "punctuation": {
      if (!NOT_ASCII.test(line)) return line.trim();
      return line
        .normalize("NFC")
        .replace(MAPPED, (char) => PUNCTUATION.get(char) ?? char)
        .trim();
    }
  }
}

/** Equal lines are normalised once and share one string, which makes them cheap to look up later. */
export function normalizeAll(lines: readonly string[], tier: MatchTier): readonly string[] {
  if (tier === "exact") return lines;
  const known = new Map<string, string>();
  return lines.map((line) => {
    let text = known.get(line);
    if (text === undefined) {
      text = normalize(line, tier);
      known.set(line, text);
    }
    return text;
  });
}

export function indentOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length);
}

interface Pair {
  kind: " " | "-";
  patch: string;
  file: string;
}

/**
 * Where indentation differs, added lines are re-indented by what the old lines show. Undefined means that the old
 * lines contradict each other, or say nothing certain about an added line's depth: then this place is no match.
 */
export function reindent(pairs: readonly Pair[], added: readonly string[]): string[] | undefined {
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
  const inPatchDepths = [...wanted].some((indent) => map.has(indent));
  const mapped = new Map<string, string>();
  for (const from of wanted) {
    const to = mapIndent(map, from);
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
function lostPrefixes(pairs: readonly Pair[]): "some" | "all" | "none" {
  let short = 0;
  for (const { kind, patch, file } of pairs) {
    const [from, to] = [indentOf(patch), indentOf(file)];
    if (to === from) continue;
    if (kind === "-" || to !== ` ${from}`) return "none";
    short++;
  }
  return short === 0 ? "none" : short < pairs.length ? "some" : "all";
}

function mapIndent(map: ReadonlyMap<string, string>, from: string): string | undefined {
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
    const isShift = pairs.every(([a, b]) => a === extra + b) && from.startsWith(extra);
    // One depth alone may as well be written at twice the width.
    const isWidth = pairs.length === 1 && firstTo !== "" && firstFrom.length % firstTo.length === 0;
    if (isShift) return isWidth && from !== firstFrom ? undefined : from.slice(extra.length);
  }
  const scaled = scaleIndent(pairs, from);
  if (scaled !== undefined) return scaled;
  const extended = extendIndent(map, from);
  // Only the old lines were off: the added one stands where the file's own lines do.
  if (!pairs.some(([, to]) => to === from)) return extended;
  return extended === undefined || extended === from ? from : undefined;
}

/** Tabs for blanks, or another width: `to = from * ratio`, when all old lines agree on the ratio. */
function scaleIndent(pairs: readonly [string, string][], from: string): string | undefined {
  const deep = pairs.filter(([a, b]) => a !== "" || b !== "");
  const first = deep[0];
  if (first === undefined || first[0] === "" || first[1] === "") return undefined;
  const fromChar = first[0][0] ?? " ";
  const toChar = first[1][0] ?? " ";
  const uniform = (text: string, char: string): boolean => text === char.repeat(text.length);
  const ratio = first[1].length / first[0].length;
  const agree = deep.every(
    ([a, b]) => uniform(a, fromChar) && uniform(b, toChar) && b.length === a.length * ratio,
  );
  // One pair of the same character could be a shift as well as a scale.
  if (!agree || (deep.length === 1 && fromChar === toChar) || !uniform(from, fromChar)) return undefined;
  const width = from.length * ratio;
  return Number.isInteger(width) ? toChar.repeat(width) : undefined;
}

function extendIndent(map: ReadonlyMap<string, string>, from: string): string | undefined {
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
