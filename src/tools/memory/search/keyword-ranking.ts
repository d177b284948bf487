export interface KeywordHit {
  path: string;
  startLine: number;
  endLine: number;
  snippet: string;
  score: number;
}

/**
 * A plain count, kept for comparison: the query in lower case split on white space, paragraphs split at empty
 * lines and headings, every occurrence of every keyword counted, the first 500 characters shown.
 */
export function keywordRanking(
  files: Iterable<{ path: string; text: string }>,
  query: string,
  maxResults: number,
): KeywordHit[] {
  const keywords = query.toLowerCase().split(/\s+/).filter(Boolean);
  const hits: KeywordHit[] = [];
  for (const { path, text } of files) {
    let line = 1;
    for (const part of text.split(/(\n{2,}|(?<=\n)(?=#))/)) {
      const startLine = line;
      line += part.split("\n").length - 1;
      if (part.trim() === "") continue;
      const lower = part.toLowerCase();
      let score = 0;
      for (const keyword of keywords) score += lower.split(keyword).length - 1;
      const snippet = part.trim().slice(0, 500);
      if (score > 0)
        hits.push({ path, startLine, endLine: startLine + snippet.split("\n").length - 1, snippet, score });
    }
  }
  return hits.sort((a, b) => b.score - a.score).slice(0, maxResults);
}
