import { fold, termOf } from "./normalise.ts";
import { termsOf } from "./query.ts";
import { stopWordsFor } from "./stop-words.ts";
import { tokenize } from "./tokenize.ts";

/** `text` with every word that the query's words stand for passed through `paint`; other forms of a word included. */
export function highlight(text: string, query: string, paint: (word: string) => string): string {
  const asked = termsOf(query.replaceAll(/(^|\s)-\S+/g, " "));
  const { stop } = stopWordsFor(asked.map(({ word }) => fold(word)));
  const wanted = new Set(asked.filter(({ word }) => !stop.has(fold(word))).map(({ term }) => term));
  let painted = "";
  let done = 0;
  tokenize(text, 0, text.length, (start, end, kind) => {
    const word = text.slice(start, end);
    const term = kind === "word" ? termOf(word) : fold(word);
    // Pairs of a dense script overlap: what is painted already is left alone.
    if (start < done || !wanted.has(term)) return;
    painted += text.slice(done, start) + paint(word);
    done = end;
  });
  return painted + text.slice(done);
}
