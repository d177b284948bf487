/**
 * The endings that case, number and person put on a word, by script, longest first: a light stemmer where the script
 * tells the language well enough. What is left keeps three letters at least; what the rules miss, the family of words
 * with the same first letters finds. All on folded words.
 */
const SCRIPTS: readonly { script: RegExp; endings: RegExp }[] = [
  {
    script: /^[\u0400-\u052f]+$/,
    endings: ending(
      "иями ями ами его ого ему ому ыми ими ией иям ием иях ах ях ев ов ие ые ое ей ий ый ой ам ям ем ом ия ья ию ью их ых ая яя ую юю а е и о у ы ь ю я",
    ),
  },
  {
    script: /^[\u0370-\u03ff]+$/,
    endings: ending("ματων ματοσ ματα ουσ εισ εων εωσ ων οσ ου οι εσ ασ ησ ισ υσ α η ο ι ε υ ω"),
  },
  {
    script: /^[\u0900-\u097f]+$/,
    endings: ending("ियों ियां ाओं ाएं ुओं ुएं ों ें ीं ां ओं एं ा ि ी ु ू े ो"),
  },
  {
    script: /^[\u0621-\u064a]+$/,
    endings: ending("تهما تهم تها هما ها هم هن كم نا ات ان ون ين يه ته ه ي ا"),
  },
];

function ending(list: string): RegExp {
  return new RegExp(`(?<=.{3})(?:${list.split(" ").join("|")})$`, "u");
}

export function withoutEnding(folded: string): string {
  for (const { script, endings } of SCRIPTS) if (script.test(folded)) return folded.replace(endings, "");
  return folded;
}
