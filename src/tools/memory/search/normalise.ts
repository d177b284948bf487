import { stemmer } from "stemmer";
import { IRREGULAR } from "./irregular-forms.ts";

// Marks that readers of these scripts leave out freely. Vowel signs of Indic scripts are not among them.
const OPTIONAL_MARKS = /[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0640]/g;
const LETTERS_WITHOUT_DECOMPOSITION: Record<string, string> = {
  ß: "ss",
  ø: "o",
  æ: "ae",
  œ: "oe",
  ł: "l",
  đ: "d",
  ı: "i",
  ς: "σ",
  ى: "ي",
  ة: "ه",
};
const SPECIAL_LETTER = /[ßøæœłđıςىة]/g;
const ASCII = /^[\x20-\x7e]*$/;
const LATIN_WORD = /^[a-z]+$/;

/** Case, width, diacritics and a few letter variants removed; the result is what "the same word" means here. */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replace(OPTIONAL_MARKS, "")
    .normalize("NFC")
    .replace(SPECIAL_LETTER, (letter) => LETTERS_WITHOUT_DECOMPOSITION[letter] ?? letter);
}

/** The index term of a word as written. Only plain a-z words are stemmed: Porter's rules are English. */
export function termOf(word: string): string {
  let folded = fold(word);
  if (folded.endsWith("'s")) folded = folded.slice(0, -2);
  if (folded.includes("'")) folded = folded.replaceAll("'", "");
  if (!LATIN_WORD.test(folded))
    return folded.startsWith("ال") && folded.length > 4 ? folded.slice(2) : folded;
  const base = IRREGULAR.get(folded);
  if (base !== undefined) return base;
  if (folded.length <= 3) return folded;
  const stem = stemmer(folded);
  return IRREGULAR.get(stem) ?? stem;
}
