/**
 * Reads a command line the way a shell would split it, and nothing more: words with their quotes taken off, and the
 * operators between them. Nothing is expanded. Whatever a shell would do besides (substitution, redirection,
 * background) is reported, so that a caller can refuse it.
 */
export type Part =
  | { kind: "word"; text: string; /** A shell would put something else in its place. */ expands: boolean }
  | { kind: "operator"; text: string; at: number };

export type Lexed = { parts: Part[] } | { problem: string };

const BLANK = " \t";
const OPERATORS = ";&|><\n\r";

export function lexCommand(line: string): Lexed {
  const parts: Part[] = [];
  let word = "";
  let expands = false;
  let open = false;
  const endWord = (): void => {
    if (open) parts.push({ kind: "word", text: word, expands });
    word = "";
    expands = false;
    open = false;
  };
  let at = 0;
  while (at < line.length) {
    const character = line[at] ?? "";
    if (character === "\0") return { problem: `a NUL character at character ${at + 1}` };
    if (character === "`") return { problem: `a backtick at character ${at + 1}` };
    if (BLANK.includes(character)) {
      endWord();
      at += 1;
    } else if (character === "'" || character === '"') {
      const quoted = character === "'" ? singleQuoted(line, at) : doubleQuoted(line, at);
      if ("problem" in quoted) return quoted;
      word += quoted.text;
      expands ||= quoted.expands;
      open = true;
      at = quoted.end;
    } else if (character === "\\") {
      const next = line[at + 1];
      if (next === undefined || "\n\r\0`".includes(next))
        return { problem: `a backslash before nothing it can quote at character ${at + 1}` };
      word += next;
      open = true;
      at += 2;
    } else if (OPERATORS.includes(character)) {
      endWord();
      const doubled = (character === "&" || character === "|") && line[at + 1] === character;
      parts.push({ kind: "operator", text: doubled ? character.repeat(2) : character, at });
      at += doubled ? 2 : 1;
    } else if (character === "$") {
      endWord();
      parts.push({ kind: "operator", text: "$", at });
      at += 1;
    } else if (character < " " || character === "\u007F") {
      return { problem: `a control character at character ${at + 1}` };
    } else if (line.startsWith("{{", at)) {
      // A placeholder is one word, however it is spaced inside.
      const end = line.indexOf("}}", at);
      if (end < 0) return { problem: `"{{" without "}}" at character ${at + 1}` };
      const inside = line.slice(at, end + 2);
      if (/[`\0\n\r;&|><$'"\\]/.test(inside))
        return { problem: `a broken placeholder at character ${at + 1}` };
      word += inside;
      open = true;
      at = end + 2;
    } else {
      word += character;
      open = true;
      at += 1;
    }
  }
  endWord();
  return { parts };
}

type Quoted = { text: string; end: number; expands: boolean } | { problem: string };

function singleQuoted(line: string, start: number): Quoted {
  const end = line.indexOf("'", start + 1);
  if (end < 0) return { problem: "an unclosed '" };
  const text = line.slice(start + 1, end);
  if (/[`\0]/.test(text)) return { problem: "a backtick or NUL inside quotes" };
  return { text, end: end + 1, expands: false };
}

function doubleQuoted(line: string, start: number): Quoted {
  let text = "";
  let expands = false;
  for (let at = start + 1; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (character === '"') return { text, end: at + 1, expands };
    if (character === "`" || character === "\0") return { problem: "a backtick or NUL inside quotes" };
    if (character === "\\") {
      const next = line[at + 1] ?? "";
      if (next === "`" || next === "\0") return { problem: "a backtick or NUL inside quotes" };
      // Inside double quotes a backslash quotes only these; before anything else it is a backslash.
      if ('"\\$'.includes(next) && next !== "") {
        text += next;
        at += 1;
      } else text += character;
    } else {
      if (character === "$" && /^\$[({[\w@*#?!$-]/.test(line.slice(at, at + 2))) expands = true;
      text += character;
    }
  }
  return { problem: 'an unclosed "' };
}
