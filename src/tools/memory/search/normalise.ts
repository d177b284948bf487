import { stemmer } from "stemmer";
import { withoutEnding } from "./endings.ts";
import { IRREGULAR } from "./irregular-forms.ts";

// Marks that writers of these scripts leave out freely: accents, vowel points, the dot below Indic letters, joiners. Vowel signs of
// Indic scripts are not among them.
const OPTIONAL_MARKS =
  /[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0640\u093c\u09bc\u0a3c\u0abc\u0b3c\u200c\u200d]/g;
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
  ٱ: "ا",
  ک: "ك",
  ی: "ي",
  ہ: "ه",
  ھ: "ه",
  "ँ": "ं",
  "’": "'",
  ʼ: "'",
};
const SPECIAL_LETTER = /[ßøæœłđıςىةٱکیہھँ’ʼ]/gu;
/** A nasal before a consonant of its own place, which Hindi writes either way: हिन्दी, हिंदी. */
const HINDI_NASAL = /ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])/gu;
/** Zeros of the scripts whose digits stand between spaces; the nine others follow each. */
const ZEROS = "٠۰०০੦૦୦௦౦೦൦";
const OTHER_DIGIT = /[٠-٩۰-۹०-९০-৯੦-੯૦-૯୦-୯௦-௯౦-౯೦-೯൦-൯]/gu;
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
    .replace(SPECIAL_LETTER, (letter) => LETTERS_WITHOUT_DECOMPOSITION[letter] ?? letter)
    .replace(HINDI_NASAL, "ं")
    .replace(OTHER_DIGIT, asciiDigit);
}

function asciiDigit(digit: string): string {
  const code = digit.charCodeAt(0);
  for (const zero of ZEROS) {
    const value = code - zero.charCodeAt(0);
    if (value >= 0 && value <= 9) return String(value);
  }
  return digit;
}

/** What English puts after an apostrophe: one word with what stands before it, the 's apart. */
const CONTRACTION = /'(?:t|re|ve|ll|d|m|all)$/;
/** Articles and the like that French, Italian and Catalan write onto the next word: l'eau, dell'arte, qu'il. */
const ELISION =
  /^(?:[cdjlmnst]|qu|un|jusqu|lorsqu|puisqu|quelqu|presqu|gl|all|dall|dell|nell|sull|coll|quell|quest|sant|bell)'(?=.)/;

/** The word without what its language writes onto it with an apostrophe. */
function withoutApostrophe(folded: string): string {
  if (folded.endsWith("'s")) return folded.slice(0, -2).replaceAll("'", "");
  if (CONTRACTION.test(folded) || folded.startsWith("o'")) return folded.replaceAll("'", "");
  const rest = folded.replace(ELISION, "");
  // What follows elsewhere is an ending: Turkish Ankara'da.
  return rest.includes("'") ? rest.slice(0, rest.indexOf("'")) || rest.replaceAll("'", "") : rest;
}

/** And, with, like, for and the article: written onto the front of an Arabic word. Nouns keep three letters at least. */
const ARABIC_FRONT = /^(?:و?(?:ال|بال|كال|فال|لل)|و(?=.{4}))(?=.{3})/;
const ARABIC = /^[\u0621-\u064a]+$/;

/** The index term of a word as written. Plain a-z words are stemmed by Porter's rules, which are English. */
export function termOf(word: string): string {
  const whole = fold(word);
  const folded = whole.includes("'") ? withoutApostrophe(whole) : whole;
  if (!LATIN_WORD.test(folded))
    return withoutEnding(ARABIC.test(folded) ? folded.replace(ARABIC_FRONT, "") : folded);
  const base = IRREGULAR.get(folded);
  if (base !== undefined) return base;
  if (folded.length <= 3) return folded;
  const stem = stemmer(folded);
  return IRREGULAR.get(stem) ?? stem;
}
