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
