import { stemmer } from "stemmer";
import { activeVersion, type StoredTool } from "./stored.ts";

export interface Found {
  name: string;
  description: string;
  score: number;
}

/** Tools by how many of the query's words their name and description hold; a word of the name counts twice. */
export function rank(query: string, tools: readonly StoredTool[]): Found[] {
  const wanted = new Set(wordsOf(query));
  return tools
    .map((tool) => {
      const { description } = activeVersion(tool).definition;
      const inName = wordsOf(tool.name);
      const inDescription = wordsOf(description);
      let score = 0;
      for (const word of wanted)
        score += (inName.includes(word) ? 2 : 0) + (inDescription.includes(word) ? 1 : 0);
      return { name: tool.name, description, score };
    })
    .filter((one) => one.score > 0)
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1));
}

const FILLERS = new Set(
  "a an the that which tool using use with to for and or of from in on into is it".split(" "),
);

/** The words of a wish in one order, so that the same wish in other words of grammar counts as the same. */
export function significantWords(text: string): string[] {
  return [...new Set(wordsOf(text))].sort();
}

/** Words without their endings, so that "files" finds "file". */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
    .filter((word) => !FILLERS.has(word))
    .map((word) => stemmer(word));
}
